"""Ranks of which the second never joins the exchange that the first waits for."""

import time

from seedstudy.training.job import Job
from seedstudy.training.rank import build_engine, serve


def stall(job):
    plan, configuration = job.resolve()
    engine, _ = build_engine(plan, configuration, job.data)
    if engine.ranks.rank == 1:
        time.sleep(600)
    engine.train(job.seeds[0])


if __name__ == "__main__":
    serve(Job, stall)

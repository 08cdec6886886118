"""Starts the ranks of a job, watches them, and ends all when one dies. Free of TensorFlow."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from seedstudy.errors import UserError
from seedstudy.hardware import nodes_used
from seedstudy.training.gpus import gpu_slots
from seedstudy.training.job import Task, environment
from seedstudy.training.places import rendezvous, srun

POLL_SECONDS = 0.05
GRACE_SECONDS = 5.0
LEFT_ALONE = 3


class RankDied(Exception):
    """A rank ended before its work was done, or stood still."""


def launch(job: Task, module: str = "seedstudy.training.rank") -> None:
    """Run a job on its ranks, each a process of its own with the switches of the configuration.

    In a Slurm job whose configuration is wider than a node of the plan, one srun starts them on all nodes of the job.

    Parameters
    ----------
    job : Job
        Handed to each rank on standard input.
    module : str
        What each rank runs.

    Raises
    ------
    UserError
        What a rank said first of its input, or of where it writes; trying again cannot help. All ranks were ended.
    RankDied
        The first rank that ended with an error, or those that no longer answered; the others were ended with it.
    """
    plan, configuration = job.resolve()
    base = environment(plan, configuration)
    nodes = nodes_used(plan, configuration)
    share = configuration.workers // nodes
    run = [sys.executable, "-m", module]
    with ExitStack() as stack:
        if configuration.device == "gpu":
            name = plan.architectures[configuration.architecture].gpu_name
            base["CUDA_VISIBLE_DEVICES"] = stack.enter_context(gpu_slots(share, name))
        places = stack.enter_context(rendezvous(nodes, share, plan.exchange_timeout_seconds))
        said, say = os.pipe()
        stack.callback(os.close, said)
        stack.callback(os.close, say)
        if nodes > 1:
            spread = job.model_copy(update={"places": tuple(places)})
            ranks = {"srun": _start([*srun(nodes, share, plan.threads_per_worker), *run], base, spread, say)}
        else:
            ranks = {f"rank {number}": _start(run, base | place, job, say) for number, place in enumerate(places)}
        with _ended_with_us(list(ranks.values())):
            _wait(ranks, plan.exchange_timeout_seconds, said)


def _start(command: list[str], variables: dict[str, str], job: Task, say: int) -> subprocess.Popen[str]:
    rank = subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=say, text=True)
    assert rank.stdin is not None
    try:
        rank.stdin.write(job.model_dump_json())
        rank.stdin.close()
    except BrokenPipeError:
        pass  # It died at once; waiting for it tells how.
    return rank


def _wait(ranks: dict[str, subprocess.Popen[str]], timeout: int, said: int) -> None:
    running = dict(ranks)
    while running:
        # One that says something waits to be ended, so that its end disturbs no other rank.
        if select.select([said], [], [], POLL_SECONDS)[0]:
            raise UserError(*json.loads(os.read(said, 1 << 16).splitlines()[0]))
        for name, rank in list(running.items()):
            code = rank.poll()
            if code is None:
                continue
            if code != 0:
                raise _death(ranks, name, timeout)
            del running[name]


def _death(ranks: dict[str, subprocess.Popen[str]], first: str, timeout: int) -> RankDied:
    """Why a rank ended: by itself, or because it waited for others in vain.

    Those it waited for either died, which their exit codes say, or stand still: then they do not end, though all the
    others do.
    """
    if ranks[first].returncode == LEFT_ALONE:
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and any(rank.poll() is None for rank in ranks.values()):
            time.sleep(POLL_SECONDS)
        if silent := [name for name, rank in ranks.items() if rank.returncode is None]:
            return RankDied(f"{', '.join(silent)} did not answer {first} within {timeout} s")
        first = next((name for name, rank in ranks.items() if rank.returncode not in (0, LEFT_ALONE)), first)
    code = ranks[first].returncode
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return RankDied(f"{first} ended with {how}")


@contextmanager
def _ended_with_us(ranks: list[subprocess.Popen[str]]) -> Iterator[None]:
    """End all ranks when this block ends, however it ends; a request to stop reaches them too."""

    def stop(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for rank in ranks:
            if rank.poll() is None:
                rank.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for rank in ranks:
            try:
                rank.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                rank.kill()
                rank.wait()

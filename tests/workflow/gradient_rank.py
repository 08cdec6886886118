"""A rank that writes the averaged gradients of the first step of its job's first seed, and ends."""

import sys

import numpy as np

from seedstudy.training.job import Job
from seedstudy.training.rank import build_engine


def main():
    job = Job.model_validate_json(sys.stdin.read())
    plan, configuration = job.resolve()
    engine, _ = build_engine(plan, configuration, job.data)

    import tensorflow as tf

    from seedstudy.training import randomness

    keys = randomness.keys_of(job.seeds[0])
    engine.reset(keys)
    order = randomness.permutation(keys, tf.constant(0, tf.int64), engine.examples)
    places = engine.first_row + tf.range(engine.local_batch)
    noise = engine.noise(keys, tf.constant(0, tf.int64))
    batch = engine.local_batch_of(keys, tf.constant(0, tf.int64), tf.gather(order, places))
    _, gradient = engine.gradients(batch, noise)
    averaged = engine.weights.named(engine.average(gradient))
    if engine.ranks.rank == 0:
        np.savez(job.ledger / f"{configuration.id}.npz", *(array.numpy() for array in averaged.values()))


if __name__ == "__main__":
    main()

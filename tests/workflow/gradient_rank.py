"""A rank that writes the averaged gradients of the first step of its job's first seed, and ends."""

import os
import sys

import numpy as np

from seedstudy.training.job import Job


def main():
    job = Job.model_validate_json(sys.stdin.read())
    plan, configuration = job.resolve()

    import tensorflow as tf

    from seedstudy.data.loading import load
    from seedstudy.models.wide_deep.network import WideDeep
    from seedstudy.training import randomness
    from seedstudy.training.communication import Communicator
    from seedstudy.training.engine import Engine
    from seedstudy.training.inforce import prepare

    architecture = plan.architectures[configuration.architecture]
    prepare(configuration, architecture, plan.threads_per_worker, int(os.environ.get("HOROVOD_LOCAL_RANK", "0")))
    ranks = Communicator(configuration.workers, plan.training.gradient_compression)
    dataset = load(job.data)
    engine = Engine(WideDeep(plan.model, dataset.spec), dataset, configuration, plan.training, ranks)
    engine.reset(job.seeds[0])
    key = tf.constant(job.seeds[0], tf.uint64)
    order = randomness.permutation(key, tf.constant(0, tf.int64), engine.rows)
    places = engine.first_row + tf.range(engine.local_batch)
    noise = engine.noise(key, tf.constant(0, tf.int64))
    _, gradients = engine.gradients(engine.local_batch_of(tf.gather(order, places)), noise)
    averaged = engine.ranks.average(gradients)
    if ranks.rank == 0:
        np.savez(job.ledger / f"{configuration.id}.npz", *(gradient.numpy() for gradient in averaged))


if __name__ == "__main__":
    main()

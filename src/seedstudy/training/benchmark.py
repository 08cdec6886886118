"""Times training and inference of a configuration: `python -m seedstudy.training.benchmark`, as a rank.

Warm-up, then repeats of some steps; of several ranks the slowest counts. Each time stands beside the work of it that
cannot be left out, timed in the same process.
"""

from __future__ import annotations

import gc
import json
import math
import statistics
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seedstudy.benchmarks import BenchmarkRow
from seedstudy.documents import write_atomically
from seedstudy.study import Configuration
from seedstudy.training.job import BenchmarkJob, machine
from seedstudy.training.rank import serve, set_up

if TYPE_CHECKING:
    from seedstudy.study import Benchmark
    from seedstudy.training.engine import Engine

Kind = Literal["training", "inference"]
SEED = 0
WARMUP_CALLS = 3


def main() -> None:
    """Time one configuration at each batch of its plan and write the rows, one a kind and batch."""
    serve(BenchmarkJob, _measure)


def _measure(job: BenchmarkJob) -> None:
    plan, configuration = job.resolve()
    assert plan.benchmark is not None, "the command has checked this"
    origin = {
        "commit": job.commit,
        "machine": machine(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }  # Before the rank is bound.
    network, dataset, ranks = set_up(plan, configuration, job.data)
    from seedstudy.training.engine import Engine
    from seedstudy.training.randomness import keys_of

    def engine_at(batch: int) -> Engine:
        training = plan.training.model_copy(update={"global_batch": batch})
        engine = Engine(network, dataset, configuration, training, ranks)
        engine.reset(keys_of(SEED))
        return engine

    rows = []

    def keep(kind: Kind, batch: int, measured: dict[str, Any]) -> None:
        rows.append(_row(configuration, kind, batch, measured | origin))
        if ranks.rank == 0:
            _say(rows[-1])

    for batch in plan.benchmark.training_batches:
        keep("training", batch, _training(engine_at(batch), plan.benchmark))
        # The tensors of one batch size would else lie beside those of the next.
        gc.collect()
    engine = engine_at(plan.training.global_batch)
    for batch in plan.benchmark.inference_batches:
        keep("inference", batch, _inference(engine, plan.benchmark, batch))
    if ranks.rank == 0:
        content = json.dumps([row.model_dump() for row in rows], indent=1) + "\n"
        write_atomically(job.output, content)


def _training(engine: Engine, wanted: Benchmark) -> dict[str, Any]:
    from seedstudy.training.limit import memory_seconds, products_seconds, seconds
    from seedstudy.training.randomness import keys_of

    an_epoch, keys = engine.steps_per_epoch, keys_of(SEED)

    def train(epochs: int) -> None:
        for epoch in range(epochs):
            engine.pass_over(keys, epoch % engine.training.epochs)

    train(math.ceil(wanted.warmup_steps / an_epoch))
    epochs = math.ceil(wanted.steps / an_epoch)
    times = [_slowest(engine, seconds(lambda: train(epochs))) for _ in range(wanted.repeats)]
    steps = epochs * an_epoch
    products = products_seconds(engine.network.parameters, engine.local_batch, engine.compute, backward=True)
    memory = memory_seconds(engine)
    step = statistics.median(times) / steps
    return {
        "steps": steps,
        **_throughput(times, steps * engine.training.global_batch),
        "step_seconds": step,
        "products_seconds": products,
        "memory_seconds": memory,
        "limit_seconds": products + memory,
        "share_of_limit": (products + memory) / step,
        "exchange_seconds": _exchange(engine) if engine.ranks.size > 1 else None,
    }


def _inference(engine: Engine, wanted: Benchmark, batch: int) -> dict[str, Any]:
    from seedstudy.training.limit import products_seconds, seconds

    share = batch // engine.ranks.size
    rows = np.arange(share, dtype=np.int32) % engine.valid_rows

    def call() -> None:
        engine.scores_of(rows).numpy()

    for _ in range(WARMUP_CALLS):
        call()
    times = np.array([[_slowest(engine, seconds(call)) for _ in range(wanted.steps)] for _ in range(wanted.repeats)])
    products = products_seconds(engine.network.parameters, share, engine.compute, backward=False)
    step = float(np.median(times))
    percentiles = np.percentile(times, [50, 90, 95, 99])
    return {
        "steps": wanted.steps,
        **_throughput(times.sum(axis=1).tolist(), wanted.steps * batch),
        "step_seconds": step,
        "latency_mean": float(times.mean()),
        **{f"latency_p{level}": float(value) for level, value in zip((50, 90, 95, 99), percentiles, strict=True)},
        "products_seconds": products,
        "limit_seconds": products,
        "share_of_limit": products / step,
    }


def _throughput(times: list[float], rows: int) -> dict[str, Any]:
    rates = [rows / time for time in times]
    return {
        "repeats": len(times),
        "samples_per_second": statistics.median(rates),
        "samples_per_second_low": min(rates),
        "samples_per_second_high": max(rates),
    }


def _exchange(engine: Engine) -> float:
    """Seconds in which ranks average the gradient of a step, alone."""
    import tensorflow as tf

    from seedstudy.training.limit import timed
    from seedstudy.training.randomness import keys_of

    keys, step = keys_of(SEED), tf.constant(0, tf.int64)
    batch = engine.local_batch_of(keys, step, tf.range(engine.local_batch) % engine.examples)
    _, gradient = engine.gradients(batch, engine.noise(keys, step))
    average = tf.function(engine.average, autograph=False)
    return _slowest(engine, statistics.median(timed(lambda: average(gradient).flat.numpy())))


def _slowest(engine: Engine, time: float) -> float:
    """The largest of all ranks' times; also makes them start the next together."""
    return float(engine.ranks.gather(np.array(time)).max())


def _row(configuration: Configuration, kind: Kind, batch: int, measured: dict[str, Any]) -> BenchmarkRow:
    point = {name: getattr(configuration, name) for name in ("architecture", "precision", "xla", "workers")}
    return BenchmarkRow(configuration=configuration.id, **point, kind=kind, batch=batch, **measured)


def _say(row: BenchmarkRow) -> None:
    print(
        f"{row.configuration} {row.kind}, batch {row.batch}: {row.samples_per_second:,.0f} samples/s "
        f"({row.samples_per_second_low:,.0f} to {row.samples_per_second_high:,.0f}), "
        f"{100 * (row.share_of_limit or 0):.0f} % of the limit",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()

"""Trains seeds as they are, and with one random stream at a time from another seed, as a rank.

`python -m seedstudy.training.sources`
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from seedstudy.documents import write_atomically
from seedstudy.evidence import SourceRun, rows_csv
from seedstudy.training.job import SourcesJob
from seedstudy.training.rank import build_engine, serve

if TYPE_CHECKING:
    from seedstudy.training.engine import Engine
    from seedstudy.training.randomness import Stream

OTHER_SEED = 1 << 32
"""What is added to a seed for the stream that is replaced: seeds of a study are rarely so far apart."""


def main() -> None:
    """Train, and write one row a run."""
    serve(SourcesJob, _train)


def _train(job: SourcesJob) -> None:
    plan, configuration = job.resolve()
    engine, _ = build_engine(plan, configuration, job.data)
    rows: list[SourceRun] = []
    for number, seed in enumerate(job.seeds, start=1):
        for stream in (None, *_streams(engine)):
            outcome = engine.train(seed, replaced={} if stream is None else {stream: seed + OTHER_SEED})
            value = None if outcome.diverged else outcome.metrics[plan.metric]
            name = "none" if stream is None else stream.name.lower()
            rows.append(SourceRun(configuration=configuration.id, seed=seed, stream=name, value=value))
        if engine.ranks.rank == 0:
            print(f"{configuration.id} seed {seed} ({number} of {len(job.seeds)}): {len(rows)} runs", file=sys.stderr)
    if engine.ranks.rank == 0:
        write_atomically(job.output, rows_csv(rows, SourceRun))


def _streams(engine: Engine) -> Iterator[Stream]:
    """The streams that this model draws from."""
    from seedstudy.training.randomness import Stream

    yield from (Stream.WEIGHTS, Stream.ORDER)
    if engine.network.dropout_rate:
        yield Stream.DROPOUT
    if engine.network.examples_per_row > 1:
        yield Stream.EXAMPLES


if __name__ == "__main__":
    main()

"""Trains runs of a study again under other circumstances, and says which repeat to the bit. Free of TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seedstudy.documents import temporary_folder
from seedstudy.errors import UserError
from seedstudy.evidence import Repeat
from seedstudy.runs import RunRecord
from seedstudy.study import Configuration, Plan, usable_cores
from seedstudy.training.batch import train_seeds


def repeat_runs(
    plan: Plan,
    configuration: Configuration,
    digests: Mapping[int, tuple[str, float | None]],
    data: Path,
    threads: int,
) -> list[Repeat]:
    """Train seeds again: in new processes, in the reverse order, beside a busy process on every core.

    Parameters
    ----------
    plan, configuration
        What was trained.
    digests : mapping of int to (str, float or None)
        By seed, in the order of the study: digest of the weights and metric as the table of runs has them.
    data : Path
        Folder of the prepared data.
    threads : int
        Of each rank.

    Returns
    -------
    list of Repeat
        In the order of the seeds.

    Raises
    ------
    UserError
        The machine lacks the configuration's hardware, or a run failed.
    """
    changed = plan if threads == plan.threads_per_worker else plan.with_threads(threads)
    seeds = list(digests)
    with _load(), temporary_folder() as ledger:
        again = train_seeds(changed, changed.configuration(configuration.id), seeds[::-1], data, ledger)
    found = {record.seed: record for record in again}
    return [_repeat(plan, found[seed], threads, *digests[seed]) for seed in seeds]


def _repeat(plan: Plan, record: RunRecord, threads: int, digest: str, before: float | None) -> Repeat:
    force = record.provenance.get("in_force", {})
    return Repeat(
        configuration=record.configuration,
        seed=record.seed,
        threads=threads,
        planned=threads == plan.threads_per_worker,
        bitwise=record.weights_digest == digest,
        before=before,
        again=record.metrics.get(plan.metric),
        xla=force["xla"],
        determinism=force["determinism"],
        product_types=" ".join(force["product_types"]),
        instruction_set=force["instruction_set"] or force["device"],
    )


@contextmanager
def _load() -> Iterator[None]:
    """Keep every core busy with something else."""
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(usable_cores())]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def first_runs(
    runs: Sequence[Mapping[Hashable, Any]], plan: Plan, configuration: str, seeds: int
) -> dict[int, tuple[str, float | None]]:
    """Digest and metric of the first finished runs of a configuration in a table of runs.

    Raises
    ------
    UserError
        The table has fewer.
    """
    if any("weights_digest" not in row for row in runs):
        raise UserError(f"{configuration}", "the table of runs has no column 'weights_digest'; give one of `collect`")
    finished = [row for row in runs if row["configuration"] == configuration and row["status"] == "ok"]
    if len(finished) < seeds:
        raise UserError(
            f"{configuration}", f"has {len(finished)} finished runs in the table, {seeds} are to be repeated"
        )
    return {int(row["seed"]): (row["weights_digest"], float(row[plan.metric])) for row in finished[:seeds]}

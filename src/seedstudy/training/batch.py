"""Some seeds of one configuration: those without a record are trained, and a job that gives up says so in records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seedstudy.errors import UserError
from seedstudy.hardware import missing_hardware
from seedstudy.runs import Ledger, RunRecord
from seedstudy.study import Configuration, Plan
from seedstudy.training import job as jobs
from seedstudy.training.launch import RankDied, launch
from seedstudy.training.lease import seeds_leased


@dataclass(frozen=True)
class Attempt:
    """Which try of how many a job is; on its last, what cannot be trained is recorded as failed."""

    number: int = 1
    allowed: int = 1

    @property
    def last(self) -> bool:
        """Whether nobody tries again."""
        return self.number >= self.allowed


def train_seeds(
    plan: Plan,
    configuration: Configuration,
    seeds: Sequence[int],
    data: Path,
    ledger_root: Path,
    attempt: Attempt | None = None,
    retry_failed: bool = False,
) -> list[RunRecord]:
    """Train those of the seeds that have no record yet.

    Parameters
    ----------
    plan, configuration
        What to train.
    seeds : sequence of int
        Which seeds.
    data : Path
        Folder of the prepared data.
    ledger_root : Path
        Where records are kept; each seed's as soon as it is done.
    attempt : Attempt, optional
        Where given and the last, seeds that a dying rank left unfinished are recorded as failed, with the cause.
    retry_failed : bool
        Train seeds recorded as failed again.

    Returns
    -------
    list of RunRecord
        In the order of the seeds.

    Raises
    ------
    UserError
        The machine lacks the configuration's hardware, another process trains one of the seeds, or a rank found its
        input bad or its records cannot be kept.
    RankDied
        A rank ended early, and this is not the last attempt.
    """
    ledger = Ledger(ledger_root, configuration.run_digest)
    missing = ledger.missing(seeds, retry_failed)
    if missing:
        lacking = missing_hardware(plan, configuration)
        if lacking:
            raise UserError(f"{plan.path}: architectures.{configuration.architecture}", lacking)
        with seeds_leased(ledger.folder, missing):
            # Who held a lease a moment ago may have finished the seed.
            missing = ledger.missing(missing, retry_failed)
            if missing:
                _train(plan, configuration, missing, data, ledger_root, attempt)
    records = {seed: ledger.read(seed) for seed in seeds}
    for seed, record in records.items():
        if record is None:
            raise UserError(ledger.path(seed), "was removed while seeds were trained; start again")
    return [record for record in records.values() if record is not None]


def _train(
    plan: Plan,
    configuration: Configuration,
    missing: Sequence[int],
    data: Path,
    ledger_root: Path,
    attempt: Attempt | None,
) -> None:
    commit, ledger = jobs.commit(), Ledger(ledger_root, configuration.run_digest)
    job = jobs.Job(
        plan=plan.path,
        configuration=configuration.id,
        seeds=tuple(missing),
        data=data,
        ledger=ledger_root,
        commit=commit,
        threads=plan.threads_per_worker,
    )
    try:
        launch(job)
    except RankDied as death:
        if attempt is None or not attempt.last:
            raise
        # Retries end here. Left out, these runs would be missing from the table without a word.
        for seed in ledger.missing(missing, retry_failed=True):
            ledger.write(jobs.record(plan, configuration, seed, "failed", jobs.provenance(commit), cause=str(death)))

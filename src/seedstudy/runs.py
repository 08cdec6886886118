"""The run record, and the ledger that keeps one for each seed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from seedstudy.documents import read_json, validate, write_atomically
from seedstudy.errors import UserError
from seedstudy.fields import Finite, PositiveInt, Seed

Status = Literal["ok", "diverged", "failed"]
STATUSES: tuple[Status, ...] = ("ok", "diverged", "failed")
CURVE_SUFFIX = "_curve"


class Epoch(BaseModel):
    """Metrics after an epoch; none, and no training loss, where they are not finite."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epoch: PositiveInt
    step: PositiveInt
    train_loss: Finite | None
    metrics: dict[str, Finite]


class RunRecord(BaseModel):
    """All that is known of one run: one configuration, one seed.

    Attributes
    ----------
    metrics : dict
        After the last epoch, unrounded; empty unless `status` is `ok`.
    train_seconds, evaluation_seconds : float or None
        Wall time of the epochs' training and of their evaluations; of a job's first seed with tracing and compilation.
    samples_per_second : float or None
        Training rows over `train_seconds`.
    weights_digest : str or None
        SHA-256 of the final parameters' bytes.
    provenance : dict
        Versions, machine, commit, data hash, and the switches found in force.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    configuration: str
    model: str
    dataset: str
    architecture: str
    precision: Literal["fp32", "tf32", "amp"]
    compute_type: str
    xla: bool
    workers: PositiveInt
    seed: Seed
    status: Status
    cause: str | None = None
    metrics: dict[str, Finite] = {}
    curve: tuple[Epoch, ...] = ()
    epochs: PositiveInt
    steps_per_epoch: PositiveInt | None = None
    train_seconds: Finite | None = None
    evaluation_seconds: Finite | None = None
    samples_per_second: Finite | None = None
    weights_digest: str | None = None
    run_digest: str
    plan_digest: str
    provenance: dict[str, Any]


class Ledger:
    """Records of one configuration, a file a seed, keyed by its run digest.

    A record is published whole or not at all, and a finished one is never replaced: an `ok` or `diverged` run is what
    the seed gives. Only a `failed` record makes room, for a retry that the user asked for.

    Parameters
    ----------
    root : Path
        Folder of all ledgers.
    run_digest : str
        Which configuration.
    """

    def __init__(self, root: Path, run_digest: str) -> None:
        self.folder = root / run_digest
        self.run_digest = run_digest

    def path(self, seed: int) -> Path:
        """File of a seed's record."""
        return self.folder / f"seed-{seed}.json"

    def checkpoint(self, seed: int) -> Path:
        """File of an unfinished seed's state, where the plan asks for one."""
        return self.folder / f"seed-{seed}.checkpoint.npz"

    def read(self, seed: int) -> RunRecord | None:
        """The record of a seed, or None.

        Raises
        ------
        UserError
            The file is damaged or belongs to another run.
        """
        path = self.path(seed)
        try:
            if not path.exists():
                return None
        except OSError as error:
            raise UserError(path, f"cannot be read: {error.strerror}") from error
        content = read_json(path, "remove the file to train this seed")
        if not isinstance(content, dict):
            raise UserError(path, "is no run record; remove the file to train this seed")
        record = validate(content, RunRecord, path)
        if (record.seed, record.run_digest) != (seed, self.run_digest):
            raise UserError(path, f"records seed {record.seed} of {record.run_digest}; it was moved here, so remove it")
        return record

    def missing(self, seeds: Iterable[int], retry_failed: bool = False) -> list[int]:
        """Those of the seeds that are still to be trained."""
        found = {seed: self.read(seed) for seed in seeds}
        return [s for s, record in found.items() if record is None or (retry_failed and record.status == "failed")]

    def write(self, record: RunRecord) -> None:
        """Add a record, durably.

        Raises
        ------
        UserError
            The seed has a finished record already, or the folder cannot be written.
        """
        path = self.path(record.seed)
        text = json.dumps(record.model_dump(mode="json"), indent=1, allow_nan=False) + "\n"
        existing = self.read(record.seed)
        if existing is not None and existing.status != "failed":
            raise UserError(path, "is finished already; a finished run is never replaced")
        write_atomically(path, text)

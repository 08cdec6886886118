"""What the launcher hands to each rank: some seeds of one configuration to train, or the configuration to time."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from seedstudy.runs import Epoch, RunRecord, Status
from seedstudy.study import ROOT, Configuration, Plan, load_plan, usable_cores

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Task(BaseModel):
    """What a rank is told on its standard input.

    Attributes
    ----------
    plan, data : Path
        Plan file, folder of the prepared data.
    configuration : str
        Id of the configuration.
    commit : str
        Commit of the code, for the records.
    threads : int or None
        Of a rank, where not the plan's.
    places : tuple of dict of str to str
        Horovod's variables of each rank, where srun starts them; else a rank has them in its environment.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    plan: Path
    configuration: str
    data: Path
    commit: str
    threads: int | None = None
    places: tuple[dict[str, str], ...] = ()

    def resolve(self) -> tuple[Plan, Configuration]:
        """The plan, with the job's threads, and the configuration that the job names."""
        plan = load_plan(self.plan)
        if self.threads is not None:
            plan = plan.with_threads(self.threads)
        return plan, plan.configuration(self.configuration)


class Job(Task):
    """Some seeds to train.

    Attributes
    ----------
    seeds : tuple of int
        In the order of training.
    ledger : Path
        Root of the ledgers.
    """

    seeds: tuple[int, ...]
    ledger: Path


class SourcesJob(Task):
    """Some seeds to train with one random stream at a time from another seed, into the CSV file `output`."""

    seeds: tuple[int, ...]
    output: Path


class BenchmarkJob(Task):
    """A configuration to time, into the JSON file `output`."""

    output: Path


def record(
    plan: Plan,
    configuration: Configuration,
    seed: int,
    status: Status,
    provenance: dict[str, Any],
    cause: str | None = None,
    curve: tuple[Epoch, ...] = (),
    **measured: Any,
) -> RunRecord:
    """A run record with all that the plan says of the run filled in.

    Parameters
    ----------
    plan, configuration, seed
        Which run.
    status, provenance, cause, curve
        As in `RunRecord`.
    **measured
        Further fields of `RunRecord`.
    """
    return RunRecord(
        configuration=configuration.id,
        model=plan.model.name,
        dataset=plan.data.source,
        architecture=configuration.architecture,
        precision=configuration.precision,
        compute_type=configuration.compute_type,
        xla=configuration.xla,
        workers=configuration.workers,
        seed=seed,
        status=status,
        cause=cause,
        curve=curve,
        epochs=plan.training.epochs,
        run_digest=configuration.run_digest,
        plan_digest=plan.plan_digest,
        provenance=provenance,
        **measured,
    )


def provenance(commit: str) -> dict[str, Any]:
    """Versions, machine and commit; nothing that names a person, host or path."""
    packages = ("tensorflow-cpu", "tensorflow", "keras", "horovod", "numpy")
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"commit": commit, "machine": machine(), "versions": versions}


def machine() -> str:
    """Processor model and usable cores."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    name = found[1].strip() if found else platform.machine()
    return f"{name}, {usable_cores()} cores"


def commit() -> str:
    """Commit of the checkout, with `-dirty` when what trains differs from it; `unknown` outside a checkout."""
    git = ["git", "-C", str(ROOT)]
    trained_by = ["src", "requirements", "config", "workflow", "Snakefile"]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", *trained_by], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("-dirty" if changed.stdout.strip() else "")


def environment(plan: Plan, configuration: Configuration) -> dict[str, str]:
    """Variables a rank must be started with, over those of this process."""
    chosen = {
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "KERAS_BACKEND": "tensorflow",
        "PYTHONUNBUFFERED": "1",
        # Both: Snakemake sets them to the cores of the job, and OpenBLAS heeds its own first.
        **dict.fromkeys(THREAD_VARIABLES, str(plan.threads_per_worker)),
        **plan.architectures[configuration.architecture].environment(),
    }
    if configuration.device == "cpu":
        chosen["CUDA_VISIBLE_DEVICES"] = "-1"
    return {**os.environ, **chosen}

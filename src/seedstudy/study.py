"""The plan of a study: configurations, seeds, margin, model and data, checked before anything runs.

A configuration is a point of architecture x precision x XLA x workers. Its `run_digest` covers everything that
determines the trained weights and nothing else; the `plan_digest` adds what the analysis declares beforehand.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from seedstudy.architecture import Architecture, ComputeType, Precision
from seedstudy.data.source import DataSource
from seedstudy.documents import lines_of, load_document, read_text
from seedstudy.errors import UserError
from seedstudy.fields import Finite, PlainName, Positive, PositiveInt, Text, WorkflowPath
from seedstudy.models import ModelConfig

# Raised when the trained bits change for a reason that no key of the plan shows.
ENGINE_VERSION = 1

ROOT = Path(__file__).resolve().parents[2]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(cached_property,))


class Output(_Block):
    """Folders of the study's tables and figures, relative to the working directory."""

    results: WorkflowPath
    figures: WorkflowPath


class Margin(_Block):
    """Largest difference of the metric that does not matter, and where that number comes from."""

    value: Positive
    source: Text


class Family(_Block):
    """A comparison declared beforehand: two arms of one axis, in each cell of the other axes.

    An arm may join labels with a bar: `fp32|tf32` is full precision on any architecture.
    """

    name: Name
    between: Annotated[dict[str, tuple[str, str]], Field(min_length=1, max_length=1)]
    within: tuple[str, ...]


class Axes(_Block):
    """The values that are crossed; each architecture is crossed with them too."""

    precision: Annotated[tuple[Literal["full", "amp"], ...], Field(min_length=1)]
    xla: Annotated[tuple[bool, ...], Field(min_length=1)]
    workers: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]


class LossScale(_Block):
    """Dynamic loss scaling of float16 (Micikevicius et al., "Mixed Precision Training", ICLR 2018)."""

    initial: Positive = 32768.0
    growth_steps: PositiveInt = 2000


class Training(_Block):
    """What holds for any model: how long, in what batches, and how gradients travel."""

    epochs: PositiveInt
    global_batch: PositiveInt
    evaluation_batch: PositiveInt
    gradient_compression: Literal["none", "float16"] = "none"
    loss_scale: LossScale = LossScale()


class Benchmark(_Block):
    """What the benchmark mode times; it determines nothing of a run."""

    training_batches: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    inference_batches: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    warmup_steps: PositiveInt
    steps: PositiveInt
    repeats: PositiveInt


class PlanDocument(_Block):
    """The YAML file as written."""

    name: Name
    title: Annotated[Text, PlainName]
    output: Output
    seeds_file: WorkflowPath
    seeds_per_job: PositiveInt
    metric: str
    margin: Margin
    target: Finite | None = None
    floor: Finite | None = None
    alpha: Annotated[float, Field(gt=0, lt=0.5)]
    families: tuple[Family, ...]
    architectures: Annotated[dict[Name, Architecture], Field(min_length=1)]
    axes: Axes
    threads_per_worker: PositiveInt
    affinity: Literal["none", "training", "rank"] = "none"
    exchange_timeout_seconds: PositiveInt = 120
    checkpoints: bool = False
    training: Training
    model: ModelConfig
    data: DataSource
    benchmark: Benchmark | None = None


@dataclass(frozen=True)
class Configuration:
    """One point of the study, and the digest of all that determines its runs."""

    architecture: str
    precision: Precision
    compute_type: ComputeType
    xla: bool
    workers: int
    device: str
    run_digest: str

    @property
    def id(self) -> str:
        """Readable name, as in `x86_64_v3-fp32-xla-2w` and `a100-tf32-noxla-8gpu`."""
        ranks = f"{self.workers}{'gpu' if self.device == 'gpu' else 'w'}"
        return f"{self.architecture}-{self.precision}-{'xla' if self.xla else 'noxla'}-{ranks}"


@dataclass(frozen=True)
class Batch:
    """Seeds that one job trains; the name changes with them, so that a marker never stands for others."""

    name: str
    seeds: tuple[int, ...]


class Plan(PlanDocument):
    """A checked plan."""

    path: Path
    seeds: tuple[int, ...]

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """All configurations, architectures outermost."""
        points = itertools.product(
            self.architectures, self.axes.precision, sorted(self.axes.xla, reverse=True), self.axes.workers
        )
        return tuple(self._configuration(*point) for point in points)

    def configuration(self, identifier: str) -> Configuration:
        """The configuration of that id.

        Raises
        ------
        UserError
            There is none; the message lists those there are.
        """
        for configuration in self.configurations:
            if configuration.id == identifier:
                return configuration
        known = ", ".join(configuration.id for configuration in self.configurations)
        raise UserError(self.path, f"has no configuration {identifier}; it has {known}")

    def with_threads(self, threads: int) -> Plan:
        """The same plan with another number of threads a rank, which makes it another study."""
        fields = {name: getattr(self, name) for name in PlanDocument.model_fields}
        return Plan.model_construct(**{**fields, "threads_per_worker": threads}, path=self.path, seeds=self.seeds)

    @cached_property
    def plan_digest(self) -> str:
        """Digest of the runs and of what the analysis declares: seeds, metric, margin, level, families."""
        return digest(
            {
                "runs": [configuration.run_digest for configuration in self.configurations],
                "seeds": self.seeds,
                "metric": self.metric,
                "margin": self.margin.model_dump(),
                "alpha": self.alpha,
                "families": [family.model_dump() for family in self.families],
            }
        )

    @property
    def data_digest(self) -> str:
        """Digest of how the data are made."""
        return digest(self.data.recipe())

    @property
    def seeds_path(self) -> Path:
        """The seeds file."""
        return self.path.parent / self.seeds_file

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The seeds in order, `seeds_per_job` at a time."""
        parts = [
            self.seeds[start : start + self.seeds_per_job] for start in range(0, len(self.seeds), self.seeds_per_job)
        ]
        return tuple(Batch(f"{number}-{digest(part)[:6]}", part) for number, part in enumerate(parts, start=1))

    @property
    def worker_label(self) -> str:
        """What `workers` are: GPUs where every architecture is one, else workers."""
        gpu = all(architecture.device == "gpu" for architecture in self.architectures.values())
        return "GPUs" if gpu else "workers"

    def _configuration(self, name: str, level: str, xla: bool, workers: int) -> Configuration:
        architecture = self.architectures[name]
        precision = architecture.precision(level)
        compute_type = architecture.compute_type(precision)
        determines = {
            "engine": ENGINE_VERSION,
            "data": self.data.recipe(),
            "model": self.model.model_dump(mode="json"),
            "training": self.training.model_dump(mode="json"),
            "architecture": architecture.switches(),
            "compute_type": compute_type,
            "xla": xla,
            "workers": workers,
            "threads_per_worker": self.threads_per_worker,
            "lock": lock_digest(architecture.device),
        }
        if self.floor is not None:
            determines["floor"] = [self.metric, self.floor]  # Not of the weights, but of whether a run counts.
        return Configuration(name, precision, compute_type, xla, workers, architecture.device, digest(determines))


def digest(content: Any) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a JSON-able value, keys sorted."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def lock_digest(device: str) -> str:
    """Digest of the locked requirements of a device, as part of what determines a run."""
    return hashlib.sha256((ROOT / "requirements" / f"{device}.txt").read_bytes()).hexdigest()[:16]


def read_seeds(path: Path) -> tuple[int, ...]:
    """Seeds of a study: one whole number below 2 ** 63 a line, empty lines and `#` comments allowed.

    Raises
    ------
    UserError
        Names the line that is no seed or repeats one, or says that there is none.
    """
    seeds: dict[int, int] = {}
    for number, line in enumerate(lines_of(read_text(path)), start=1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) >= 2**63:
            shown = text if len(text) < 30 else f"{text[:30]}..."
            raise UserError(f"{path}, line {number}", f"{shown!r} is no seed; write a whole number from 0 to 2**63 - 1")
        if int(text) in seeds:
            problem = f"seed {text} stands in line {seeds[int(text)]} already; remove one"
            raise UserError(f"{path}, line {number}", problem)
        seeds[int(text)] = number
    if not seeds:
        raise UserError(path, "holds no seed; write one whole number a line")
    return tuple(seeds)


def load_plan(path: str | Path, cores: int | None = None) -> Plan:
    """Read and check a plan and its seeds file.

    Parameters
    ----------
    path : str or Path
        The YAML file; paths in it are relative to its folder.
    cores : int, optional
        Cores of the machine that will train; where given, more ranks x threads on a CPU are refused.

    Returns
    -------
    Plan

    Raises
    ------
    UserError
        One line with file and key for the first mistake.
    """
    path = Path(path)
    document = load_document(path, PlanDocument)
    fields = {name: getattr(document, name) for name in PlanDocument.model_fields}
    plan = Plan.model_construct(**fields, path=path, seeds=read_seeds(path.parent / document.seeds_file))
    if plan.metric not in plan.model.metrics:
        known = ", ".join(plan.model.metrics)
        raise UserError(f"{path}: metric", f"{plan.metric} is none of {plan.model.name}; it has {known}")
    _check_axes(plan)
    _check_batches(plan)
    _check_families(plan)
    if cores is not None:
        _check_cores(plan, cores)
    return plan


def usable_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def _check_axes(plan: Plan) -> None:
    for key, values in plan.axes.model_dump().items():
        if len(set(values)) < len(values):
            raise UserError(f"{plan.path}: axes.{key}", "holds a value twice; keep one")
    for name, architecture in plan.architectures.items():
        problem = architecture.problem(amp="amp" in plan.axes.precision, xla=True in plan.axes.xla)
        if problem:
            raise UserError(f"{plan.path}: architectures.{name}.{problem.key}", problem.text)
        for workers in plan.axes.workers:
            if architecture.cluster.nodes(workers) * (architecture.cluster.workers_per_node or workers) < workers:
                raise UserError(
                    f"{plan.path}: architectures.{name}.cluster.workers_per_node",
                    f"{workers} workers are no multiple of it; choose one that spreads them evenly",
                )


def _check_batches(plan: Plan) -> None:
    batches: dict[str, tuple[int, ...]] = {
        "training.global_batch": (plan.training.global_batch,),
        "training.evaluation_batch": (plan.training.evaluation_batch,),
    }
    if plan.benchmark is not None:
        batches["benchmark.training_batches"] = plan.benchmark.training_batches
        batches["benchmark.inference_batches"] = plan.benchmark.inference_batches
    for key, sizes in batches.items():
        for batch, workers in itertools.product(sizes, plan.axes.workers):
            # A rank's dropout starts at a whole block of random numbers.
            if batch % workers:
                raise UserError(f"{plan.path}: {key}", f"{batch} is not a multiple of {workers} workers")


def _check_families(plan: Plan) -> None:
    levels = {
        "architecture": {c.architecture for c in plan.configurations},
        "precision": {str(c.precision) for c in plan.configurations},
        "xla": {"true" if c.xla else "false" for c in plan.configurations},
        "workers": {str(c.workers) for c in plan.configurations},
    }
    names = [family.name for family in plan.families]
    for index, family in enumerate(plan.families):
        where = f"{plan.path}: families.{index}"
        if names.count(family.name) > 1:
            raise UserError(f"{where}.name", f"{family.name} is given twice; names of families differ")
        ((axis, arms),) = family.between.items()
        for key in (axis, *family.within):
            if key not in levels:
                raise UserError(where, f"{key} is no axis; the axes are {', '.join(levels)}")
        if len(set(family.within)) < len(family.within):
            raise UserError(f"{where}.within", "names an axis twice; keep one")
        if axis in family.within:
            raise UserError(f"{where}.within", f"{axis} is what the arms differ in; remove it")
        for level in itertools.chain.from_iterable(arm.split("|") for arm in arms):
            if level not in levels[axis]:
                known = ", ".join(sorted(levels[axis]))
                raise UserError(f"{where}.between.{axis}", f"the study has no {level!r}; it has {known}")
        if set(arms[0].split("|")) & set(arms[1].split("|")):
            raise UserError(f"{where}.between.{axis}", f"the arms {arms[0]} and {arms[1]} share runs; part them")


def _check_cores(plan: Plan, cores: int) -> None:
    if not any(architecture.device == "cpu" for architecture in plan.architectures.values()):
        return
    workers = max(plan.axes.workers)
    if workers * plan.threads_per_worker > cores:
        raise UserError(
            f"{plan.path}: axes.workers",
            f"{workers} workers of {plan.threads_per_worker} thread(s) need more than the {cores} core(s) here; "
            f"use fewer workers or a machine with more cores",
        )

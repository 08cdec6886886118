"""An architecture: a device with its instruction set, precisions and cluster resources, as a block of the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from seedstudy.fields import PositiveInt, Text

Precision = Literal["fp32", "tf32", "amp"]
ComputeType = Literal["float32", "tensorfloat32", "bfloat16", "float16"]


@dataclass(frozen=True)
class InstructionSet:
    """How an x86 instruction-set level is asked of oneDNN and of XLA, and how it shows.

    Two levels are two architectures: other kernels, other rounding, other trained bits.
    """

    onednn: str
    xla: str
    fused: bool  # products are added with one rounding (FMA)


INSTRUCTION_SETS = {
    "sse4": InstructionSet("SSE41", "SSE4_2", fused=False),
    "avx2": InstructionSet("AVX2", "AVX2", fused=True),
    "avx512": InstructionSet("AVX512_CORE", "AVX512", fused=True),
}


@dataclass(frozen=True)
class Problem:
    """What an architecture cannot do, and the key that asks for it."""

    key: str
    text: str


# Both end in a call of sbatch; these are what Slurm's own names and its operators of constraints are made of.
_Partition = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.,-]*$")]
_Constraint = Annotated[str, Field(pattern=r"^[A-Za-z0-9_(\[][A-Za-z0-9_.,:=&|*()\[\]-]*$")]


class ClusterResources(BaseModel):
    """What a job of this architecture asks of Slurm; partition and constraint are the cluster's own by default.

    Memory is that of a node, run time that of a job and of each seed it trains; both are for the first attempt, and
    another attempt asks for as many times as much.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    partition: _Partition | None = None
    memory_mb: Annotated[int, Field(ge=600, le=2**31 - 1)] = 4000
    runtime_minutes: PositiveInt = 20
    minutes_per_seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 5
    constraint: _Constraint | None = None
    workers_per_node: PositiveInt | None = None

    def nodes(self, workers: int) -> int:
        """Nodes that a job of so many ranks is spread over, evenly."""
        if self.workers_per_node is None or workers <= self.workers_per_node:
            return 1
        return workers // self.workers_per_node

    def minutes(self, seeds: int, attempt: int) -> int:
        """Run time of a job that trains so many seeds."""
        return (self.runtime_minutes + self.minutes_per_seed * seeds) * attempt


class Architecture(BaseModel):
    """One block of `architectures` in a plan."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    device: Literal["cpu", "gpu"]
    instruction_set: Literal["sse4", "avx2", "avx512"] | None = None
    full_precision: Literal["fp32", "tf32"]
    amp: Literal["bfloat16", "float16"]
    gpu_name: Text | None = None
    cluster: ClusterResources = ClusterResources()

    def precision(self, level: str) -> Precision:
        """Label of a level of the precision axis here: `full` is fp32 or tf32."""
        return "amp" if level == "amp" else self.full_precision

    def compute_type(self, precision: Precision) -> ComputeType:
        """Type of the products under that label."""
        if precision == "amp":
            return self.amp
        return "float32" if precision == "fp32" else "tensorfloat32"

    def switches(self) -> dict[str, Any]:
        """What of this block determines trained bits."""
        return {"device": self.device, "instruction_set": self.instruction_set, "gpu_name": self.gpu_name}

    def environment(self) -> dict[str, str]:
        """Variables that a rank must be started with: both libraries read them when they are loaded."""
        if self.instruction_set is None:
            return {}
        level = INSTRUCTION_SETS[self.instruction_set]
        return {"ONEDNN_MAX_CPU_ISA": level.onednn, "XLA_FLAGS": f"--xla_cpu_max_isa={level.xla}"}

    def problem(self, amp: bool, xla: bool) -> Problem | None:
        """First contradiction of this block, given whether the study uses AMP and XLA."""
        if self.device == "cpu" and self.instruction_set is None:
            return Problem("instruction_set", "is missing; a CPU needs one: sse4, avx2 or avx512")
        if self.device == "gpu" and self.instruction_set is not None:
            return Problem("instruction_set", "belongs to a CPU; remove it")
        if self.device == "cpu" and self.gpu_name is not None:
            return Problem("gpu_name", "belongs to a GPU; remove it")
        if self.device == "cpu" and self.full_precision == "tf32":
            return Problem("full_precision", "tf32 needs a GPU; write fp32")
        if self.instruction_set == "sse4" and amp and xla and self.amp == "float16":
            return Problem("amp", "float16 with XLA does not compile below AVX2; write bfloat16, or leave XLA out")
        return None

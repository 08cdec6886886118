"""Whether this machine has what a configuration needs, found without loading TensorFlow."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from seedstudy.study import Configuration, Plan, usable_cores

CPU_FLAGS = {"sse4": {"sse4_1", "sse4_2"}, "avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512bw", "avx512vl"}}


class Gpu(NamedTuple):
    """A GPU by the identity that CUDA_VISIBLE_DEVICES takes, and its name."""

    uuid: str
    name: str


def missing_hardware(plan: Plan, configuration: Configuration) -> str | None:
    """What this machine lacks to train a configuration.

    Parameters
    ----------
    plan : Plan
        Its architecture blocks say what is needed.
    configuration : Configuration
        Which one.

    Returns
    -------
    str or None
        One line; None if nothing is missing.
    """
    architecture = plan.architectures[configuration.architecture]
    share = configuration.workers // nodes_used(plan, configuration)
    if architecture.device == "gpu":
        return _missing_gpus(architecture.gpu_name, share)
    needed = share * plan.threads_per_worker
    if needed > usable_cores():
        return f"{configuration.id} needs {needed} cores, this machine has {usable_cores()}"
    level = architecture.instruction_set or ""
    if CPU_FLAGS[level] - _cpu_flags():
        return f"needs a processor with {level}, this one lacks it"
    return None


def nodes_used(plan: Plan, configuration: Configuration) -> int:
    """Nodes that the ranks of a configuration run on: those of the plan in a Slurm job, else this machine alone."""
    if "SLURM_JOB_ID" not in os.environ:
        return 1
    return plan.architectures[configuration.architecture].cluster.nodes(configuration.workers)


def _missing_gpus(name: str | None, wanted: int) -> str | None:
    gpus = [gpu for gpu in list_gpus() if name is None or name in gpu.name]
    if len(gpus) >= wanted:
        return None
    kind = f"{name} GPU(s)" if name else "GPU(s)"
    return f"needs {wanted} {kind}, nvidia-smi lists {len(gpus)} here; run it where they are, or use another plan"


def list_gpus() -> list[Gpu]:
    """GPUs that nvidia-smi lists; none without it."""
    query = ["nvidia-smi", "--query-gpu=uuid,name", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [Gpu(*(part.strip() for part in line.split(",", 1))) for line in found.stdout.splitlines() if "," in line]


def _cpu_flags() -> set[str]:
    found = re.search(r"^flags\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return set(found[1].split()) if found else set()

"""Whether this machine has what a configuration needs, found without loading TensorFlow."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from seedstudy.study import Configuration, Plan, usable_cores

CPU_FLAGS = {"sse4": {"sse4_1", "sse4_2"}, "avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512bw", "avx512vl"}}


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
    if architecture.device == "gpu":
        return _missing_gpus(architecture.gpu_name, configuration.workers)
    needed = configuration.workers * plan.threads_per_worker
    if needed > usable_cores():
        return f"{configuration.id} needs {needed} cores, this machine has {usable_cores()}"
    level = architecture.instruction_set or ""
    if CPU_FLAGS[level] - _cpu_flags():
        return f"needs a processor with {level}, this one lacks it"
    return None


def _missing_gpus(name: str | None, wanted: int) -> str | None:
    gpus = [gpu for gpu in _gpus() if name is None or name in gpu]
    if len(gpus) >= wanted:
        return None
    kind = f"{name} GPU(s)" if name else "GPU(s)"
    return f"needs {wanted} {kind}, nvidia-smi lists {len(gpus)} here; run it where they are, or use another plan"


def _gpus() -> list[str]:
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return found.stdout.splitlines()


def _cpu_flags() -> set[str]:
    found = re.search(r"^flags\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return set(found[1].split()) if found else set()

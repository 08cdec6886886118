"""What Slurm costs beside local execution: the smoke study by both, in turns, on the tests' own cluster on this host.

Slurm's nodes share the cores of the local run. The cost of a job is also given in seeds of the default study: how many
a batch should hold to make it less than a tenth.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from peers import ROOT
from report import publish

sys.path.insert(0, str(ROOT))

from tests.workflow.cluster import missing, slurm
from tests.workflow.conftest import BIN, copy_of_checkout
from tests.workflow.test_slurm import SNAKEMAKE

from seedstudy.study import load_plan

PLAN = ("--configfile", "config/smoke.yaml")
SHARE = 0.1


def seconds(folder: Path, command: list[str], variables: dict[str, str]) -> float:
    """Wall time of the smoke study in a new copy of the project whose data are prepared."""
    copy_of_checkout(folder)
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"} | variables
    data = Path("build") / "data" / load_plan(ROOT / PLAN[1]).data_digest
    quiet = {"cwd": folder, "env": environment, "check": True, "capture_output": True}
    subprocess.run(["snakemake", "--cores", "2", str(data), *PLAN], **quiet)
    began = time.perf_counter()
    subprocess.run([*command, *PLAN], **quiet)
    return time.perf_counter() - began


def main() -> None:
    """Measure, and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if lacking := missing():
        sys.exit(f"slurm: {lacking}")
    jobs = len(load_plan(ROOT / PLAN[1]).configurations)
    found: dict[str, list[float]] = {"local": [], "Slurm": []}
    with tempfile.TemporaryDirectory() as folder, slurm(Path(folder) / "cluster") as cluster:
        for turn in range(options.turns):
            local = ["snakemake", "--cores", "2"]
            found["local"].append(seconds(Path(folder) / f"local{turn}", local, {}))
            found["Slurm"].append(seconds(Path(folder) / f"slurm{turn}", list(SNAKEMAKE), cluster.variables))
            print(
                f"turn {turn + 1}: " + ", ".join(f"{name} {t[-1]:.0f} s" for name, t in found.items()), file=sys.stderr
            )
    cost = statistics.median(b - a for a, b in zip(*found.values(), strict=True)) / jobs
    runs = pd.read_csv(ROOT / "results" / "runs.csv")
    seed = float((runs["train_seconds"] + runs["evaluation_seconds"]).median())
    batch = math.ceil(cost / SHARE / seed)
    lines = ["| | seconds, median | range |", "|---|---|---|"]
    for name, times in found.items():
        lines.append(f"| {name} | {statistics.median(times):.0f} | {min(times):.0f} to {max(times):.0f} |")
    lines += [
        "",
        f"A job costs {cost:.1f} s more than locally. A seed of the default study takes {seed:.2f} s (median), so that "
        f"a batch of {batch} seeds makes the cost less than {SHARE:.0%}; of runs that take a minute, "
        f"{math.ceil(cost / SHARE / 60)} a job.",
    ]
    about = (
        f"The smoke study, {jobs} jobs of 2 seeds, data prepared before; Slurm polled every 2 s; {options.turns} turns."
    )
    publish(
        "Slurm beside local execution",
        f"python benchmarks/slurm.py --turns {options.turns}",
        about,
        lines,
        options.output,
    )


if __name__ == "__main__":
    main()

"""What Slurm costs beside local execution: the smoke study by both, in turns, on the tests' own cluster on this host.

Slurm's nodes share the cores of the local run. The cost of a job is also given in seeds of the default study: how many
a batch should hold to make it less than a tenth.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from peers import ROOT
from report import publish

sys.path.insert(0, str(ROOT))

from tests.workflow.cluster import missing, slurm
from tests.workflow.conftest import SMOKE, copy_of_checkout, run
from tests.workflow.test_slurm import SNAKEMAKE

from seedstudy.study import load_plan

PLAN = ("--configfile", "config/smoke.yaml")
LOCAL = ("snakemake", "--cores", "2")
SHARE = 0.1


def seconds(folder: Path, command: tuple[str, ...], variables: dict[str, str]) -> float:
    """Wall time of the smoke study in a new copy of the project whose data are prepared."""
    copy_of_checkout(folder)
    data = Path("build") / "data" / load_plan(SMOKE).data_digest
    run(*LOCAL, data, *PLAN, cwd=folder)
    began = time.perf_counter()
    run(*command, *PLAN, cwd=folder, env=variables)
    return time.perf_counter() - began


def main() -> None:
    """Measure, and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if lacking := missing():
        sys.exit(f"slurm: {lacking}")
    jobs = len(load_plan(SMOKE).configurations)
    found: dict[str, list[float]] = {"local": [], "Slurm": []}
    with tempfile.TemporaryDirectory() as folder, slurm(Path(folder) / "cluster") as cluster:
        for turn in range(options.turns):
            found["local"].append(seconds(Path(folder) / f"local{turn}", LOCAL, {}))
            found["Slurm"].append(seconds(Path(folder) / f"slurm{turn}", SNAKEMAKE, cluster.variables))
            print(
                f"turn {turn + 1}: " + ", ".join(f"{name} {t[-1]:.0f} s" for name, t in found.items()), file=sys.stderr
            )
    cost = float(np.median(np.subtract(found["Slurm"], found["local"]))) / jobs
    runs = pd.read_csv(ROOT / "results" / "runs.csv")
    seed = float((runs["train_seconds"] + runs["evaluation_seconds"]).median())
    batch = math.ceil(cost / SHARE / seed)
    lines = ["| | seconds, median | range |", "|---|---|---|"]
    for name, times in found.items():
        lines.append(f"| {name} | {np.median(times):.0f} | {min(times):.0f} to {max(times):.0f} |")
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

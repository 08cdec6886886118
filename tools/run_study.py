"""Run the default study and say where the time went: set-up, data, training, rest.

Set-up is what the Makefile did before this script; it passes its own start on as SEEDSTUDY_STARTED.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def finished_since(folder: Path, began: float) -> list[tuple[float, float]]:
    """Start and end, in seconds of the epoch, of the jobs whose Snakemake benchmark was written since then."""
    spans = []
    for path in folder.rglob("*.tsv"):
        end = path.stat().st_mtime
        if end >= began:
            seconds = float(path.read_text().splitlines()[1].split("\t")[0])
            spans.append((end - seconds, end))
    return spans


def covered(spans: list[tuple[float, float]]) -> float:
    """Seconds in which at least one of the jobs ran."""
    total, reached = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def main() -> int:
    """Run Snakemake on all cores and print the split of the elapsed time."""
    began = time.time()
    set_up = began - float(os.environ.get("SEEDSTUDY_STARTED", began))
    code = subprocess.run(["snakemake", "--cores", "all", *sys.argv[1:]], cwd=ROOT).returncode
    total = time.time() - began
    benchmarks = ROOT / "build" / "benchmarks"
    data, training = (covered(finished_since(benchmarks / stage, began)) for stage in ("data", "train"))
    rest = total - data - training
    print(
        f"study: {set_up + total:.0f} s = set-up {set_up:.0f} + data {data:.0f} + training {training:.0f} "
        f"+ rest {rest:.0f} (workflow, tables, figures)"
    )
    return code


if __name__ == "__main__":
    sys.exit(main())

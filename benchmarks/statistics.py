"""Time and memory of the whole analysis, and the permutation test against scipy's own, on one core.

python benchmarks/statistics.py [--runs 320,32000] [--resamples 10000] [--output benchmarks/statistics.md]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

CELLS = 8  # of each family of a study of 16 configurations


def table(runs: int):
    """A study of 16 configurations; the seeds grow with the runs."""
    import numpy as np
    import pandas as pd

    rng, seeds, rows = np.random.default_rng(1), runs // 16, []
    base = rng.normal(0.65, 0.003, seeds)
    for number in range(16):
        axes = {
            "architecture": ("v2", "v3")[number // 8],
            "precision": ("fp32", "amp")[number // 4 % 2],
            "xla": ("false", "true")[number // 2 % 2],
            "workers": str(1 + number % 2),
        }
        values = base + rng.normal(0, 3e-4, seeds)
        rows.append(pd.DataFrame({**axes, "seed": np.arange(seeds).astype(str), "status": "ok", "map12": values}))
    return pd.concat(rows, ignore_index=True)


def analyse(runs: int, resamples: int) -> dict[str, float]:
    """Everything that the tables of a study need: four families, all configurations, the factorial model."""
    import numpy as np

    from seedstudy.statistics.cells import Family
    from seedstudy.statistics.comparison import compare_family
    from seedstudy.statistics.configurations import summarise_configurations
    from seedstudy.statistics.factor_runs import fit_runs
    from seedstudy.tables.frames import impact_table, stability_table

    axes = {"architecture": ("v2", "v3"), "precision": ("fp32", "amp"), "xla": ("false", "true"), "workers": ("1", "2")}
    data = table(runs)
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    for axis, arms in axes.items():
        within = tuple(name for name in axes if name != axis)
        family = Family(axis, {axis: arms}, within)
        impact_table(compare_family(data, family, "map12", 3e-3, 0.05, True, resamples, rng))
    stability_table(summarise_configurations(data, tuple(axes), "map12"))
    fit_runs(data, axes, "map12", 3e-3, paired=True)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def against_scipy(resamples: int, repeats: int = 3) -> dict[str, float]:
    """Ours and scipy's in turns on the same 20 + 20 values with as many resamples; medians, and both p."""
    import numpy as np
    from scipy import stats

    from seedstudy.statistics.permutation import permutation_test

    rng = np.random.default_rng(3)
    x, y = rng.normal(0, 1, 20), rng.normal(0.7, 1, 20)
    times: dict[str, list[float]] = {"ours": [], "scipy": []}
    for _ in range(repeats):
        began = time.perf_counter()
        ours = permutation_test(x, y, rng=rng, resamples=resamples).p
        times["ours"].append(time.perf_counter() - began)
        began = time.perf_counter()
        found = stats.permutation_test(
            (x, y),
            lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
            vectorized=True,
            n_resamples=resamples,
            rng=rng,
        )
        times["scipy"].append(time.perf_counter() - began)
    ratio = float(np.median(times["scipy"]) / np.median(times["ours"]))
    return {
        "ours": float(np.median(times["ours"])),
        "scipy": float(np.median(times["scipy"])),
        "ratio": ratio,
        "p": ours,
        "p_scipy": float(found.pvalue),
        "p_error": float(2 * np.sqrt(found.pvalue * (1 - found.pvalue) / resamples)),
    }


def alone(task: str, *arguments: int) -> dict[str, float]:
    """Run a task in a process of its own on one core, so that memory and imports are its own."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--task", task, *map(str, arguments)]
    core = min(os.sched_getaffinity(0))
    done = subprocess.run(
        command,
        env=variables,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", default="320,32000", help="sizes of the table of runs")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        name, *numbers = options.task
        print(json.dumps({"analyse": analyse, "against_scipy": against_scipy}[name](*map(int, numbers))))
        return
    lines = ["| runs | whole analysis, s | peak memory, GiB |", "|---|---|---|"]
    for runs in map(int, options.runs.split(",")):
        found = alone("analyse", runs, options.resamples)
        lines.append(f"| {runs} | {found['seconds']:.2f} | {found['gib']:.2f} |")
    found = alone("against_scipy", options.resamples)
    lines += [
        "",
        f"Permutation test of 20 + 20 values, {options.resamples} resamples: {1e3 * found['ours']:.1f} ms, "
        f"scipy.stats.permutation_test {1e3 * found['scipy']:.1f} ms, {found['ratio']:.1f} times faster; p "
        f"{found['p']:.4f} and {found['p_scipy']:.4f} (two Monte Carlo errors: {found['p_error']:.4f}).",
    ]
    # Only here: the report loads what a task's time and memory are not to count.
    from report import publish

    about = (
        f"After imports; four families of {CELLS} cells, {options.resamples} permutations a cell, summaries, factorial "
        "model."
    )
    publish("The statistics on one core", "python benchmarks/statistics.py", about, lines, options.output)


if __name__ == "__main__":
    main()

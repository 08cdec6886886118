"""Time and memory of MAP@12, and its time in turns with loops over displays and with ranx, on one core.

python benchmarks/metrics.py [--full 5200000] [--displays 200000] [--repeats 5] [--output benchmarks/metrics.md]

ranx is compared where `make benchmarks/peers/.venv` has been run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers" / ".venv" / "bin" / "python"
CUTOFF = 12


def table(displays: int) -> tuple[Any, Any, Any]:
    """Scores, labels and groups as a study has them: 2 to 12 rows a display, one of them positive."""
    rng = np.random.default_rng(1)
    sizes = 2 + rng.binomial(10, 0.32, displays)
    labels = np.zeros(sizes.sum(), np.float32)
    labels[np.cumsum(sizes) - sizes + rng.integers(0, sizes)] = 1
    return rng.normal(size=len(labels)), labels, np.repeat(np.arange(displays), sizes)


def ours(scores: Any, labels: Any, groups: Any) -> float:
    from seedstudy.metrics import mean_average_precision

    return mean_average_precision(scores, labels, groups, CUTOFF).value


def loop_over_lists(scores: Any, labels: Any, groups: Any) -> float:
    """Each display sorted as a list of tuples; ties by order."""
    precisions = []
    rows = zip(groups.tolist(), scores.tolist(), labels.tolist(), strict=True)
    for _, display in itertools.groupby(rows, itemgetter(0)):
        hits, gain = 0, 0.0
        for rank, (_, _, label) in enumerate(sorted(display, key=itemgetter(1), reverse=True), start=1):
            if label > 0:
                hits += 1
                gain += hits / rank if rank <= CUTOFF else 0
        if hits:
            precisions.append(gain / min(hits, CUTOFF))
    return sum(precisions) / len(precisions)


def loop_over_arrays(scores: Any, labels: Any, groups: Any) -> float:
    """Each display sorted by NumPy; ties by order."""
    precisions = []
    bounds = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
    for first, last in itertools.pairwise(bounds):
        ranked = labels[first:last][np.argsort(-scores[first:last])] > 0
        hits = ranked.sum()
        if hits:
            places = np.flatnonzero(ranked[:CUTOFF]) + 1
            precisions.append((np.arange(1, len(places) + 1) / places).sum() / min(hits, CUTOFF))
    return float(np.mean(precisions))


def ranx_evaluate(scores: Any, labels: Any, groups: Any) -> Callable[[], float]:
    """The `evaluate` of ranx on a Qrels and a Run that are built, sorted and compiled for already."""
    import pandas as pd
    from ranx import Qrels, Run, evaluate

    text = {"q_id": groups.astype(str), "doc_id": np.arange(len(groups)).astype(str)}
    rows = pd.DataFrame(text | {"score": scores, "relevance": labels.astype(int)}).astype(dict.fromkeys(text, object))
    qrels = Qrels.from_df(rows[rows["relevance"] > 0], score_col="relevance")
    run = Run.from_df(rows, score_col="score")
    evaluate(qrels, run, f"map@{CUTOFF}")
    return lambda: float(evaluate(qrels, run, f"map@{CUTOFF}", save_results_in_run=False))


def full(displays: int, repeats: int) -> dict[str, Any]:
    """Seconds of each repeat, and the peak of the arrays in one more, the input among them, over the input."""
    import tracemalloc

    arrays = table(displays)
    size = sum(array.nbytes for array in arrays)
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        ours(*arrays)
        seconds.append(time.perf_counter() - began)
    tracemalloc.start()
    ours(*arrays)
    peak = tracemalloc.get_traced_memory()[1]
    return {"rows": len(arrays[0]), "seconds": seconds, "input_mib": size / 2**20, "memory": (size + peak) / size}


def compare(displays: int, repeats: int) -> dict[str, Any]:
    """Seconds of each repeat of each, in turns, and the values."""
    arrays = table(displays)
    contestants: dict[str, Callable[[], float]] = {
        "seedstudy": lambda: ours(*arrays),
        "a loop over displays, lists": lambda: loop_over_lists(*arrays),
        "a loop over displays, NumPy": lambda: loop_over_arrays(*arrays),
    }
    if PEERS.exists():
        contestants["ranx, evaluate alone"] = ranx_evaluate(*arrays)
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    values = {}
    for _ in range(repeats):
        for name, run in contestants.items():
            began = time.perf_counter()
            values[name] = run()
            seconds[name].append(time.perf_counter() - began)
    return {"rows": len(arrays[0]), "seconds": seconds, "values": values}


def alone(python: str, task: str, *arguments: int) -> dict[str, Any]:
    """Run a task in a process of its own on one core."""
    core = min(os.sched_getaffinity(0))
    variables = {**os.environ, "NUMBA_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        # -P: the standard library's `statistics`, which ranx imports, and not the file of that name here.
        [python, "-P", __file__, "--task", task, *map(str, arguments)],
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def shown(seconds: list[float]) -> str:
    return f"{np.median(seconds):.3f} | {min(seconds):.3f} to {max(seconds):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", type=int, default=5_200_000, help="displays of the largest table")
    parser.add_argument("--displays", type=int, default=200_000, help="displays of the table that all share")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        name, *numbers = options.task
        print(json.dumps({"full": full, "compare": compare}[name](*map(int, numbers))))
        return
    largest = alone(sys.executable, "full", options.full, options.repeats)
    shared = alone(str(PEERS) if PEERS.exists() else sys.executable, "compare", options.displays, options.repeats)
    lines = [
        "| rows | displays | seconds, median | range | input, MiB | peak of arrays over input |",
        "|---|---|---|---|---|---|",
        f"| {largest['rows']} | {options.full} | {shown(largest['seconds'])} | {largest['input_mib']:.0f} | "
        f"{largest['memory']:.2f} |",
        "",
        f"In turns on {shared['rows']} rows, {options.displays} displays:",
        "",
        "| | seconds, median | range | times seedstudy's | MAP@12 |",
        "|---|---|---|---|---|",
    ]
    base = np.median(shared["seconds"]["seedstudy"])
    for name, seconds in shared["seconds"].items():
        ratio = np.median(seconds) / base
        lines.append(f"| {name} | {shown(seconds)} | {ratio:.1f} | {shared['values'][name]:.12f} |")
    lines += ["", "Of ranx neither building nor sorting of Qrels and Run is counted, nor its compilation."]
    if not PEERS.exists():
        lines[-1] = "ranx is not installed: `make benchmarks/peers/.venv`."
    # Only here: a task runs where benchmarks/ is not on Python's path.
    from report import publish

    about = f"2 to 12 rows a display, one of them positive; {options.repeats} repeats."
    publish("MAP@12 on one core", "python benchmarks/metrics.py", about, lines, options.output)


if __name__ == "__main__":
    main()

"""HR@10 and speed of the NCF study's full-precision configuration, beside RecBole's NeuMF, on one core.

python benchmarks/ncf.py [--seeds 20] [--output benchmarks/ncf.md]

Same rows, negatives of evaluation, widths, optimiser, epochs and batches; RecBole's network drops out inputs of its
layers too. Needs `make benchmarks/peers/.venv`. The contestants take turns seed by seed; seedstudy trains another seed
first in the same job, which leaves compilation out as PyTorch has none.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from peers import PEERS, PYTHONS, ROOT, SEEDSTUDY, pinned, prepared
from report import publish

from seedstudy.study import load_plan
from seedstudy.training.job import environment

PLAN = ROOT / "config" / "ncf.yaml"
CONFIGURATION = "x86_64_v3-fp32-xla-1w"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="how many of the study's")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if not PYTHONS["torch"].exists():
        sys.exit("ncf: PyTorch is not installed; run `make benchmarks/peers/.venv`")
    plan = load_plan(PLAN)
    variables = environment(plan, plan.configuration(CONFIGURATION))
    data = prepared(plan)
    found: dict[str, list[tuple[float, float]]] = {"seedstudy": [], "RecBole": []}
    for number, seed in enumerate(plan.seeds[: options.seeds], start=1):
        train = [SEEDSTUDY, "train", "--plan", PLAN, "--data", data, "--configuration", CONFIGURATION]
        _, record = pinned([*train, "--seed", str(number), "--seed", str(seed)], variables)
        found["seedstudy"].append((record["metrics"]["hr10"], record["samples_per_second"]))
        peer = [PYTHONS["torch"], PEERS / "recbole_fit.py", "--plan", PLAN, "--data", data, "--seed", str(seed)]
        (record,) = pinned(peer, variables)
        found["RecBole"].append((record["hr10"], record["samples_per_second"]))
        print(f"seed {number}: " + ", ".join(f"{name} {run[-1]}" for name, run in found.items()), file=sys.stderr)
    lines = ["| | HR@10, mean | SD | examples a second, median | range |", "|---|---|---|---|---|"]
    for name, runs in found.items():
        hits, rates = np.array(runs).T
        deviation = f"{hits.std(ddof=1):.4f}" if len(hits) > 1 else ""
        span = f"{rates.min():,.0f} to {rates.max():,.0f}"
        lines.append(f"| {name} | {hits.mean():.4f} | {deviation} | {np.median(rates):,.0f} | {span} |")
    ratios = np.array([ours[1] / peer[1] for ours, peer in zip(*found.values(), strict=True)])
    span = f"{ratios.min():.2f} to {ratios.max():.2f}"
    lines += ["", f"Speed of training: {np.median(ratios):.2f} times RecBole's, by pairs of runs ({span})."]
    about = f"{options.seeds} seeds of {CONFIGURATION}, in turns; training alone is timed, negatives drawn in it."
    publish("NeuMF beside RecBole's", f"python benchmarks/ncf.py --seeds {options.seeds}", about, lines, options.output)


if __name__ == "__main__":
    main()

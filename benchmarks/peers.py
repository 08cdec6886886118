"""The seeds of one configuration of the default study: seedstudy's one job against peers that start once a seed.

python benchmarks/peers.py [--seeds 20] [--turns 2] [--peer keras] [--peer torch] [--output benchmarks/peers.md]

The peers are peers/keras_fit.py, in the project's environment, and peers/torch_fit.py, for which run first
`make benchmarks/peers/.venv`. Each does the same work on one core: rows, model, optimisers, epochs, batches, and MAP@12
of the evaluation rows, which seedstudy takes after each epoch and the peers once.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from report import publish

from seedstudy.study import Configuration, Plan, load_plan
from seedstudy.training.job import environment

ROOT = Path(__file__).resolve().parents[1]
PLAN = ROOT / "config" / "default.yaml"
CONFIGURATION = "x86_64_v3-fp32-xla-1w"
PEERS = ROOT / "benchmarks" / "peers"
PYTHONS = {"keras": Path(sys.executable), "torch": PEERS / ".venv" / "bin" / "python"}
SEEDSTUDY = Path(sys.executable).with_name("seedstudy")
NAMES = {
    "seedstudy": "seedstudy, all seeds in one job",
    "keras": "Keras `Model.fit`, a process a seed",
    "torch": "PyTorch, a process a seed",
}


def pinned(command: list[str | Path], variables: dict[str, str]) -> list[dict[str, object]]:
    """Run a command on one core; what it printed, one JSON document a line."""
    core = min(os.sched_getaffinity(0))
    done = subprocess.run(
        command,
        env=variables | {"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def prepared(plan: Plan) -> Path:
    """Folder of a plan's data, prepared where it is not there yet."""
    data = ROOT / "build" / "data" / plan.data_digest
    if not data.exists():
        prepare = [SEEDSTUDY, "data", "prepare", "--plan", plan.path, "--output", data]
        subprocess.run(prepare, stdout=subprocess.DEVNULL, check=True)
    return data


def turn(name: str, plan: Plan, configuration: Configuration, data: Path, seeds: tuple[int, ...]) -> list[float]:
    """Train all seeds by one contestant; MAP@12 of each."""
    variables = environment(plan, configuration)
    if name == "seedstudy":
        chosen = [word for seed in seeds for word in ("--seed", str(seed))]
        command = [SEEDSTUDY, "train", "--plan", PLAN, "--data", data]
        records = pinned([*command, "--configuration", CONFIGURATION, *chosen], variables)
        return [record["metrics"]["map12"] for record in records]
    script = PEERS / f"{name}_fit.py"
    commands = [[PYTHONS[name], script, "--plan", PLAN, "--data", data, "--seed", str(seed)] for seed in seeds]
    return [pinned(command, variables)[0]["map12"] for command in commands]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="how many of the study's")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--peer", choices=sorted(PYTHONS), action="append", help="given once for each; all if none is")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    peers = options.peer or sorted(PYTHONS)
    if "torch" in peers and not PYTHONS["torch"].exists():
        sys.exit("peers: PyTorch is not installed; run `make benchmarks/peers/.venv`, or give --peer keras alone")
    plan = load_plan(PLAN)
    configuration = plan.configuration(CONFIGURATION)
    data = prepared(plan)

    seeds = plan.seeds[: options.seeds]
    contestants = ["seedstudy", *peers]
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    values: dict[str, list[float]] = {}
    for number in range(1, options.turns + 1):
        for name in contestants:
            began = time.perf_counter()
            values[name] = turn(name, plan, configuration, data, seeds)
            seconds[name].append(time.perf_counter() - began)
            print(f"turn {number}: {name} {seconds[name][-1]:.1f} s", file=sys.stderr)

    lines = [
        "| | seconds of each turn | median | times seedstudy's | MAP@12, mean | SD |",
        "|---|---|---|---|---|---|",
    ]
    for name in contestants:
        turns = ", ".join(f"{value:.1f}" for value in seconds[name])
        median = float(np.median(seconds[name]))
        ratio = median / float(np.median(seconds["seedstudy"]))
        deviation = f"{np.std(values[name], ddof=1):.4f}" if len(seeds) > 1 else ""
        mean = np.mean(values[name])
        lines.append(f"| {NAMES[name]} | {turns} | {median:.1f} | {ratio:.2f} | {mean:.4f} | {deviation} |")
    about = f"{len(seeds)} seeds of {CONFIGURATION} of the default study, in turns, imports and compilation counted."
    chosen = "".join(f" --peer {peer}" for peer in options.peer or ())
    command = f"python benchmarks/peers.py --seeds {options.seeds} --turns {options.turns}{chosen}"
    title = "Seeds of one configuration on one core, against what a user writes today"
    publish(title, command, about, lines, options.output)


if __name__ == "__main__":
    main()

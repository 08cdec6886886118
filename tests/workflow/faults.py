"""Kills processes of the smoke study at random moments, until it is done, and compares it with an undisturbed one.

Run by `make faults`: 200 kills, logged in benchmarks/faults.log. The tests run ten. Everything random follows from the
seed: whom to kill, how, and when; what the machine does meanwhile does not.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import psutil
import yaml

from seedstudy.runs import Ledger
from seedstudy.study import load_plan
from seedstudy.training.job import commit, machine

from .conftest import BIN, SMOKE, copy_of_checkout, fingerprints, run

LOG = Path("benchmarks") / "faults.log"
SIGNALS = (signal.SIGKILL, signal.SIGTERM)
# `seedstudy train` is trainer and launcher in one; `light` is whatever else of ours runs: data, table of runs, pages;
# `everything` is all of them at once, as when the machine goes down.
TARGETS = (*["snakemake"] * 3, *["launcher"] * 4, *["rank"] * 4, "light", "everything")
LONGEST_WAIT = 8.0
UNLIKE = ["train_seconds", "samples_per_second", "evaluation_seconds", "commit"]
PLAN = ("--configfile", "config/faults.yaml")


class Lost(AssertionError):
    """A finished seed is gone or changed, a record is damaged, or tables differ."""


class Study:
    """One study in a folder of its own, started again and again until it is done."""

    def __init__(self, folder: Path, checkpoints: bool) -> None:
        self.folder = copy_of_checkout(folder)
        changed = yaml.safe_load(SMOKE.read_text()) | {"checkpoints": checkpoints}
        (self.folder / "config" / "faults.yaml").write_text(yaml.safe_dump(changed))
        self.plan = load_plan(self.folder / "config" / "faults.yaml")
        self.known: dict[Path, str] = {}
        self.starts = 0
        self.snakemake: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start Snakemake, as a user would whose study was killed; seeds given up are tried again."""
        command = ["snakemake", "--cores", "2", *PLAN]
        variables = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        run("snakemake", "--unlock", *PLAN, cwd=self.folder)
        if any(status == "failed" for status, *_ in fingerprints(self.folder, self.plan).values()):
            command += ["--forcerun", "train", "collect", "--config", "retry_failed=true"]
        self.starts += 1
        with (self.folder / "said").open("ab") as said:
            self.snakemake = subprocess.Popen(
                command, cwd=self.folder, env=variables, stdout=said, stderr=said, start_new_session=True
            )

    def ended(self) -> bool:
        """Whether Snakemake has ended, well or not."""
        return self.snakemake is None or self.snakemake.poll() is not None

    def done(self) -> bool:
        """Whether it has ended well, with every seed trained."""
        found = fingerprints(self.folder, self.plan).values()
        well = self.snakemake is not None and self.snakemake.poll() == 0
        return well and len(found) == 16 and all(status == "ok" for status, *_ in found)

    def processes(self, target: str) -> list[psutil.Process]:
        """Those of a kind that run for this study."""
        if target in ("snakemake", "everything") and self.ended():
            return []
        found = [psutil.Process(self.snakemake.pid)] if target in ("snakemake", "everything") else []
        if target == "snakemake":
            return found
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                ours = kind(process.cmdline())
                if ours and target in (ours, "everything") and process.cwd() == str(self.folder):
                    found.append(process)
        return found

    def check(self) -> None:
        """Every finished record that was there is there, unchanged, and every record can be read."""
        for configuration in self.plan.configurations:
            ledger = Ledger(self.folder / "ledger", configuration.run_digest)
            for seed in self.plan.seeds:
                record = ledger.read(seed)  # Raises where the file is damaged.
                path = ledger.path(seed)
                if path in self.known and (record is None or digest(path) != self.known[path]):
                    raise Lost(f"{path}: was finished, and is gone or changed")
                if record is not None and record.status == "ok":
                    self.known[path] = digest(path)


def kind(line: list[str]) -> str | None:
    """Which target a process is, by its command line."""
    if "seedstudy.training.rank" in line:
        return "rank"
    ours = any(Path(part).name == "seedstudy" for part in line[:2])
    return None if not ours else "launcher" if "train" in line[:3] else "light"


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def compare(study: Study, undisturbed: Path) -> None:
    """Raise unless runs, weights and tables are those of the undisturbed study."""
    if fingerprints(study.folder, study.plan) != fingerprints(undisturbed, study.plan):
        raise Lost("weights or metrics differ from the undisturbed study's")
    results = study.plan.output.results
    tables = [pd.read_csv(root / results / "runs.csv").drop(columns=UNLIKE) for root in (study.folder, undisturbed)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    for name in ("stability.csv", "stability.md", "amp_impact.csv", "amp_impact.md"):
        if (study.folder / results / name).read_bytes() != (undisturbed / results / name).read_bytes():
            raise Lost(f"{name} differs from the undisturbed study's")


def strike(study: Study, rng: random.Random) -> tuple[str, str, str] | None:
    """Wait for a random while, then kill a process of a random kind; what was hit, how, and where the study was."""
    target, how, wait = rng.choice(TARGETS), rng.choice(SIGNALS), rng.uniform(0, LONGEST_WAIT)
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline and not study.ended():
        time.sleep(0.05)
    while not (found := study.processes(target)):
        if study.ended():
            return None
        time.sleep(0.02)
    found.sort(key=lambda process: process.pid)
    victims = found if target == "everything" else [rng.choice(found)]
    records = len(list(study.folder.glob("ledger/*/seed-*.json")))
    hit = 0
    for victim in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.send_signal(how)
            hit += 1
    if hit and target in ("snakemake", "everything"):
        try:
            study.snakemake.wait(120)
        except subprocess.TimeoutExpired:
            study.snakemake.kill()
            study.snakemake.wait()
    return (target, how.name, f"{wait:4.1f} s, {records:2d} records") if hit else None


def kill_and_compare(kills: int, seed: int, root: Path, undisturbed: Path, say) -> Counter:
    """Disturb studies by so many kills, and finish each.

    Parameters
    ----------
    kills, seed : int
        How many, and what they follow from.
    root : Path
        Folder for the studies.
    undisturbed : Path
        Folder of a study that nothing happened to.
    say : callable
        Takes each line of the log.

    Returns
    -------
    Counter
        Kills by target and signal.

    Raises
    ------
    Lost
        Something that was finished is not as it was, or the result is another.
    """
    rng, hits, number = random.Random(seed), Counter(), 0
    while sum(hits.values()) < kills:
        number += 1
        study = Study(root / f"study{number}", checkpoints=number % 2 == 1)
        began = time.monotonic()
        while not study.done():
            if study.ended():
                study.start()
            hit = strike(study, rng) if sum(hits.values()) < kills else (study.snakemake.wait(), None)[1]
            study.check()
            if hit:
                hits[hit[:2]] += 1
                say(f"{sum(hits.values()):3d}  study {number}  {hit[0]:10s} {hit[1]:7s} after {hit[2]}")
        compare(study, undisturbed)
        kept = "with checkpoints" if number % 2 == 1 else "without checkpoints"
        say(
            f"study {number}, {kept}: done after {study.starts} starts and {time.monotonic() - began:.0f} s; "
            f"0 finished seeds lost, 0 records damaged, tables bitwise the undisturbed study's"
        )
    return hits


def main() -> None:
    """Run the harness and keep its log."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261203)
    parser.add_argument("--log", type=Path, default=LOG)
    options = parser.parse_args()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)
        options.log.write_text("\n".join(lines) + "\n")

    say(f"{options.kills} kills, seed {options.seed}; commit {commit()}, {machine()}, {datetime.now(UTC):%Y-%m-%d}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        undisturbed = copy_of_checkout(root / "undisturbed")
        run("snakemake", "--cores", "2", "--configfile", "config/smoke.yaml", cwd=undisturbed)
        hits = kill_and_compare(options.kills, options.seed, root, undisturbed, say)
    for (target, how), count in sorted(hits.items()):
        say(f"{target} {how}: {count}")


if __name__ == "__main__":
    sys.exit(main())

"""A copy of the project as a clone would be, and the smoke study trained once for all tests of it."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seedstudy.study import ROOT, load_plan

SMOKE = ROOT / "config" / "smoke.yaml"
BIN = Path(sys.executable).parent


def run(*command, cwd=ROOT, check=True, timeout=600, **more):
    """Run a command of the environment; its output is in the error when it fails."""
    variables = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **more.pop("env", {})}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=variables, capture_output=True, text=True, timeout=timeout, **more
    )
    assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def copy_of_checkout(folder: Path) -> Path:
    """What a clone of this checkout would hold: no data, ledger or markers."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture
def clone(tmp_path):
    return copy_of_checkout(tmp_path / "clone")


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """Folder in which the smoke study ran undisturbed, once for all processes of the tests; no test may change it."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, done = root / "smoke", root / "smoke.done"
    with (root / "smoke.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            copy_of_checkout(folder)
            run("snakemake", "--cores", "2", "--configfile", "config/smoke.yaml", cwd=folder)
            done.touch()
    return folder


@pytest.fixture
def finished(smoke, tmp_path):
    """A copy of the finished study, for a test that changes it."""
    return shutil.copytree(smoke, tmp_path / "clone")


@pytest.fixture(scope="session")
def plan():
    return load_plan(SMOKE)


def fingerprints(folder, plan):
    """Weights and metrics of every run that the ledger holds, by configuration and seed."""
    from seedstudy.runs import Ledger

    found = {}
    for configuration in plan.configurations:
        ledger = Ledger(folder / "ledger", configuration.run_digest)
        for seed in plan.seeds:
            record = ledger.read(seed)
            if record is not None:
                found[configuration.id, seed] = (record.status, record.weights_digest, record.metrics)
    return found

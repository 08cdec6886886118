"""The same seed on one and on two ranks; ranks that no longer answer."""

import os
import signal
import subprocess
import time

import numpy as np
import psutil
import pytest
import yaml

from seedstudy.training.job import Job
from seedstudy.training.launch import RankDied, launch

from .conftest import BIN, SMOKE

pytestmark = pytest.mark.slow


def changed_plan(folder, **training):
    """The smoke plan with a short timeout and changed training."""
    changed = yaml.safe_load(SMOKE.read_text()) | {"exchange_timeout_seconds": 5}
    changed["seeds_file"] = str(SMOKE.parent / changed["seeds_file"])
    changed["training"] |= training
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(changed))
    return path


@pytest.mark.parametrize("xla", ["xla", "noxla"])
@pytest.mark.parametrize("batch", [None, 16])  # at 16, embedding tables are larger than a batch and travel as rows
def test_averaged_gradients_of_the_first_step_agree(smoke, plan, tmp_path, monkeypatch, xla, batch):
    monkeypatch.chdir(SMOKE.parent.parent)
    path = changed_plan(tmp_path, **({"global_batch": batch} if batch else {}))
    gradients = []
    for workers in (1, 2):
        configuration = f"x86_64_v3-fp32-{xla}-{workers}w"
        data = smoke / "build" / "data" / plan.data_digest
        job = Job(plan=path, configuration=configuration, seeds=(1,), data=data, ledger=tmp_path, commit="test")
        launch(job, module="tests.workflow.gradient_rank")
        with np.load(tmp_path / f"{configuration}.npz") as stored:
            gradients.append([stored[name].astype(np.float64) for name in stored.files])
    for one, two in zip(*gradients, strict=True):
        assert np.linalg.norm(one) > 0
        assert np.linalg.norm(two - one) <= 1e-5 * np.linalg.norm(one)


def test_a_rank_that_computes_something_else_is_named_after_the_timeout(smoke, plan, tmp_path, monkeypatch):
    monkeypatch.chdir(SMOKE.parent.parent)
    data = smoke / "build" / "data" / plan.data_digest
    name = "x86_64_v3-fp32-noxla-2w"
    job = Job(plan=changed_plan(tmp_path), configuration=name, seeds=(1,), data=data, ledger=tmp_path, commit="test")
    with pytest.raises(RankDied, match=r"^rank 1 did not answer rank 0 within 5 s$"):
        launch(job, module="tests.workflow.stalled_rank")


@pytest.mark.parametrize("number", [0, 1])
def test_a_rank_that_stands_still_is_named_after_the_timeout_and_ended(smoke, plan, tmp_path, number):
    path, name = changed_plan(tmp_path, epochs=100_000), "x86_64_v3-fp32-noxla-2w"
    command = ["seedstudy", "train", "--plan", path, "--configuration", name, "--seed", "1"]
    command += ["--data", smoke / "build" / "data" / plan.data_digest, "--ledger", tmp_path]
    variables = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    training = subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)
    ranks = {}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (len(ranks) == 2 and all(r.cpu_times().user > 6 for r in ranks.values())):
        time.sleep(0.2)
        ranks = {r.environ().get("HOROVOD_RANK"): r for r in psutil.Process(training.pid).children()}
    ranks[str(number)].send_signal(signal.SIGSTOP)
    _, said = training.communicate(timeout=60)
    assert training.returncode == 1
    assert f"seedstudy: {name}: rank {number} did not answer rank {1 - number} within 5 s" in said.splitlines()
    assert not any(rank.is_running() for rank in ranks.values())
    assert not list(tmp_path.glob("*/seed-*.json"))

"""The same seed on one and on two ranks."""

import numpy as np
import pytest
import yaml

from seedstudy.training.job import Job
from seedstudy.training.launch import launch

from .conftest import SMOKE

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("xla", ["xla", "noxla"])
@pytest.mark.parametrize("batch", [None, 16])  # at 16, embedding tables are larger than a batch and travel as rows
def test_averaged_gradients_of_the_first_step_agree(smoke, plan, tmp_path, monkeypatch, xla, batch):
    monkeypatch.chdir(SMOKE.parent.parent)
    changed = yaml.safe_load(SMOKE.read_text())
    changed["seeds_file"] = str(SMOKE.parent / changed["seeds_file"])
    changed["training"]["global_batch"] = batch or changed["training"]["global_batch"]
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(changed))
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

"""Studies of models other than Wide & Deep, through the whole pipeline."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from seedstudy.study import ROOT, load_plan

from .conftest import SMOKE, fingerprints, run

pytestmark = pytest.mark.slow
THIRD = Path(__file__).parent / "third_model"
LINE = '    "neumf",\n'


def test_a_third_model_needs_its_folder_and_one_line(clone, tmp_path):
    models = clone / "src" / "seedstudy" / "models"
    shutil.copytree(THIRD, models / "third_model")
    registry = models / "__init__.py"
    registered = registry.read_text().replace(LINE, f'{LINE}    "third_model",\n')
    assert len(registered.splitlines()) == len(registry.read_text().splitlines()) + 1
    registry.write_text(registered)
    plan = yaml.safe_load(SMOKE.read_text())
    plan["model"] = {"name": "third_model", "learning_rate": 0.5}
    plan["axes"]["xla"] = [True]
    plan |= {"metric": "auc", "output": {"results": "build/third/results", "figures": "build/third/figures"}}
    (clone / "config" / "third.yaml").write_text(yaml.safe_dump(plan))
    variables = {"PYTHONPATH": str(clone / "src")}
    run("snakemake", "all", "benchmarks", "--cores", "2", "--configfile", "config/third.yaml", cwd=clone, env=variables)
    runs = pd.read_csv(clone / "build" / "third" / "results" / "runs.csv")
    assert set(runs["model"]) == {"third_model"}
    assert len(runs) == 8
    assert (runs["status"] == "ok").all()
    # One worker or two: the same run but for rounding.
    spread = runs[runs["precision"] == "fp32"].groupby("seed")["auc"].agg(lambda values: values.max() - values.min())
    assert spread.max() < 1e-4
    assert runs["auc"].min() > 0.5
    for name in ("amp_impact.md", "benchmark_training.md", "time_to_train.md"):
        assert (clone / "build" / "third" / "results" / name).is_file()


def small_ncf(clone: Path) -> Path:
    """The NCF study with two seeds of two epochs, on interactions that need no download."""
    import numpy as np

    rng = np.random.default_rng(4)
    rows = [(user, item, n) for user in range(60) for n, item in enumerate(rng.choice(80, 25, replace=False))]
    pd.DataFrame(rows, columns=["user", "item", "time"]).to_csv(clone / "config" / "tiny.csv", index=False)
    plan = yaml.safe_load((ROOT / "config" / "ncf.yaml").read_text())
    plan["seeds_file"] = "smoke-seeds.txt"
    plan["output"] = {"results": "build/ncf/results", "figures": "build/ncf/figures"}
    plan["training"] = {"epochs": 2, "global_batch": 1024, "evaluation_batch": 1024}
    plan["data"] = {"source": "interactions", "file": "tiny.csv", "rows": len(rows), "negatives": 40}
    del plan["benchmark"]
    path = clone / "config" / "tiny.yaml"
    path.write_text(yaml.safe_dump(plan))
    return path


def test_the_ncf_study_runs_whole_and_replays(clone):
    path = small_ncf(clone)
    run("snakemake", "--cores", "2", "--configfile", path, cwd=clone)
    plan = load_plan(path)
    found = fingerprints(clone, plan)
    assert len(found) == 16
    metrics = {key: value[2] for key, value in found.items()}
    for seed in plan.seeds:
        one, two = (metrics[f"x86_64_v3-fp32-noxla-{workers}w", seed]["loss"] for workers in (1, 2))
        assert one == pytest.approx(two, rel=1e-5)
    shutil.rmtree(clone / "ledger")
    again = "x86_64_v3-amp-xla-2w"
    data = clone / "build" / "data" / plan.data_digest
    last = plan.seeds[-1]
    done = run(
        *("seedstudy", "train", "--plan", path, "--configuration", again, "--seed", last),
        *("--data", data, "--ledger", clone / "ledger"),
        cwd=clone,
    )
    assert done.returncode == 0
    assert fingerprints(clone, plan) == {(again, last): found[again, last]}

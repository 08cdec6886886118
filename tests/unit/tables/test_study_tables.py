"""The tables of a study: layout of the reference tables, unrounded CSV, no TensorFlow, one line on another plan."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from seedstudy.imports.study import read_study
from seedstudy.reference import reference_path
from seedstudy.statistics.comparison import compare_family
from seedstudy.study import load_plan
from seedstudy.tables.frames import arm_label
from seedstudy.tables.study import write_tables
from seedstudy.tables.text import digits_for

ROOT = Path(__file__).parents[3]
SEEDS = 20


@pytest.fixture(scope="module")
def plan_path(tmp_path_factory):
    """The default plan with twenty seeds of its own."""
    folder = tmp_path_factory.mktemp("plan")
    (folder / "seeds.txt").write_text("".join(f"{seed}\n" for seed in range(100, 100 + SEEDS)))
    text = (ROOT / "config" / "default.yaml").read_text().replace("../seeds.txt", "seeds.txt")
    (folder / "plan.yaml").write_text(text)
    return folder / "plan.yaml"


@pytest.fixture(scope="module")
def runs_path(plan_path):
    plan, rng, rows = load_plan(plan_path), np.random.default_rng(1), []
    base = rng.normal(0.64, 0.0038, SEEDS)
    for configuration in plan.configurations:
        for seed, value in zip(plan.seeds, base + rng.normal(0, 0.0004, SEEDS), strict=True):
            lost = configuration.precision == "amp" and configuration.workers == 2 and seed == 103
            rows.append(
                {
                    "configuration": configuration.id,
                    "model": "wide_deep",
                    "dataset": "generated",
                    "architecture": configuration.architecture,
                    "precision": configuration.precision,
                    "xla": str(configuration.xla).lower(),
                    "workers": configuration.workers,
                    "seed": seed,
                    "status": "diverged" if lost else "ok",
                    "map12": "" if lost else repr(float(value)),
                    "plan_digest": plan.plan_digest,
                }
            )
    path = plan_path.parent / "runs.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def written(runs_path, plan_path, tmp_path_factory):
    output = tmp_path_factory.mktemp("results")
    write_tables(runs_path, plan_path, output)
    return output


def test_one_table_a_family_and_the_stability(written, plan_path):
    names = {"stability"} | {f"{family.name}_impact" for family in load_plan(plan_path).families}
    assert {path.name for path in written.iterdir()} == {f"{name}{end}" for name in names for end in (".csv", ".md")}


def test_stability_has_the_columns_of_the_reference(written, runs_path, plan_path):
    table = pd.read_csv(written / "stability.csv")
    reference = pd.read_csv(reference_path("widedeep_stability.csv")).rename(columns={"gpus": "workers"})
    assert set(reference.columns) <= set(table.columns)
    assert len(table) == 16
    runs = read_study(runs_path, plan_path)[1]
    first = runs[runs.configuration == table.configuration[0]].map12
    assert (table["mean"][0], table["std"][0]) == pytest.approx((first.mean(), first.std(ddof=1)), rel=1e-14)
    assert (table["min"][0], table["max"][0], table["n"][0]) == (first.min(), first.max(), SEEDS)


def test_amp_impact_has_the_columns_of_the_reference(written):
    table = pd.read_csv(written / "amp_impact.csv")
    reference = pd.read_csv(reference_path("widedeep_amp_impact.csv")).rename(columns={"gpus": "workers"})
    assert set(reference.columns) - {"n"} <= set(table.columns)
    assert len(table) == 8
    assert set(table.verdict) <= {"EQUIVALENT", "EQUIVALENT, NONZERO", "DIFFERENT", "INCONCLUSIVE"}
    assert set(table.method) == {"paired"}


def test_tables_hold_what_the_engine_says(written, runs_path, plan_path):
    plan, runs = read_study(runs_path, plan_path)
    family = next(family for family in plan.families if family.name == "xla")
    cells = compare_family(runs, family, "map12", plan.margin.value, 0.05, True, 0).cells
    table = pd.read_csv(written / "xla_impact.csv")
    assert table.sentence.tolist() == [cell.verdict.sentence for cell in cells]
    assert table.ks_pvalue.to_numpy() == pytest.approx([cell.ks.p_exact for cell in cells], rel=1e-15)


def test_failures_stand_beside_the_numbers(written):
    assert (written / "stability.md").read_text().count("| 1 diverged of 20 |") == 4
    table = pd.read_csv(written / "amp_impact.csv")
    assert table.diverged_amp.sum() == 4
    assert table[table.workers == 2].sentence.str.contains("amp 1 diverged of 20").all()


def test_tables_are_the_same_to_the_byte(written, runs_path, plan_path, tmp_path):
    for path in write_tables(runs_path, plan_path, tmp_path):
        assert path.read_bytes() == (written / path.name).read_bytes()


def test_another_plan_and_missing_runs_are_one_line(runs_path, plan_path, tmp_path, capsys):
    runs = pd.read_csv(runs_path, dtype=str, keep_default_na=False)
    assert capsys.readouterr().err == ""
    runs.assign(plan_digest="0000")[runs.seed != "104"].to_csv(tmp_path / "runs.csv", index=False)
    write_tables(tmp_path / "runs.csv", plan_path, tmp_path)
    (line,) = capsys.readouterr().err.splitlines()
    assert "made under another plan" in line
    assert "16 of the 320 planned runs are missing" in line


@pytest.mark.slow
def test_tables_need_no_tensorflow(runs_path, plan_path, tmp_path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom seedstudy.tables.study import write_tables\n"
        "write_tables(*map(Path, sys.argv[1:]))\nassert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, runs_path, plan_path, tmp_path], check=True, cwd=ROOT)


def test_labels_and_digits():
    assert arm_label("precision", "fp32|tf32") == "full"
    assert arm_label("precision", "amp") == "amp"
    assert arm_label("workers", "2") == "workers_2"
    assert digits_for(2e-4) == 5  # as the reference prints
    assert digits_for(0.5) == 2
    assert digits_for(3.0) == 1

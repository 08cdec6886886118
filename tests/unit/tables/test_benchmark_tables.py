"""Tables of speed: ratios worked by hand, dashes where an arm is missing, what was measured where."""

import json
import math

import pandas as pd
import pytest

from seedstudy.errors import UserError
from seedstudy.imports.benchmarks import merge_benchmarks, read_benchmarks
from seedstudy.reference import reference_path
from seedstudy.study import ROOT
from seedstudy.tables.benchmarks import throughput_table, time_table, write_benchmark_tables
from tests.unit.benchmark_rows import every_row, row

NAMES = ("benchmark_training", "benchmark_evaluation", "benchmark_latency", "time_to_train")


def path_of(folder, rows):
    (folder / "rows.json").write_text(json.dumps(rows))
    merge_benchmarks([folder / "rows.json"], folder / "benchmarks.csv")
    return folder / "benchmarks.csv"


def runs_of(seconds):
    """Runs with these seconds of training, by precision."""
    rows = [
        {
            "configuration": f"x86_64_v3-{precision}-xla-1w",
            "architecture": "x86_64_v3",
            "workers": "1",
            "precision": precision,
            "xla": "true",
            "seed": str(seed),
            "status": "ok",
            "map12": 0.6 + seed / 100,
            "train_seconds": str(value),
            "evaluation_seconds": "0.5",
            "plan_digest": "made up",
            "commit": "ba9876543210",
            "machine": "made up, 4 cores",
        }
        for precision, values in seconds.items()
        for seed, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def written(folder, rows, runs):
    runs.to_csv(folder / "runs.csv", index=False)
    paths = (path_of(folder, rows), folder / "runs.csv", ROOT / "config" / "smoke.yaml", folder / "out")
    assert [path.name for path in write_benchmark_tables(*paths)] == [f"{n}{e}" for n in NAMES for e in (".csv", ".md")]
    return {path.name: path.read_text() for path in (folder / "out").iterdir()}


def cells(text):
    """Rows of the Markdown table of a page, as lists of cells."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in [lines[0], *lines[2:]]]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    runs = runs_of({"fp32": [60, 20, 10], "amp": [40, 8, 10]})
    return written(tmp_path_factory.mktemp("tables"), every_row(), runs)


def test_ratios_are_those_worked_by_hand(tmp_path):
    rows = read_benchmarks(path_of(tmp_path, every_row()))
    table = throughput_table(rows[rows.kind == "training"])
    assert table.workers.tolist() == [1, 2]
    assert table.amp_speedup.tolist() == pytest.approx([1.5, 4 / 3], rel=1e-15)
    assert table.strong_scaling_full.tolist() == [1.0, 1.8]
    assert table.strong_scaling_amp.tolist() == [1.0, 1.6]
    assert table.samples_per_s_low_amp.tolist() == [0.9 * 1500, 0.9 * 2400]


def test_scaling_is_against_the_fewest_workers_at_the_same_batch(tmp_path):
    more = [row(batch=64, speed=300.0), row(workers=2, batch=64, speed=450.0), row(workers=2, batch=9000)]
    rows = read_benchmarks(path_of(tmp_path, [row("amp", 2), row(), row(workers=2), *more]))
    table = throughput_table(rows).set_index(["workers", "batch"])
    full = {(1, 64): 1.0, (1, 1024): 1.0, (2, 64): 1.5, (2, 1024): 1.8, (2, 9000): 1.0}
    assert table.strong_scaling_full.to_dict() == full
    assert list(table.index) == list(full)
    # AMP was not measured with one worker, so there is nothing to compare two with.
    assert table.strong_scaling_amp.isna().all()


def test_columns_are_those_of_the_reference(texts, tmp_path):
    for name in ("training", "evaluation", "latency"):
        (tmp_path / f"{name}.csv").write_text(texts[f"benchmark_{name}.csv"])
    names = {"gpus": "workers", "batch_per_gpu": "batch"}
    reference = pd.read_csv(reference_path("widedeep_training_throughput.csv")).rename(columns=names)
    training = pd.read_csv(tmp_path / "training.csv")
    assert set(reference.columns) <= set(training.columns)
    evaluation = pd.read_csv(tmp_path / "evaluation.csv")
    assert set(training.columns) - set(evaluation.columns) == {"strong_scaling_full", "strong_scaling_amp"}
    latency = pd.read_csv(tmp_path / "latency.csv")
    assert latency.precision.tolist() == ["fp32", "amp"] * 2
    assert latency.latency_p99_ms.tolist() == [20.0] * 4


def test_pages_hold_medians_spread_and_where_they_were_measured(texts):
    heading, first, second = cells(texts["benchmark_training.md"])
    assert heading[:5] == ["architecture", "workers", "xla", "batch", "samples/s full"]
    assert first[4:] == ["1,000 (900 to 1,200)", "1,500 (1,350 to 1,800)", "1.50", "1.00", "1.00", "25.0 %", "25.0 %"]
    assert second[6:9] == ["1.33", "1.80", "1.60"]
    measured = "Measured: commit 0123456789ab; machine made up, 2 cores; date 2026-12-03."
    assert all(measured in texts[f"{name}.md"] for name in NAMES[:3])
    assert cells(texts["benchmark_latency.md"])[1][5:] == ["10.500", "10.000", "11.000", "12.000", "20.000"]


def test_time_to_train_is_the_median_beside_the_metric(texts):
    heading, line = cells(texts["time_to_train.md"])
    found = dict(zip(heading, line, strict=True))
    assert found["training s full"] == "20.00 (10.00 to 60.00)"
    assert found["training s amp"] == "10.00 (8.00 to 40.00)"
    assert (found["AMP speed-up"], found["evaluation s amp"]) == ("2.00", "0.50")
    assert (found["map12 full"], found["runs amp"]) == ("0.610", "3")
    assert "Measured: commit ba9876543210; machine made up, 4 cores." in texts["time_to_train.md"]


def test_missing_arms_are_dashes(tmp_path):
    runs = runs_of({"fp32": [20]}).drop(columns="evaluation_seconds")
    texts = written(tmp_path, [row()], runs)
    (line,) = cells(texts["benchmark_training.md"])[1:]
    assert line[4:] == ["1,000 (900 to 1,200)", "-", "-", "1.00", "-", "25.0 %", "-"]
    assert texts["benchmark_evaluation.md"].endswith("Not measured.\n")
    assert texts["benchmark_latency.csv"].count("\n") == 1
    (line,) = cells(texts["time_to_train.md"])[1:]
    assert line[3:] == ["1", "-", "0.600", "-", "20.00 (20.00 to 20.00)", "-", "-", "-", "-", "-", "-"]


def test_time_to_the_best_and_to_a_target_follow_from_the_curves():
    runs = runs_of({"fp32": [20, 40, 10], "amp": [20, 20, 20]})
    # Of four epochs: best in the third and second and fourth; .6 reached in the second, the first, and never.
    curves = [".5 .6 .7 .65", ".6 .61 .6 .6", ".1 .2 .3 .4"]
    runs["map12_curve"], runs["steps_per_epoch"] = curves + [".1 .2 .3 .4"] * 2 + [".6 .6 .6 .6"], "7"
    (found,) = time_table(runs, "map12", 0.6).to_dict("records")
    assert found["best_seconds_full"] == 15.0  # median of 15, 20, 10
    assert found["target_seconds_full"] == 10.0  # median of 10, 10, never
    assert found["best_seconds_amp"] == 20.0  # of 20, 20, 5: the first of equal ones
    assert found["target_seconds_amp"] == math.inf
    assert math.isnan(time_table(runs, "map12").target_seconds_full[0])


def test_runs_that_did_not_finish_have_no_time():
    runs = runs_of({"fp32": [20, 30], "amp": [10, 10]})
    runs.loc[runs.precision == "amp", "status"] = "failed"
    assert time_table(runs, "map12").runs_amp.isna().all()
    assert time_table(runs, "map12").train_seconds_full.tolist() == [25.0]
    assert time_table(runs.assign(status="failed"), "map12").empty


def test_a_time_that_is_none_is_one_line():
    runs = runs_of({"fp32": [20, "long"]})
    with pytest.raises(UserError, match="x86_64_v3-fp32-xla-1w, seed 1, column train_seconds: 'long' is no number"):
        time_table(runs, "map12")

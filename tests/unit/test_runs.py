"""Records are kept whole, once, and come back as they were."""

import math

import pytest

from seedstudy.collect import collect, runs_csv, runs_table
from seedstudy.errors import UserError
from seedstudy.imports.tidy import Layout, read_table
from seedstudy.runs import Epoch, Ledger, RunRecord
from seedstudy.study import ROOT, load_plan

LAYOUT = Layout("map12", ("configuration", "xla"))


def record(
    seed=1, status="ok", metric=0.1 + 0.2, configuration="a-fp32-xla-1w", run_digest="d", **changes
) -> RunRecord:
    fields = {
        "configuration": configuration,
        "model": "wide_deep",
        "dataset": "made up",
        "architecture": "a",
        "precision": "fp32",
        "compute_type": "float32",
        "xla": True,
        "workers": 1,
        "seed": seed,
        "status": status,
        "metrics": {"map12": metric} if status == "ok" else {},
        "curve": (
            Epoch(epoch=1, step=5, train_loss=0.5, metrics={"map12": 1 / 3}),
            Epoch(epoch=2, step=10, train_loss=None, metrics={}),
        ),
        "epochs": 2,
        "run_digest": run_digest,
        "plan_digest": "p",
        "provenance": {"commit": "c", "data_sha256": "h"},
    }
    return RunRecord(**(fields | changes))


def test_a_record_comes_back_bit_for_bit(tmp_path):
    ledger = Ledger(tmp_path, "d")
    ledger.write(record())
    assert ledger.read(1) == record()
    assert ledger.read(1).metrics["map12"] == 0.30000000000000004
    assert ledger.missing([1, 2]) == [2]


def test_a_finished_run_is_never_replaced_and_a_failed_one_only_on_request(tmp_path):
    ledger = Ledger(tmp_path, "d")
    ledger.write(record(seed=1, status="diverged"))
    with pytest.raises(UserError, match="finished already"):
        ledger.write(record(seed=1))
    ledger.write(record(seed=2, status="failed", cause="rank 0 ended with signal SIGKILL"))
    assert ledger.missing([1, 2]) == []
    assert ledger.missing([1, 2], retry_failed=True) == [2]
    ledger.write(record(seed=2))
    assert ledger.read(2).status == "ok"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seed": 1}'])
def test_a_damaged_record_is_named_not_believed(tmp_path, text):
    ledger = Ledger(tmp_path, "d")
    ledger.folder.mkdir()
    ledger.path(1).write_text(text)
    with pytest.raises(UserError, match=r"seed-1\.json"):
        ledger.missing([1])


def test_a_record_of_another_run_is_refused(tmp_path):
    Ledger(tmp_path, "d").write(record())
    (tmp_path / "d").rename(tmp_path / "e")
    with pytest.raises(UserError, match="was moved here"):
        Ledger(tmp_path, "e").read(1)


def test_a_half_written_file_is_never_a_record(tmp_path):
    ledger = Ledger(tmp_path, "d")
    ledger.folder.mkdir()
    (ledger.folder / ".seed-1.json.abc").write_text("{")
    assert ledger.missing([1]) == [1]


def test_the_table_reads_back_unrounded(tmp_path):
    path = tmp_path / "runs.csv"
    values = [0.1 + 0.2, math.nextafter(0.65, 1), 2 / 3]
    records = [record(seed=seed, metric=value) for seed, value in enumerate(values)]
    records.append(record(seed=9, status="diverged", cause="training loss not finite in epoch 2"))
    path.write_text(runs_csv(runs_table(records)))
    table = read_table(path, LAYOUT)
    assert table["map12"].tolist()[:3] == values
    assert math.isnan(table["map12"].iloc[3])
    assert table["status"].tolist() == ["ok"] * 3 + ["diverged"]
    assert table["xla"].tolist() == ["true"] * 4
    assert table["map12_curve"].iloc[0] == "0.3333333333333333 nan"


def test_collect_names_what_is_missing_and_orders_by_plan(tmp_path):
    plan = load_plan(ROOT / "config" / "smoke.yaml")
    with pytest.raises(UserError, match=r"lacks seed\(s\) 1, 2 of x86_64_v3-fp32-xla-1w"):
        collect(plan, tmp_path, tmp_path / "runs.csv")
    for configuration in reversed(plan.configurations):
        for seed in reversed(plan.seeds):
            Ledger(tmp_path, configuration.run_digest).write(
                record(seed, configuration=configuration.id, run_digest=configuration.run_digest)
            )
    assert collect(plan, tmp_path, tmp_path / "runs.csv") == 16
    table = read_table(tmp_path / "runs.csv", LAYOUT)
    assert table["configuration"].drop_duplicates().tolist() == [c.id for c in plan.configurations]
    assert table["seed"].tolist() == ["1", "2"] * 8


def test_collect_refuses_runs_on_different_data(tmp_path):
    plan = load_plan(ROOT / "config" / "smoke.yaml")
    for number, configuration in enumerate(plan.configurations):
        for seed in plan.seeds:
            made = record(
                seed,
                configuration=configuration.id,
                run_digest=configuration.run_digest,
                provenance={"commit": "c", "data_sha256": "one" if number else "other"},
            )
            Ledger(tmp_path, configuration.run_digest).write(made)
    with pytest.raises(UserError, match="2 different data sets"):
        collect(plan, tmp_path, tmp_path / "runs.csv")

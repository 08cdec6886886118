"""Training logs of three kinds become one table of runs; each damage is one line that names the log."""

import json
import math

import pandas as pd
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto

from seedstudy.imports.tidy import Layout, read_table

DLLOGGER = ["--pattern", "{precision}/seed{seed}/log.json", "--format", "dllogger", "--metric", "hr@10"]
MLLOG = ["--pattern", "{precision}/run*.txt", "--format", "mllog", "--metric", "eval_accuracy"]
EVENTS = ["--pattern", "{precision}/seed{seed}", "--format", "tensorboard", "--metric", "val/map12"]


def record(step, data, kind="LOG"):
    content = {"timestamp": "1.5", "elapsedtime": "0.5", "type": kind, "step": step, "data": data}
    return f"DLLL {json.dumps(content)}\n"


def dllogger(*values, best=None):
    """A log as the reference's NCF writes it: parameters, one record an epoch, a summary that repeats the last."""
    lines = [record("PARAMETER", {"amp": True, "batch_size": 1024}), record([], {}, "METADATA")]
    lines += [record([epoch], {"hr@10": value, "train_time": 1.0}) for epoch, value in enumerate(values)]
    return "starting\n" + "".join(lines) + record([], {"hr@10": values[-1], "best_hr": max(values), "first_hit": best})


def mark(key, value, time_ms=0, **metadata):
    content = {"namespace": "", "time_ms": time_ms, "key": key, "value": value, "metadata": metadata}
    return f"0: :::MLLOG {json.dumps(content)}\n"


def mllog(seed, *values, status="success"):
    lines = [mark("seed", seed), mark("run_start", None, 1_000)]
    lines += [mark("eval_accuracy", value, 2_000, epoch_num=epoch) for epoch, value in enumerate(values)]
    return "noise\n" + "".join(lines) + mark("run_stop", None, 61_000, status=status)


def events(path, *scalars, tensor=False):
    """A TensorBoard file of (step, value)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        writer = RecordWriter(file)
        writer.write(Event(file_version="brain.Event:2").SerializeToString())
        for step, value in scalars:
            kind = {"tensor": make_tensor_proto(value)} if tensor else {"simple_value": value}
            summary = Summary(value=[Summary.Value(tag="val/map12", **kind)])
            writer.write(Event(step=step, summary=summary).SerializeToString())
    return path


@pytest.fixture
def logs(tmp_path):
    def write(**files):
        for name, content in files.items():
            path = tmp_path / "logs" / name.replace("__", "/").replace("_json", ".json").replace("_txt", ".txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / "logs"

    return write


@pytest.fixture
def imported(seedstudy, tmp_path):
    """Import a folder; what comes is read as any other table, and returned by seed or log."""

    def run(folder, *options, axes="precision", lost=0):
        output = tmp_path / "made" / "runs.csv"
        done = seedstudy("import", folder, *options, "--within", axes, "--output", output)
        assert done.code == 0, done
        metric = options[options.index("--metric") + 1]
        table = read_table(output, Layout(metric, tuple(axes.split(","))))
        assert done.err == f"{output}: {len(table)} runs, {lost} without a result\n"
        return table

    return run


@pytest.fixture
def refused(seedstudy, tmp_path):
    def run(folder, *options, said, axes="precision"):
        output = tmp_path / "runs.csv"
        seedstudy("import", folder, *options, "--within", axes, "--output", output).refused(said)
        assert not output.exists()

    return run


def test_dllogger_counts_the_summary_once(logs, imported):
    folder = logs(
        full__seed1__log_json=dllogger(0.1, 0.3, 0.2), full__seed2__log_json=dllogger(0.1, 0.25).replace("\n", "\r\n")
    )
    table = imported(folder, *DLLOGGER)
    assert table["hr@10"].tolist() == [0.2, 0.25]
    assert table["hr@10_curve"].tolist() == ["0.1 0.3 0.2", "0.1 0.25"]
    assert table["seed"].tolist() == ["1", "2"]
    assert table["amp"].tolist() == ["True", "True"]
    assert table["status"].tolist() == ["ok", "ok"]
    # What only the summary holds is final too.
    best = imported(folder, *DLLOGGER[:-1], "best_hr")
    assert best["best_hr"].tolist() == [0.3, 0.25]


def test_the_imported_table_is_compared_like_any_other(seedstudy, logs, imported, tmp_path):
    files = {
        f"{arm}__seed{seed}__log_json": dllogger(0.1, 0.3 + 0.01 * seed + (arm == "amp") * 0.1)
        for arm in ("full", "amp")
        for seed in (1, 2, 3)
    }
    imported(logs(**files), *DLLOGGER)
    options = ["--between", "precision=full,amp", "--metric", "hr@10", "--margin", "0.01", "--output"]
    seedstudy("compare", tmp_path / "made" / "runs.csv", *options, tmp_path / "cells.csv").accepted()
    assert pd.read_csv(tmp_path / "cells.csv").difference.tolist() == pytest.approx([0.1])


def test_dllogger_nan_is_a_failure_only_when_told(logs, imported, refused):
    folder = logs(full__seed1__log_json=dllogger(0.1, math.nan), full__seed2__log_json=dllogger(0.1, 0.2))
    refused(folder, *DLLOGGER, said=f"{folder}, full/seed1/log.json, column hr@10: is nan, not a finite number")
    table = imported(folder, *DLLOGGER, "--missing", "diverged", lost=1)
    assert table["status"].tolist() == ["diverged", "ok"]
    assert table["hr@10_curve"].iloc[0] == "0.1 nan"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no DLLogger record"),
        ("epoch 1: 0.5\n", "holds no DLLogger record"),
        (dllogger(0.1)[:-20], ", line 5: is no JSON; it is cut off or damaged"),
        (dllogger(0.1, 0.2) + dllogger(0.1), ", line 10: repeats or precedes an earlier step of hr@10"),
        (record([0], {"hr@10": "good"}), ", line 1, field hr@10: 'good' is no number"),
        (record([0], {"hr@10": True}), ", line 1, field hr@10: True is no number"),
        (record([0], {"hr@10": 10**400}), "is no number"),
        (record([0], [0.1]), ", line 1: is neither a LOG record with data nor METADATA"),
        (record([0], {"hr@10": 0.1}, "LOGS"), ", line 1: is neither a LOG record with data nor METADATA"),
        (record([[0]], {"hr@10": 0.1}), ", line 1, field step: [0] is no number"),
        (record("x", {"hr@10": 0.1}), ", line 1, field step: 'x' is no number"),
        (record([0], {"hit": 0.1}), "no log holds the metric 'hr@10'; they hold hit"),
        (record("PARAMETER", {"hr": 0.1}), ", full/seed1/log.json, column hr@10: is nan, not a finite number"),
        ("DLLL [1]\n", ", line 1: is no JSON object"),
        ('DLLL {"type": 1, "type": 2}\n', ", line 1: names a key twice"),
        (dllogger(0.1).encode("utf-16-le"), ", line 1: holds a NUL character"),
        (b"\xff\xfe\x00", "is not utf-16 text"),
        (bytes(range(256)), "is not utf-8 text (byte 128)"),
    ],
)
def test_a_damaged_dllogger_file_is_one_line(logs, refused, content, said):
    folder = logs(full__seed1__log_json=content)
    refused(folder, *DLLOGGER, said=said)


def test_mllog_gives_seed_status_and_time(logs, imported):
    folder = logs(
        full__run1_txt=mllog(7, 0.1, 0.6),
        full__run2_txt=mllog(8, 0.1, 0.7),
        amp__run1_txt=mllog(7, 0.2, status="aborted"),
    )
    table = imported(folder, *MLLOG, lost=1).sort_values(["precision", "seed"], ascending=[False, True])
    assert table["seed"].tolist() == ["7", "8", "7"]
    assert table["status"].tolist() == ["ok", "ok", "failed"]
    assert table["eval_accuracy"].tolist()[:2] == [0.6, 0.7]
    assert table["train_seconds"].astype(float).tolist() == [60.0] * 3


def test_mllog_without_an_ending_is_a_failure_only_when_told(logs, imported):
    cut = "".join(mllog(8, 0.1, 0.7).splitlines(keepends=True)[:-1])
    folder = logs(full__run1_txt=mllog(7, 0.6), full__run2_txt=cut, full__run3_txt=mark("seed", 9))
    table = imported(folder, *MLLOG, "--missing", "failed", lost=2)
    assert table["status"].tolist() == ["ok", "failed", "failed"]
    assert table["eval_accuracy_curve"].fillna("").tolist() == ["0.6", "0.1 0.7", ""]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "full/run1.txt: holds no MLPerf record"),
        (mllog(7, 0.1)[:-9], ", line 5: is no JSON"),
        (mllog(7, 0.1, status="gone"), ", line 5, field metadata.status: 'gone' is none of success, aborted"),
        (mllog(7, 0.1) + mllog(7, 0.2), ", line 8: starts a second run; give one file a run"),
        (mllog(7, 0.1) + mark("seed", 8), ", line 6: gives seed 8 after seed 7"),
        (mark(5, 0.1), ", line 1: has no key"),
        (mark("run_start", None, "late"), ", line 1, field time_ms: 'late' is no number"),
        (mark("eval_accuracy", 10**400), ", line 1, field eval_accuracy: "),
        (mark("seed", 7), "full/run1.txt: does not say how the run ended; count such runs by --missing failed"),
        (mllog(7), ", full/run1.txt, column eval_accuracy: is nan, not a finite number, though the run is ok"),
        (mllog(7, 0.5).replace('"seed"', '"seeds"'), ", full/run1.txt, column seed: is empty"),
        (mllog("\ud800", 0.5), "column 'seed': holds a character that is no Unicode"),
    ],
)
def test_a_damaged_mllog_file_is_one_line(logs, refused, content, said):
    refused(logs(full__run1_txt=content, full__run2_txt=mllog(9, 0.3)), *MLLOG, said=said)


@pytest.mark.parametrize("tensor", [False, True])
def test_tensorboard_folders_and_restarts(tmp_path, imported, tensor):
    folder = tmp_path / "logs"
    events(folder / "full" / "seed1" / "a.tfevents.1", (1, 0.5), (2, 0.25), tensor=tensor)
    # A restarted run writes step 2 again; the last word counts.
    events(folder / "full" / "seed1" / "a.tfevents.2", (2, 0.75), (3, 0.875), tensor=tensor)
    events(folder / "full" / "seed2" / "a.tfevents.1", (1, 0.5), tensor=tensor)
    table = imported(folder, *EVENTS)
    assert table["val/map12"].tolist() == [0.875, 0.5]
    assert table["val/map12_curve"].tolist() == ["0.5 0.75 0.875", "0.5"]


def test_damaged_tensorboard_files_are_one_line(tmp_path, refused):
    folder = tmp_path / "logs"
    path = events(folder / "full" / "seed1" / "a.tfevents.1", (1, 0.5), (2, 0.25))
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[-8] ^= 255
    for damaged, said in (
        (content[:-7], "is damaged or cut off after 2 event(s)"),
        (bytes(flipped), "is damaged or cut off after 2 event(s)"),
        (bytes(range(256)), "is damaged or cut off after 0 event(s)"),
        (b"", "holds no event"),
    ):
        path.write_bytes(damaged)
        refused(folder, *EVENTS, said=f"{path}: {said}")
    path.unlink()
    refused(folder, *EVENTS, said=f"{path.parent}: holds no event file (*tfevents*)")

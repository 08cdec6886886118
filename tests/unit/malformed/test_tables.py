"""Records, and the tables that seedstudy made itself: each fault is one line. Others' tables: see `unit.imports`."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedstudy.collect import runs_csv, runs_table
from seedstudy.evidence import Repeat, SourceRun, rows_csv
from seedstudy.runs import Epoch, Ledger, RunRecord
from seedstudy.study import load_plan
from tests.unit.benchmark_rows import every_row
from tests.unit.malformed.conftest import written

TRAIN_AGAIN = "remove the file to train this seed"
COLLECT_AGAIN = "mend it, or collect the runs again"
FIRST = "x86_64_v3-fp32-xla-1w"


def records_of(plan):
    """A sound record of each planned run."""
    return [
        RunRecord(
            **{name: getattr(c, name) for name in ("architecture", "precision", "compute_type", "xla", "workers")},
            configuration=c.id,
            model="wide_deep",
            dataset="made up",
            seed=seed,
            status="ok",
            metrics={"map12": 0.5 + seed / 100},
            curve=(Epoch(epoch=1, step=5, train_loss=0.5, metrics={"map12": 0.4}),),
            epochs=1,
            steps_per_epoch=5,
            train_seconds=2.0,
            weights_digest="ab",
            run_digest=c.run_digest,
            plan_digest=plan.plan_digest,
            provenance={"commit": "c", "machine": "m", "data_sha256": "h"},
        )
        for c in plan.configurations
        for seed in plan.seeds
    ]


@pytest.fixture
def records(plan):
    return records_of(load_plan(plan))


@pytest.fixture
def runs(plan, records):
    """Path of the study's table of runs."""
    path = plan.parent / "runs.csv"
    path.write_text(runs_csv(runs_table(records)))
    return path


# Content of the record of the first seed, or what is changed in it; place after the file's name, remedy.
RECORDS = {
    "empty": ("", ", line 1:", f"is no JSON; {TRAIN_AGAIN}"),
    "cut off": ('{"seed": 1,\n"xla": t', ", line 2:", f"is no JSON; {TRAIN_AGAIN}"),
    "list": ("[]", ":", f"is no run record; {TRAIN_AGAIN}"),
    "binary": (bytes(range(256)), ":", "is not UTF-8 text (byte 128); save it as UTF-8"),
    "nested beyond measure": ("[" * 100_000, ":", f"is no JSON; {TRAIN_AGAIN}"),
    "number of 5,000 digits": (f'{{"seed": {"1" * 5000}}}', ":", f"is no JSON; {TRAIN_AGAIN}"),
    "key twice": ('{"seed": 1, "seed": 1}', ":", "names a key twice; keep one"),
    "another seed's": ({"seed": 2}, ":", "records seed 2 of"),
    "another configuration's": ({"run_digest": "0" * 16}, ":", "it was moved here, so remove it"),
    "seed as text": ({"seed": "1"}, ": seed:", "should be a valid integer"),
    "unknown status": ({"status": "done"}, ": status:", "should be 'ok', 'diverged' or 'failed'"),
    "unknown key": ({"colour": 1}, ": colour:", "unknown key; remove it"),
    "metric NaN": ({"metrics": {"map12": float("nan")}}, ": metrics.map12:", "should be a finite number"),
    "no metric": ({"metrics": {}}, ": metrics.map12:", f"is missing, though the run is ok; {TRAIN_AGAIN}"),
    "infinite time": ({"train_seconds": float("inf")}, ": train_seconds:", "should be a finite number"),
    "workers beyond int32": ({"workers": 2**40}, ": workers:", "should be less than or equal to 2147483647"),
    "epoch without a step": ({"curve": [{"epoch": 1}]}, ": curve.0.step:", "is missing; add it"),
    "no hash of the data": ({"provenance": {}}, ": provenance.data_sha256:", f"is no text; {TRAIN_AGAIN}"),
    "list as hash of the data": ({"provenance": {"data_sha256": []}}, ": provenance.data_sha256:", TRAIN_AGAIN),
}


@pytest.mark.parametrize("case", RECORDS)
def test_a_bad_record_is_one_line(collect, plan, records, case):
    content, place, said = RECORDS[case]
    for record in records:
        Ledger(plan.parent / "ledger", record.run_digest).write(record)
    path = Ledger(plan.parent / "ledger", records[0].run_digest).path(1)
    written(path, json.dumps(json.loads(path.read_text()) | content) if isinstance(content, dict) else content)
    collect().refused(f"seedstudy: {path}{place} ", said)


def test_a_ledger_that_cannot_be_looked_into_is_one_line(seedstudy, plan):
    ledger = plan.parent / ("a" * 300)
    done = seedstudy("collect", "--plan", plan, "--ledger", ledger, "--output", plan.parent / "o")
    done.refused(f"seedstudy: {ledger}", "cannot be read: File name too long")


@pytest.mark.parametrize("output", [".", "plan.yaml/runs.csv"])
def test_an_output_that_cannot_be_written_is_one_line(seedstudy, plan, records, output):
    for record in records:
        Ledger(plan.parent / "ledger", record.run_digest).write(record)
    path = plan.parent / output
    done = seedstudy("collect", "--plan", plan, "--ledger", plan.parent / "ledger", "--output", path)
    done.refused(f"seedstudy: {path}: cannot be written: ", "name another place")


# Column and value of the first run; who reads it; what is said after the file's name, remedy.
EVERY = ("tables", "figures", "benchmark-tables", "audit-table")
RUNS = {
    "seed as text": ("seed", "x", EVERY, ", line 2, column seed:", COLLECT_AGAIN),
    "negative seed": ("seed", "-1", EVERY, ", line 2, column seed:", COLLECT_AGAIN),
    "workers as text": ("workers", "two", EVERY, ", line 2, column workers:", COLLECT_AGAIN),
    "no worker": ("workers", "0", EVERY, ", line 2, column workers:", COLLECT_AGAIN),
    "half a worker": ("workers", "1.5", EVERY, ", line 2, column workers:", COLLECT_AGAIN),
    "workers beyond int64": ("workers", "9" * 25, EVERY, ", line 2, column workers:", COLLECT_AGAIN),
    "unknown precision": ("precision", "fp8", EVERY, ", line 2, column precision:", COLLECT_AGAIN),
    "XLA perhaps": ("xla", "maybe", EVERY, ", line 2, column xla:", f"is not true or false; {COLLECT_AGAIN}"),
    "unknown status": ("status", "done", EVERY, ", line 2, column status:", "'done' is none of ok, diverged, failed"),
    "metric as text": ("map12", "good", EVERY, ", line 2, column map12:", "'good' is no number"),
    "curve of text": ("map12_curve", "a b", EVERY[1:3], f", {FIRST}, seed 1, column map12_curve:", "mend or empty it"),
    "steps as text": ("steps_per_epoch", "x", EVERY[1:3], f", {FIRST}, seed 1, column steps_per_epoch:", "mend it"),
    "no step": ("steps_per_epoch", "0", EVERY[1:3], f", {FIRST}, seed 1, column steps_per_epoch:", "mend it"),
    "steps of 5,000 digits": ("steps_per_epoch", "1" * 5000, EVERY[1:3], f", {FIRST}, seed 1, column", "mend it"),
    "time as text": ("train_seconds", "long", EVERY[2:3], f", {FIRST}, seed 1, column train_seconds:", "mend or empty"),
    "negative time": ("train_seconds", "-1", EVERY[2:3], f", {FIRST}, seed 1, column train_seconds:", "mend or empty"),
    "infinite time": ("train_seconds", "inf", EVERY[2:3], f", {FIRST}, seed 1, column train_seconds:", "mend or empty"),
}


@pytest.fixture
def read(seedstudy, plan, runs):
    """Run a command that reads the table of runs; all its other files are sound."""
    folder = plan.parent
    (folder / "rows.json").write_text(json.dumps(every_row()))
    made = seedstudy("benchmark-collect", folder / "rows.json", "--output", folder / "benchmarks.csv")
    assert made.code == 0
    (folder / "repeats.csv").write_text(REPEATS)

    def run(command, table=runs):
        before = {
            "benchmark-tables": ["--benchmarks", folder / "benchmarks.csv"],
            "audit-table": [folder / "repeats.csv"],
        }
        return seedstudy(
            command, *before.get(command, []), "--runs", table, "--plan", plan, "--output", folder / "made"
        )

    return run


@pytest.mark.parametrize("case", RUNS)
def test_a_bad_table_of_the_study_is_one_line(read, runs, case):
    column, value, commands, place, said = RUNS[case]
    rows = list(csv.reader(runs.read_text().splitlines()))
    rows[1][rows[0].index(column)] = value
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    runs.write_text(text.getvalue())
    for command in commands:
        read(command).refused(f"seedstudy: {runs}{place}", said)


@pytest.mark.parametrize("column", ["configuration", "seed", "xla", "map12", "plan_digest"])
def test_a_table_of_the_study_without_a_column_is_one_line(read, runs, column):
    runs.write_text(runs.read_text().replace(column, "other", 1))
    for command in EVERY:
        read(command).refused(f"seedstudy: {runs}: has no column '{column}'")


def test_a_table_of_the_study_may_be_parquet(read, runs, tmp_path, records):
    frame = runs_table(records).drop(columns=["cause", "evaluation_seconds", "samples_per_second"])
    path = tmp_path / "runs.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    for command in EVERY:
        read(command, path).accepted()
    listed = frame.assign(map12_curve=[[0.4]] * len(frame))
    pq.write_table(pa.Table.from_pandas(listed, preserve_index=False), path)
    read("figures", path).refused(f"seedstudy: {path}, column map12_curve: holds list<", "write it as text")


SOURCES = rows_csv(
    [
        SourceRun(configuration=FIRST, seed=seed, stream=stream, value=0.5 + seed / 100 + len(stream) / 1000)
        for seed in (1, 2, 3)
        for stream in ("none", "weights", "order")
    ],
    SourceRun,
)
REPEATS = rows_csv(
    [
        Repeat(
            configuration=FIRST,
            seed=seed,
            threads=1,
            planned=True,
            bitwise=True,
            before=0.5,
            again=0.5,
            xla=True,
            determinism=True,
            product_types="float32",
            instruction_set="avx2",
        )
        for seed in (1, 2)
    ],
    Repeat,
)
LINE = REPEATS.splitlines(keepends=True)
OF_SOURCES, OF_REPEATS = ["sources-table"], ["audit-table"]
# Command, content; what is said after the file's name, remedy.
EVIDENCE = {
    "empty": (OF_SOURCES, "", ":", "is empty; give a header line"),
    "header only": (OF_SOURCES, SOURCES.splitlines()[0], ":", "holds a header only; measure again"),
    "binary": (OF_SOURCES, bytes(range(256)), ":", "is not utf-8 text (byte 128); save it as UTF-8"),
    "column renamed": (OF_SOURCES, SOURCES.replace("value", "map12"), ":", "has no column 'value'; measure again"),
    "column added": (OF_SOURCES, SOURCES.replace("\n", ",1\n"), ", line 2, column 1:", "unknown key; remove it"),
    "short row": (OF_SOURCES, f"{SOURCES}a,1\n", ", line 11:", "where the header has 4; complete the line"),
    "text as value": (OF_SOURCES, SOURCES.replace("0.514", "good"), ", line 2, column value:", "a valid number"),
    "value NaN": (OF_SOURCES, SOURCES.replace("0.514", "nan"), ", line 2, column value:", "a finite number"),
    "seed as text": (OF_SOURCES, SOURCES.replace(",1,none", ",x,none"), ", line 2, column seed:", "a valid integer"),
    "seed beyond int64": (OF_SOURCES, SOURCES.replace(",1,none", f",{2**63},none"), ", line 2, column seed:", "less"),
    "no configuration": (OF_SOURCES, SOURCES.replace(FIRST, "", 1), ", line 2, column configuration:", "add it"),
    "run twice": (OF_SOURCES, SOURCES + SOURCES.splitlines()[1], ", line 11:", "repeats the run of"),
    "no run as it is": (OF_SOURCES, SOURCES.replace("none", "plain"), ", line 2:", "no run of stream none; measure"),
    "seed without a stream": (OF_SOURCES, SOURCES.rpartition(FIRST)[0], ", line 8:", "no run of stream order; measure"),
    "header of repeats only": (OF_REPEATS, LINE[0], ":", "holds a header only; measure again"),
    "text as truth": (OF_REPEATS, REPEATS.replace("True", "perhaps", 1), ", line 2, column planned:", "valid boolean"),
    "no thread": (OF_REPEATS, REPEATS.replace(",1,1,", ",1,0,", 1), ", line 2, column threads:", "equal to 1"),
    "text as metric": (OF_REPEATS, REPEATS.replace("0.5", "good", 1), ", line 2, column before:", "valid number"),
    "infinite metric": (OF_REPEATS, REPEATS.replace("0.5", "inf", 1), ", line 2, column before:", "a finite number"),
    "repeat twice": (OF_REPEATS, REPEATS + LINE[1], ", line 4:", "remove one"),
    "NUL": (OF_REPEATS, f"{REPEATS}\0", ", line 4:", "holds a NUL character"),
    "open quote": (OF_REPEATS, REPEATS.replace("avx2", '"avx2', 1), ", line 2:", "that nothing closes; close it"),
}


@pytest.mark.parametrize("case", EVIDENCE)
def test_bad_evidence_is_one_line(seedstudy, read, plan, case):
    (command,), content, place, said = EVIDENCE[case]
    path = plan.parent / "repeats.csv"
    written(path, content)
    if command == "audit-table":
        done = read(command)
    else:
        done = seedstudy(command, path, "--plan", plan, "--output", plan.parent / "made")
    done.refused(f"seedstudy: {path}{place} ", said)


def test_sound_tables_are_accepted(seedstudy, read, plan):
    for command in EVERY:
        read(command).accepted()
    (plan.parent / "sources.csv").write_text(SOURCES)
    seedstudy("sources-table", plan.parent / "sources.csv", "--plan", plan, "--output", plan.parent / "made").accepted()


def test_repeats_of_another_study_are_one_line(read, runs):
    (runs.parent / "repeats.csv").write_text(REPEATS.replace(FIRST, "mars-fp32-xla-1w"))
    read("audit-table").refused(f"seedstudy: {runs}: has no run of mars-fp32-xla-1w", "give the table of that study")

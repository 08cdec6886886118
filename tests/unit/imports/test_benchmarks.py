"""The table of benchmarks: merged and read again without loss, faults in one line."""

import json

import pandas as pd
import pytest

from seedstudy.cli import main
from seedstudy.errors import UserError
from seedstudy.imports.benchmarks import merge_benchmarks, read_benchmarks
from tests.unit.benchmark_rows import every_row, row


def merged(tmp_path, *files):
    paths = [tmp_path / f"{number}.json" for number in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    merge_benchmarks(paths, tmp_path / "results" / "benchmarks.csv")
    return tmp_path / "results" / "benchmarks.csv"


def test_rows_keep_columns_order_and_every_digit(tmp_path):
    rows = every_row()
    rows[0]["step_seconds"] = 0.1 + 0.2
    path = merged(tmp_path, rows[:3], rows[3:])
    assert path.read_text().splitlines()[0] == ",".join(rows[0])
    table = read_benchmarks(path)
    expected = pd.DataFrame(rows).assign(xla="true")
    pd.testing.assert_frame_equal(table, expected, check_dtype=False, check_exact=True)
    assert path.read_text().splitlines()[1].split(",")[12:18] == ["0.30000000000000004", "", "", "", "", ""]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[{", r"0\.json, line 1: is no JSON; measure"),
        ({}, r"0\.json: is no list of measured rows"),
        ([], r"0\.json: is no list of measured rows"),
        ([1], r"0\.json, row 1: the document: "),
        ([row(), row("amp", batch=0)], r"0\.json, row 2: batch: "),
        ([row(speed=float("inf"))], r"0\.json, row 1: samples_per_second: "),
        ([row(samples_per_second_low=1001.0)], r"0\.json, row 1: .* outside its own range"),
        ([row() | {"steps_per_second": 1.0}], r"0\.json, row 1: steps_per_second: unknown key; remove it"),
        ([row(), row()], r"0\.json, row 2: repeats training of \S+ at batch 1024, as \S+0\.json, row 1; remove one"),
        ([row(), row(precision="tf32", speed=1.0)], "row 2: repeats training"),
    ],
)
def test_a_fault_of_a_measurement_is_one_line(tmp_path, content, message):
    with pytest.raises(UserError, match=message):
        merged(tmp_path, content)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("precision", "fp16", "line 3, column precision: "),
        ("samples_per_second", "", "line 3, column samples_per_second: is missing; add it"),
        ("latency_p50", "fast", "line 3, column latency_p50: "),
        ("workers", "1", "line 3: repeats training"),
    ],
)
def test_a_fault_of_the_table_is_one_line(tmp_path, column, value, message):
    table = pd.read_csv(merged(tmp_path, [row(), row(workers=2)]), dtype=str, keep_default_na=False)
    table.loc[1, column] = value
    table.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(UserError, match=message):
        read_benchmarks(tmp_path / "bad.csv")


def test_a_table_without_rows_is_one_line(tmp_path):
    path = merged(tmp_path, [row()])
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(UserError, match="holds a header only"):
        read_benchmarks(path)


def test_the_command_collects_in_the_order_of_the_files(tmp_path, monkeypatch, capsys):
    for name, content in (("b", [row()]), ("a", [row("amp")])):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    files = [str(tmp_path / f"{name}.json") for name in "ba"]
    monkeypatch.setattr("sys.argv", ["seedstudy", "benchmark-collect", *files, "--output", str(tmp_path / "out.csv")])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert capsys.readouterr().err == f"{tmp_path / 'out.csv'}: 2 rows\n"
    assert read_benchmarks(tmp_path / "out.csv").precision.tolist() == ["fp32", "amp"]

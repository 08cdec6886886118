"""Odd tables that are right, with their numbers; tables and options that cannot answer the question."""

import codecs
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

GOOD = "arm,seed,m\na,1,0.50\na,2,0.52\na,3,0.51\nb,1,0.60\nb,2,0.63\nb,3,0.61\n"
COMPARE = ["--between", "arm=a,b", "--metric", "m", "--margin", "0.2", "--resamples", "0"]
FACTORS = ["--axis", "arm=a,b", "--metric", "m", "--margin", "0.2"]
SUMMARY = ["--within", "arm", "--metric", "m"]
COMMANDS = {"compare": COMPARE, "factors": FACTORS, "summary": SUMMARY}
GERMAN = GOOD.replace(",", ";").replace(".", ",")
QUOTED = "".join('"' + line.replace(",", '","') + '"\n' for line in GOOD.splitlines())
NOTES = GOOD.replace("\n", ',"x\n\ny"\n').replace('m,"x\n\ny"', "m,note", 1)

# name of the case: file name, content, further options
SAME = {
    "plain": ("t.csv", GOOD, []),
    "upper-case suffix": ("t.CSV", GOOD, []),
    "without a last line end": ("t.csv", GOOD.rstrip(), []),
    "CRLF": ("t.csv", GOOD.replace("\n", "\r\n"), []),
    "CR": ("t.csv", GOOD.replace("\n", "\r"), []),
    "UTF-8 mark": ("t.csv", codecs.BOM_UTF8 + GOOD.encode(), []),
    "UTF-16": ("t.csv", GOOD.encode("utf-16"), []),
    "UTF-16 big-endian": ("t.csv", codecs.BOM_UTF16_BE + GOOD.encode("utf-16-be"), []),
    "empty lines": ("t.csv", "\n" + GOOD.replace("\n", "\n\n"), []),
    "blanks": ("t.csv", GOOD.replace(",", " , "), []),
    "quotes": ("t.csv", QUOTED, []),
    "quoted newlines": ("t.csv", NOTES, []),
    "a lone quote within a value": ("t.csv", GOOD.replace("\n", ',5" disk\n'), []),
    "plus signs": ("t.csv", GOOD.replace("0.", "+0."), []),
    "exponents": ("t.csv", GOOD.replace("0.51", "5.1e-1"), []),
    "trailing commas": ("t.csv", GOOD.replace("\n", ",\n"), []),
    "semicolons": ("t.csv", GOOD.replace(",", ";"), ["--separator", ";"]),
    "decimal commas": ("t.csv", GERMAN, ["--separator", ";", "--decimal", ","]),
    "tabs": ("t.tsv", GOOD.replace(",", "\t"), []),
    "tabs in csv": ("t.csv", GOOD.replace(",", "\t"), ["--separator", r"\t"]),
    "any suffix": ("t.txt", GOOD.replace(",", "|"), ["--separator", "|"]),
    "rows in reverse": ("t.csv", "\n".join([GOOD.split()[0], *reversed(GOOD.split()[1:])]), []),
    "other runs": ("t.csv", f"{GOOD}c,1,0.9\nc,2,0.8\n", []),
    "other name of the seed": ("t.csv", GOOD.replace("seed", "id"), ["--seed-column", "id"]),
    "json lines": (
        "t.ndjson",
        "\n\n".join(
            f'{{"arm": "{arm}", "note": "x\u2028y", "seed": {seed}, "m": {value}}}'
            for arm, seed, value in (row.split(",") for row in GOOD.split()[1:])
        ),
        [],
    ),
}


@pytest.fixture
def written(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def compared(seedstudy, tmp_path):
    def compare(path, *options):
        seedstudy("compare", path, *COMPARE, "--output", tmp_path / "out" / "cells.csv", *options).accepted()
        (row,) = pd.read_csv(tmp_path / "out" / "cells.csv").to_dict("records")
        return row

    return compare


def is_good(row):
    """Means .51 and .61333; SDs .01 and sqrt(.00046667 / 2), by hand."""
    assert (row["n_arm_a"], row["n_arm_b"]) == (3, 3)
    assert row["difference"] == pytest.approx(0.31 / 3, rel=1e-12)
    assert row["std_arm_a"] == pytest.approx(0.01, rel=1e-9)
    assert row["std_arm_b"] == pytest.approx(math.sqrt(0.0014 / 6), rel=1e-9)
    return True


@pytest.mark.parametrize("case", SAME)
def test_the_same_runs_however_they_are_written(compared, written, case):
    name, content, options = SAME[case]
    assert is_good(compared(written(name, content), *options))


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"arm": pa.array(list("aaabbb")).dictionary_encode()},
        {"m": ["0.50", "0.52", "0.51", "0.60", " 0.63", "0.61"]},
        {"m": pa.array([50, 52, 51, 60, 63, 61]).cast(pa.decimal128(23, 4))},
        {"seed": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]},
        {"seed": pa.array([1.5, math.inf, 3.0] * 2)},
        {"extra": [[1, 2]] * 6},
    ],
    ids=["plain", "dictionary", "text", "decimal", "seeds as floats", "an infinite label", "nested beside"],
)
def test_parquet_of_other_types(compared, tmp_path, columns):
    # A folder named as an axis is no column of the file.
    path = tmp_path / "arm=c" / "t.parquet"
    path.parent.mkdir()
    table = {"arm": list("aaabbb"), "seed": [1, 2, 3] * 2, "m": [0.5, 0.52, 0.51, 0.6, 0.63, 0.61]} | columns
    pq.write_table(pa.table(table), path)
    row = compared(path)
    if pa.types.is_decimal(pa.table(table).schema.field("m").type):
        assert row["difference"] == pytest.approx(31 / 3)
    else:
        assert is_good(row)


def test_failures_under_other_names_and_without(compared, written):
    table = "arm,seed,m,state\na,1,0.5,done\na,2,0.52,done\na,3,,crashed\nb,1,0.6,done\nb,2,inf,nan\nb,3,0.63,done\n"
    options = ["--status-column", "state", "--status-values", "done=ok,crashed=failed,nan=diverged"]
    row = compared(written("t.csv", table), *options)
    assert (row["n_arm_a"], row["failed_arm_a"], row["n_arm_b"], row["diverged_arm_b"]) == (2, 1, 2, 1)
    assert row["difference"] == pytest.approx(0.615 - 0.51)
    row = compared(written("t.csv", GOOD.replace("0.51", "nan")), "--missing", "failed")
    assert (row["n_arm_a"], row["failed_arm_a"]) == (2, 1)


def test_mixed_units_when_they_are_meant(compared, written):
    table = GOOD.replace("0.60", "60").replace("0.63", "63").replace("0.61", "61")
    row = compared(written("t.csv", table), "--mixed-units")
    assert row["difference"] == pytest.approx((60 + 63 + 61) / 3 - 0.51)


def test_one_seed_and_no_spread(compared, seedstudy, written):
    one = written("one.csv", "arm,seed,m\na,1,0.5\nb,1,0.6\n")
    row = compared(one)
    assert row["verdict"] == "INCONCLUSIVE"
    assert "needs >= 2 seeds with a result in both arms" in row["sentence"]
    seedstudy("factors", one, *FACTORS).refused(f"{one}: no configuration has two runs")
    flat = written("flat.csv", "arm,seed,m\na,1,0.5\na,2,0.5\nb,1,0.5\nb,2,0.5\n")
    row = compared(flat)
    # The values lie on a lattice of 0.1: that much a difference could hide, and no more.
    assert (row["difference"], row["ci90_low"], row["ci90_high"]) == (0.0, -0.1, 0.1)
    assert row["verdict"] == "EQUIVALENT"
    assert "| EQUIVALENT" in seedstudy("factors", flat, *FACTORS).accepted().out


def test_failed_runs_only(compared, seedstudy, written):
    path = written("t.csv", "arm,seed,m,status\na,1,,failed\na,2,,failed\nb,1,,diverged\nb,2,,failed\n")
    row = compared(path)
    assert (row["n_arm_a"], row["failed_arm_a"], row["verdict"]) == (0, 2, "INCONCLUSIVE")
    seedstudy("factors", path, *FACTORS).refused(f"{path}: no run with a result has arm a")
    seedstudy("summary", path, *SUMMARY).accepted()


def test_missing_arms_and_cells(seedstudy, written):
    path = written("t.csv", GOOD.partition("b,")[0])
    seedstudy("compare", path, *COMPARE).refused(f"{path}, column arm: no run has 'b'; it has a")
    seedstudy("factors", path, *FACTORS).refused(f"{path}: no run with a result has arm b")
    cells = "arm,x,seed,m\na,1,1,0.5\na,1,2,0.6\nb,1,1,0.5\nb,1,2,0.5\na,2,1,0.5\n"
    path = written("cells.csv", cells)
    seedstudy("compare", path, *COMPARE, "--within", "x").refused(f"{path}: cell x 2 has no run with arm b")
    seedstudy("factors", path, *FACTORS, "--axis", "x=1,2").refused(f"{path}: no run with a result has arm b, x 2")
    # Joined arms may hold a seed twice, also where another spelling of it stands between.
    path = written("joined.csv", "arm,seed,m\na,1,0.5\na,01,0.6\nc,1,0.5\nb,1,0.5\nb,2,0.5\n")
    joined = ["--between", "arm=a|c,b", "--metric", "m", "--margin", "1"]
    seedstudy("compare", path, *joined).refused(f"{path}: seed 1 stands twice in the table")


@pytest.mark.slow
def test_a_million_rows(seedstudy, tmp_path):
    n = 500_000
    path, output = tmp_path / "t.csv", tmp_path / "out.csv"
    values = np.tile([0.25, 0.75], n // 2)
    runs = {"arm": np.repeat(["a", "b"], n), "seed": np.tile(np.arange(n), 2), "m": np.r_[values, values + 0.001]}
    pa.csv.write_csv(pa.table(runs), path)
    seedstudy("summary", path, *SUMMARY, "--output", output).accepted()
    table = pd.read_csv(output).set_index("arm")
    assert table["n"].tolist() == [n, n]
    assert table["mean"].tolist() == pytest.approx([0.5, 0.501], rel=1e-12)
    assert table["std"].tolist() == pytest.approx([0.25 * math.sqrt(n / (n - 1))] * 2, rel=1e-9)
    # Half a million tied values an arm: counting their permutations would take hours and is left out.
    seedstudy("compare", path, *COMPARE, "--output", output).accepted()
    (row,) = pd.read_csv(output).to_dict("records")
    assert row["difference"] == pytest.approx(0.001, rel=1e-9)
    assert row["verdict"] == "EQUIVALENT, NONZERO"
    assert row["welch_t"] == pytest.approx(0.001 / (0.25 * math.sqrt(2 / (n - 1))), rel=1e-6)
    with path.open("a") as file:
        file.write("b,500000,x\n")
    seedstudy("summary", path, *SUMMARY).refused(f"{path}, line 1000002, column m: 'x' is no number")
    with path.open("a") as file:
        file.write("b\n")
    seedstudy("summary", path, *SUMMARY).refused(f"{path}, line 1000003: has 1 field(s) where the header has 3")

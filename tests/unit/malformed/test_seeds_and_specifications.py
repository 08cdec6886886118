"""Seeds files, specifications of data, their Parquet files, tables of interactions: each mistake is one line."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.data.conftest import SPEC, small_columns
from tests.unit.malformed.conftest import SMOKE, written

SEED = "is no seed; write a whole number from 0 to 2**63 - 1"

SEEDS = {
    "negative": ("1\n-2\n", ", line 2:", f"'-2' {SEED}"),
    "broken": ("1.0\n", ", line 1:", f"'1.0' {SEED}"),
    "with exponent": ("1e3\n", ", line 1:", f"'1e3' {SEED}"),
    "2 ** 63": (f"1\n{2**63}\n", ", line 2:", SEED),
    "5,000 digits": ("1" * 5000, ", line 1:", f"'{'1' * 30}...' {SEED}"),
    "text": ("# seeds\none\n", ", line 2:", f"'one' {SEED}"),
    "two a line": ("1,2\n", ", line 1:", f"'1,2' {SEED}"),
    "digits of another script": ("١\n", ", line 1:", SEED),
    "superscript": ("²\n", ", line 1:", SEED),
    "repeated": ("1\n\n01\n", ", line 3:", "seed 01 stands in line 1 already; remove one"),
    "repeated after old line ends": ("1\r2\r1\r", ", line 3:", "seed 1 stands in line 1 already; remove one"),
    "end of line of no editor": ("1\u20282\n", ", line 1:", SEED),
    "empty": ("", ":", "holds no seed; write one whole number a line"),
    "comments only": ("# 1\n", ":", "holds no seed; write one whole number a line"),
    "binary": (bytes(range(256)), ":", "is not UTF-8 text (byte 128); save it as UTF-8"),
    "utf-16": ("1\n".encode("utf-16"), ":", "is not UTF-8 text (byte 0); save it as UTF-8"),
    "NUL": ("1\0\n", ", line 1:", SEED),
}

# What is replaced in the specification of four rows, by what; place after the file's name, remedy.
SPECIFICATIONS = {
    "calls Python": ("name: small", "name: !!python/name:os.system", ", line 1:", "write plain text, numbers, lists"),
    "name beyond Unicode": ("name: small", r'name: "\ud800"', ", line 1:", "is no str; correct the YAML"),
    "list as splits": ("{train: {file: train.parquet}, valid: {file: valid.parquet}}", "[a]", ": splits:", "an object"),
    "file without its key": ("{file: train.parquet}", "train.parquet", ": splits.train:", "should be an object"),
    "empty file name": ("file: train.parquet", 'file: ""', ": splits.train.file:", "is empty; write a name"),
    "NUL in a file name": ("train.parquet", r'"a\0b"', ": splits.train.file:", "write a name without"),
    "line break in a column": ("[price]", r'["pr\nice"]', ": numeric.0:", "write a name without"),
    "column without name": ("[price]", "['']", ": numeric.0:", "is empty; write a name"),
    "nothing as column": ("[price]", "[~]", ": numeric.0:", "should be a valid string"),
    "id column twice": ("{shop: 4}", "{shop: 4, shop: 5}", ", line 5:", "is given twice; correct the YAML"),
    "number column as id": ("{shop: 4}", "{price: 4}", ": the document:", "column 'price' is named twice; rename one"),
    "cardinality beyond int32": ("shop: 4", "shop: 4294967296", ": onehot.shop:", "less than or equal to 2147483647"),
    "infinite hotness": ("hotness: 2", "hotness: .inf", ": multihot.tags.hotness:", "should be a valid integer"),
    "hotness 5,000": ("hotness: 2", "hotness: 5000", ": multihot.tags.hotness:", "less than or equal to 1000"),
}

# Content of valid.parquet, or a column in place of a good one; what is said after the file's name.
PARQUET = {
    "empty": (b"", ": not a readable Parquet file (", "file size is 0 bytes"),
    "text": (b"slate,liked\n1,0\n", ": not a readable Parquet file (", ")"),
    "marks only": (b"PAR1PAR1", ": not a readable Parquet file (", ")"),
    "junk between the marks": (b"PAR1" + b"\xff" * 90 + b"PAR1", ": not a readable Parquet file (", ")"),
    "NaN": ({"price": pa.array([0.0, math.nan, 1.0, 2.0])}, ": column price, row 1:", "is not finite in float32 (nan)"),
    "struct": ({"price": pa.array([{"a": 1}] * 4)}, ": column price:", "must be a number type"),
    "all null": ({"price": pa.nulls(4)}, ": column price", "is null; fill it in"),
    "time as group": ({"slate": pa.array([1] * 4, pa.timestamp("s"))}, ": column slate:", "must be an integer type"),
    "infinite label": ({"liked": pa.array([math.inf, 0, 0, 1])}, ": column liked, row 0:", "is not finite"),
    "id out of range": ({"shop": pa.array([0, 1, 2, 4])}, ": column shop, row 3:", "has an id outside 0..3 (4)"),
    "lists in lists": (
        {"tags": pa.array([[[1], [2]]] * 4, pa.list_(pa.list_(pa.int32(), 1), 2))},
        ": column tags:",
        "must be an integer type",
    ),
}

ROWS = "user,item,time\n1,1,1\n1,2,2\n2,1,3\n2,3,4\n"
# Name and content of a table of interactions; what is said after the name.
INTERACTIONS = {
    "empty": ("t.csv", "", ":", "mend the table"),
    "header only": ("t.csv", "user,item,time\n", ": column time:", "must be a number or a date"),
    "short row": ("t.csv", ROWS.replace("2,3,4", "2"), ": row 3: column item:", "is empty or not finite; fill it in"),
    "long row": ("t.csv", f"{ROWS}1,2,3,4\n", ":", "mend the table"),
    "semicolons": ("t.csv", ROWS.replace(",", ";"), ": column user:", "name the user's column in data.user"),
    "time as text": ("t.csv", ROWS.replace(",4\n", ",soon\n"), ": column time:", "must be a number or a date"),
    "infinite time": ("t.csv", ROWS.replace(",4\n", ",inf\n"), ": row 3: column time:", "not finite; fill it in"),
    "binary": ("t.csv", bytes(range(256)), ":", "mend the table"),
    "text called Parquet": ("t.parquet", ROWS, ":", "mend the table"),
    "blank in the name": ("my table.csv", ROWS, ":", "only letters, digits, points, _ and -; rename it"),
    "option as name": ("-t.csv", ROWS, ":", "only letters, digits, points, _ and -; rename it"),
    "unknown suffix": ("t.xlsx", ROWS, ":", "known are .csv, .tsv, .inter, .dat, .parquet"),
    "pattern of files": ("*.csv", None, ":", "is no file; name the table in data.file"),
    "folder": (".", None, ":", "is no file; name the table in data.file"),
    "structs": ("t.parquet", {"user": [{"a": 1}] * 4}, ": column user:", "must be one value a row"),
    "lists": ("t.parquet", {"item": [[1]] * 4}, ": column item:", "must be one value a row"),
    "NaN as user": (
        "t.parquet",
        {"user": [1.0, math.nan, 2.0, 2.0]},
        ": row 1: column user:",
        "not finite; fill it in",
    ),
}


@pytest.mark.parametrize("case", SEEDS)
def test_a_bad_seeds_file_is_one_line(collect, plan, case):
    content, place, said = SEEDS[case]
    path = plan.parent / "smoke-seeds.txt"
    written(path, content)
    collect().refused(f"seedstudy: {path}{place} ", said)


def test_a_byte_order_mark_is_no_part_of_a_seed(collect, plan):
    written(plan.parent / "smoke-seeds.txt", "7\n".encode("utf-8-sig"))
    collect().refused("lacks seed(s) 7 of")


@pytest.fixture
def described(tmp_path):
    """A data set of four rows; returns the path of its specification."""
    for split in ("train", "valid"):
        pq.write_table(pa.table(small_columns()), tmp_path / f"{split}.parquet")
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path / "spec.yaml"


@pytest.mark.parametrize("case", SPECIFICATIONS)
def test_a_bad_specification_is_one_line(seedstudy, described, case):
    old, new, place, said = SPECIFICATIONS[case]
    assert old in SPEC
    described.write_text(SPEC.replace(old, new, 1))
    seedstudy("data", "describe", described).refused(f"seedstudy: {described}{place} ", said)


@pytest.mark.parametrize("case", PARQUET)
def test_a_bad_parquet_file_is_one_line(seedstudy, described, case):
    content, place, said = PARQUET[case]
    path = described.with_name("valid.parquet")
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        pq.write_table(pa.table(small_columns() | content), path)
    seedstudy("data", "describe", described).refused(f"seedstudy: {path}{place}", said)


@pytest.mark.parametrize("case", INTERACTIONS)
def test_a_bad_table_of_interactions_is_one_line(seedstudy, plan, case):
    name, content, place, said = INTERACTIONS[case]
    path = plan.parent / name
    if isinstance(content, dict):
        pq.write_table(pa.table({"user": [1, 1, 2, 2], "item": [1, 2, 1, 3], "time": [1, 2, 3, 4]} | content), path)
    elif content is not None:
        written(path, content)
    (plan.parent / "x.csv").write_text(ROWS)
    old = "source: outbrain-generated\n  displays: 1000\n  seed: 1\n"
    plan.write_text(SMOKE.replace(old, f"source: interactions\n  file: '{name}'\n  rows: 4\n"))
    done = seedstudy("data", "prepare", "--plan", plan, "--output", plan.parent / "out")
    done.refused(f"seedstudy: {path}{place} ", said)

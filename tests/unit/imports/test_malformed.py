"""Bad tables: one line that names file, line and column, whichever command reads them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

COMMANDS = {
    "compare": ["--between", "arm=a,b", "--metric", "m", "--margin", "0.2", "--resamples", "0"],
    "summary": ["--within", "arm", "--metric", "m"],
    "factors": ["--axis", "arm=a,b", "--metric", "m", "--margin", "0.2"],
}
GOOD = "arm,seed,m\na,1,0.50\na,2,0.52\na,3,0.51\nb,1,0.60\nb,2,0.63\nb,3,0.61\n"
LINES = "".join(
    f'{{"arm": "{arm}", "seed": {seed}, "m": {m}}}\n'
    for arm, seed, m in [("a", 1, 0.5), ("a", 2, 0.52), ("b", 1, 0.6), ("b", 2, 0.63)]
)
MISSING = "not a finite number; name a status column, or count such runs by --missing failed"

# name of the case: file name, content, what is said after the file name
TEXT = {
    "nan": ("t.csv", GOOD.replace("0.51", "nan"), f", line 4, column m: is nan, {MISSING}"),
    "NA": ("t.csv", GOOD.replace("0.51", "N/A"), f", line 4, column m: is nan, {MISSING}"),
    "infinity": ("t.csv", GOOD.replace("0.51", "-inf"), f", line 4, column m: is -inf, {MISSING}"),
    "beyond float64": ("t.csv", GOOD.replace("0.51", "1e400"), f", line 4, column m: is inf, {MISSING}"),
    "square overflows": ("t.csv", GOOD.replace("0.51", "1.7e308"), ", line 4, column m: is 1.7e+308, larger than"),
    "empty value": ("t.csv", GOOD.replace("0.51", ""), f", line 4, column m: is nan, {MISSING}"),
    "empty column": ("t.csv", "arm,seed,m\na,1,\na,2,\nb,1,\nb,2,\n", f", line 2, column m: is nan, {MISSING}"),
    "text": ("t.csv", GOOD.replace("0.51", "good"), ", line 4, column m: 'good' is no number"),
    "percent sign": ("t.csv", GOOD.replace("0.51", "51%"), ", line 4, column m: '51%' is no number"),
    "underscore": ("t.csv", GOOD.replace("0.51", "1_0"), ", line 4, column m: '1_0' is no number"),
    "hexadecimal": ("t.csv", GOOD.replace("0.51", "0x1p3"), ", line 4, column m: '0x1p3' is no number"),
    "two points": ("t.csv", GOOD.replace("0.51", "0.5.1"), ", line 4, column m: '0.5.1' is no number"),
    "empty file": ("t.csv", "", ": is empty; give a header line and one line a run"),
    "blank lines only": ("t.csv", " \n\n\n", ": is empty; give a header line and one line a run"),
    "header only": ("t.csv", "arm,seed,m\n", ": holds no run; it has a header only"),
    "header without end": ("t.csv", "arm,seed,m", ": holds no run; it has a header only"),
    "no header": ("t.csv", GOOD.partition("\n")[2], ": has no column 'm'; it has a, 1, 0.50"),
    "other metric": ("t.csv", GOOD.replace("arm,seed,m", "arm,seed,n"), ": has no column 'm'; it has arm, seed, n"),
    "no seed": ("t.csv", GOOD.replace("arm,seed,m", "arm,run,m"), ": has no column 'seed'; it has arm, run, m"),
    "semicolons": ("t.csv", GOOD.replace(",", ";"), ", line 1: its fields seem to be separated by a semicolon"),
    "tabs": (
        "t.csv",
        GOOD.replace(",", "\t"),
        r", line 1: its fields seem to be separated by a tab; use --separator '\t'",
    ),
    "bars": ("t.csv", GOOD.replace(",", "|"), ", line 1: its fields seem to be separated by a bar"),
    "commas in tsv": ("t.tsv", GOOD, ", line 1: its fields seem to be separated by a comma"),
    "decimal commas": ("t.csv", GOOD.replace(".", ","), ", line 2: has 4 field(s) where the header has 3"),
    "quoted decimal comma": (
        "t.csv",
        GOOD.replace("0.51", '"0,51"'),
        ", line 4, column m: '0,51' is no number; if that is",
    ),
    "decimal comma in tsv": (
        "t.tsv",
        GOOD.replace(",", "\t").replace(".", ","),
        ", line 2, column m: '0,50' is no number",
    ),
    "long row": ("t.csv", GOOD.replace("0.51", "0.51,9"), ", line 4: has 4 field(s) where the header has 3"),
    "short row": ("t.csv", GOOD.replace("a,2,0.52", "a,2"), ", line 3: has 2 field(s) where the header has 3"),
    "short row after empty lines": ("t.csv", GOOD.replace("a,2,0.52", "\n\na,2"), ", line 5: has 2 field(s)"),
    "line of blanks": ("t.csv", GOOD.replace("b,1", "\n  \nb,1"), ", line 6: has 1 field(s) where the header has 3"),
    "cut off": ("t.csv", GOOD[:-8], ", line 7: has 1 field(s) where the header has 3"),
    "repeated column": ("t.csv", GOOD.replace("arm,seed", "m,seed"), ", line 1: names the column 'm' twice"),
    "repeated blank column": (
        "t.csv",
        GOOD.replace("arm,seed,m", "m ,seed, m"),
        ", line 1: names the column 'm' twice",
    ),
    "empty axis": ("t.csv", GOOD.replace("a,2", ",2"), ", line 3, column arm: is empty; every run needs one"),
    "empty seed": ("t.csv", GOOD.replace("a,2", "a, "), ", line 3, column seed: is empty; every run needs one"),
    "duplicate seed": ("t.csv", f"{GOOD}a,1,0.5\n", ", line 8: repeats the run of line 2 (seed 1, arm a)"),
    "mixed units": (
        "t.csv",
        GOOD.replace("0.60", "60").replace("0.63", "63").replace("0.61", "61"),
        ", column m: seems to mix units: 0.5 in line 2, 60 in line 5; use one unit, or --mixed-units",
    ),
    "unknown status": (
        "t.csv",
        "arm,seed,m,status\na,1,0.5,ok\na,2,0.5,done\n",
        ", line 3, column status: 'done' is none of ok, diverged, failed",
    ),
    "empty status": ("t.csv", "arm,seed,m,status\na,1,0.5,ok\na,2,0.5,\n", ", line 3, column status: is empty"),
    "ok without a number": (
        "t.csv",
        "arm,seed,m,status\na,1,0.5,ok\na,2,,ok\n",
        ", line 3, column m: is nan, not a finite number, though the run is ok",
    ),
    "line after quoted newline": (
        "t.csv",
        'arm,seed,m,note\na,1,0.5,"x\n\ny"\na,2,0.5,"""q"""\na,3,bad,\n',
        ", line 6, column m: 'bad' is no number",
    ),
    "line after other ends of line": (
        "t.csv",
        "arm,seed,m,note\na,1,0.5,x\u2028y\x0cz\na,2,bad,\n",
        ", line 3, column m: 'bad' is no number",
    ),
    "open quote": (
        "t.csv",
        f"arm,seed,m,note\n{GOOD.partition(chr(10))[2]}".replace("\n", ",\n")
        .replace("note,", "note")
        .replace("0.51,", '0.51,"'),
        ", line 4: opens a quote that nothing closes",
    ),
    "unknown suffix": ("t.xlsx", GOOD, ": has an unknown suffix '.xlsx'; use one of .csv, .tsv"),
    "no suffix": ("t", GOOD, ": has an unknown suffix ''"),
    "csv called parquet": ("t.parquet", GOOD, ": is no readable Parquet file"),
    "csv called json": ("t.jsonl", GOOD, ", line 1: is no JSON"),
    "utf-16 without mark": ("t.csv", GOOD.encode("utf-16-le"), ", line 1: holds a NUL character"),
    "utf-32": ("t.csv", GOOD.encode("utf-32"), ", line 1: holds a NUL character"),
    "half of utf-16": ("t.csv", GOOD.encode("utf-16")[:-1], ": is not utf-16 text (byte"),
    "latin-1": ("t.csv", GOOD.replace("arm", "ärm").encode("latin-1"), ": is not utf-8 text (byte 0)"),
    "NUL": ("t.csv", GOOD.replace("0.51", "0.51\0"), ", line 4: holds a NUL character"),
    "junk csv": ("t.csv", bytes(range(256)) * 9, ": is not utf-8 text (byte 128)"),
    "junk json": ("t.jsonl", bytes(range(256)) * 9, ": is not utf-8 text (byte 128)"),
    "junk parquet": ("t.parquet", bytes(range(256)) * 9, ": is no readable Parquet file"),
    "empty parquet": ("t.parquet", b"", ": is no readable Parquet file"),
    "json cut off": ("t.jsonl", LINES[:-12], ", line 4: is no JSON; it is cut off or damaged"),
    "json list": ("t.jsonl", f"{LINES}[1]\n", ", line 5: is no JSON object"),
    "json text": ("t.jsonl", f'{LINES}\n"a"\n', ", line 6: is no JSON object"),
    "json over lines": ("t.jsonl", '[\n{"arm": "a"}]\n', ", line 1: is no JSON"),
    "json key twice": ("t.jsonl", f'{LINES}{{"arm": "a", "arm": "b"}}\n', ", line 5: names a key twice"),
    "json nesting": ("t.jsonl", LINES + "[" * 100_000, ", line 5: is no JSON"),
    "json empty": ("t.jsonl", "\n \n", ": is empty; write one object a run and line"),
    "json NaN": ("t.jsonl", f'{LINES}{{"arm": "a", "seed": 3, "m": NaN}}', f", line 5, column m: is nan, {MISSING}"),
    "json null": ("t.jsonl", f'{LINES}{{"arm": "a", "seed": 3, "m": null}}', f", line 5, column m: is nan, {MISSING}"),
    "json without metric": ("t.jsonl", f'{LINES}{{"arm": "a", "seed": 3}}', f", line 5, column m: is nan, {MISSING}"),
    "json without axis": ("t.jsonl", f'{LINES}{{"seed": 3, "m": 0.5}}', ", line 5, column arm: is empty"),
    "json list as metric": (
        "t.jsonl",
        f'{LINES}{{"arm": "a", "seed": 3, "m": [0.5]}}',
        ", line 5, column m: '[0.5]' is no",
    ),
    "json bool as metric": (
        "t.jsonl",
        f'{LINES}{{"arm": "a", "seed": 3, "m": true}}',
        ", line 5, column m: 'true' is no",
    ),
    "json huge whole number": (
        "t.jsonl",
        f'{LINES}{{"arm": "a", "seed": 3, "m": 1{"0" * 5000}}}',
        ", line 5: is no JSON",
    ),
    "json lone surrogate": (
        "t.jsonl",
        LINES + r'{"arm": "\ud800", "seed": 3, "m": 0.5}',
        ", column 'arm': holds a character",
    ),
    "json surrogate as name": ("t.jsonl", LINES + r'{"\udfff": 1}', r", column '\udfff': holds a character"),
}

ARMS, SEEDS, VALUES = list("aaabbb"), [1, 2, 3, 1, 2, 3], [0.5, 0.52, 0.51, 0.6, 0.63, 0.61]
PARQUET = {
    "list as metric": ({"m": [[value] for value in VALUES]}, ", column m: holds list<element: double>, not numbers"),
    "struct as seed": (
        {"seed": [{"x": seed} for seed in SEEDS]},
        ", column seed: holds struct<x: int64>, not one value",
    ),
    "list as axis": (
        {"arm": [[arm] for arm in ARMS]},
        ", column arm: holds list<element: string>, not one value a run",
    ),
    "null metric": ({"m": [None, *VALUES[1:]]}, f", row 1, column m: is nan, {MISSING}"),
    "all null": ({"m": pa.nulls(6)}, f", row 1, column m: is nan, {MISSING}"),
    "null seed": ({"seed": [*SEEDS[:5], None]}, ", row 6, column seed: is empty"),
    "null axis": ({"arm": [*ARMS[:5], None]}, ", row 6, column arm: is empty"),
    "bool metric": ({"m": [True] * 6}, ", column m: holds bool, not numbers"),
    "binary metric": ({"m": [b"0.5\xff"] * 6}, ", column m: holds binary, not numbers"),
    "binary axis": ({"arm": [b"\xff"] * 6}, ", column arm: holds binary that is no text"),
    "text metric": ({"m": [*map(str, VALUES[:5]), "x"]}, ", row 6, column m: 'x' is no number"),
    "repeated run": ({"seed": [1, 2, 1, 1, 2, 3]}, ", row 3: repeats the run of row 1"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", TEXT)
def test_a_bad_file_is_one_line(seedstudy, tmp_path, case, command):
    name, content, said = TEXT[case]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    seedstudy(command, path, *COMMANDS[command]).refused(f"{path}{said}")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", PARQUET)
def test_a_bad_parquet_file_is_one_line(seedstudy, tmp_path, case, command):
    columns, said = PARQUET[case]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"arm": ARMS, "seed": SEEDS, "m": VALUES} | columns), path)
    seedstudy(command, path, *COMMANDS[command]).refused(f"{path}{said}")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_parquet_file_is_one_line(seedstudy, tmp_path, command):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"arm": ARMS, "seed": SEEDS, "m": VALUES}), path)
    content = path.read_bytes()
    for damaged in (content[:-30], content[:100], content[:20] + bytes(40) + content[60:]):
        path.write_bytes(damaged)
        seedstudy(command, path, *COMMANDS[command]).refused(f"{path}: is no readable Parquet file")
    pq.write_table(pa.table({"arm": ARMS[:0], "seed": SEEDS[:0], "m": VALUES[:0]}), path)
    seedstudy(command, path, *COMMANDS[command]).refused(f"{path}: holds no run")
    twice = pa.Table.from_arrays([pa.array(VALUES), pa.array(SEEDS), pa.array(VALUES)], names=["m", "seed", "m"])
    pq.write_table(twice, path)
    seedstudy(command, path, *COMMANDS[command]).refused(f"{path}: names the column 'm' twice")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["nowhere.csv", "folder.csv", f"{'a' * 300}.csv", "a\nb.csv"])
def test_what_is_no_file_is_one_line(seedstudy, tmp_path, command, name):
    (tmp_path / "folder.csv").mkdir()
    said = "cannot be read: File name too long" if len(name) > 200 else "is no file; give a table of runs"
    seedstudy(command, tmp_path / name, *COMMANDS[command]).refused(name.replace("\n", " "), said)


def test_a_file_that_cannot_be_read_is_one_line(seedstudy, tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text(GOOD)

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "read_bytes", refuse)
    seedstudy("summary", path, *COMMANDS["summary"]).refused(f"{path}: cannot be read: Permission denied")

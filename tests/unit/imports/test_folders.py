"""Axes and seeds from paths and arguments files; patterns, folders and options that fit nothing."""

import pytest

from seedstudy.errors import UserError
from seedstudy.imports.folders import LogFormat, import_logs
from seedstudy.imports.tidy import Layout

LAYOUT = Layout("map12", ("precision",))
PATTERN = "{precision}/{run}/log.json"


@pytest.fixture
def folder(tmp_path):
    for precision in ("fp32", "amp"):
        for seed in (1, 2):
            run = tmp_path / precision / f"run{seed}"
            run.mkdir(parents=True)
            step = f'{{"type": "LOG", "step": [1], "data": {{"map12": 0.{seed}}}}}'
            (run / "log.json").write_text(f"DLLL {step}\n")
            (run / "args.json").write_text(f'{{"seed": {seed}, "xla": true, "lr": 1e-4, "layers": [1, 2]}}')
    return tmp_path


def test_seed_from_the_arguments_file(folder):
    runs = import_logs(folder, PATTERN, LogFormat.DLLOGGER, LAYOUT, "args.json")
    assert runs["precision"].tolist() == ["amp", "amp", "fp32", "fp32"]
    assert runs["seed"].tolist() == ["1", "2", "1", "2"]
    assert runs["map12"].tolist() == [0.1, 0.2, 0.1, 0.2]
    assert runs["xla"].tolist() == ["true"] * 4
    assert runs["lr"].tolist() == ["0.0001"] * 4
    assert "layers" not in runs


def test_a_seed_that_two_sources_contradict_is_refused(folder):
    (folder / "amp" / "run1" / "args.json").write_text('{"seed": 1, "precision": "fp32"}')
    with pytest.raises(
        UserError, match=r"run1/log\.json: precision is 'amp' by an earlier source but 'fp32' by args\.json"
    ):
        import_logs(folder, PATTERN, LogFormat.DLLOGGER, LAYOUT, "args.json")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"--pattern": "{precision}/log.json"}, "{folder}: holds no log that matches '{{precision}}/log.json'"),
        ({"--pattern": "{a}/{a}/log.json"}, "{{a}} is no field name, or stands twice"),
        ({"--pattern": "{1}/{run}/log.json"}, "{{1}} is no field name, or stands twice"),
        ({"--pattern": "{precision/run1/log.json"}, "has an open brace"),
        (
            {"--pattern": "*/{seed}/log.json", "--within": ""},
            "{folder}, fp32/run1/log.json: repeats the run of amp/run1",
        ),
        ({"--within": "gpus"}, "{folder}: has no column 'gpus'; it has precision, seed, map12"),
        ({"--metric": "map"}, "{folder}: no log holds the metric 'map'; they hold map12"),
        ({"--format": "csv"}, "--format: 'csv' is none of dllogger, mllog, tensorboard"),
        ({"--format": "mllog"}, "amp/run1/log.json: holds no MLPerf record"),
        ({"--format": "tensorboard"}, "amp/run1/log.json: is damaged or cut off after 0 event(s)"),
        ({"--missing": "drop"}, "--missing: 'drop' is none of refuse, failed, diverged"),
        ({"--status-column": "state"}, "{folder}: has no column 'state'"),
        ({"--arguments": "nowhere.json"}, "amp/run1/nowhere.json: cannot be read: No such file"),
        ({"--arguments": "log.json"}, "amp/run1/log.json"),
        ({"--output": "."}, ".: cannot be written: "),
        ({"folder": "/nowhere"}, "/nowhere: holds no log that matches"),
    ],
)
def test_what_fits_nothing_is_one_line(seedstudy, folder, options, said):
    base = {
        "--pattern": "{precision}/run{seed}/log.json",
        "--format": "dllogger",
        "--metric": "map12",
        "--within": "precision",
        "--output": folder / "runs.csv",
    }
    changed = base | options
    where = changed.pop("folder", folder)
    given = [text for pair in changed.items() for text in pair]
    seedstudy("import", where, *given).refused(said.format(folder=folder))
    assert not (folder / "runs.csv").exists()


@pytest.mark.parametrize("text", ["", "[1]", "a: [", "a: 1\na: 2", "\x00"])
def test_a_bad_arguments_file_is_one_line(seedstudy, folder, text):
    (folder / "amp" / "run1" / "args.json").write_text(text)
    given = ["--pattern", PATTERN, "--format", "dllogger", "--metric", "map12", "--arguments", "args.json"]
    seedstudy("import", folder, *given, "--output", folder / "runs.csv").refused("amp/run1/args.json")

"""Bad values of options: one line that names the option, or the file and column it does not fit."""

import pytest

GOOD = "arm,x,seed,m\na,1,1,0.50\na,1,2,0.52\nb,1,1,0.60\nb,1,2,0.63\n"
COMPARE = {"--between": "arm=a,b", "--metric": "m", "--margin": "0.2", "--resamples": "0"}
FACTORS = {"--axis": "arm=a,b", "--metric": "m", "--margin": "0.2"}
SUMMARY = {"--metric": "m", "--within": "arm"}
BASE = {"compare": COMPARE, "factors": FACTORS, "summary": SUMMARY}

# command, option, value (None: left out), what is said; {path} is the table
CASES = [
    ("compare", "--margin", "0", "--margin: 0 is not a positive number"),
    ("compare", "--margin", "-1", "--margin: -1 is not a positive number"),
    ("compare", "--margin", "nan", "--margin: nan is not a positive number"),
    ("compare", "--margin", "inf", "--margin: inf is not a positive number"),
    ("compare", "--margin", "little", "Invalid value for '--margin'"),
    ("compare", "--margin", None, "Missing option '--margin'"),
    ("compare", "--alpha", "0.5", "--alpha: 0.5 is not between 0 and 0.5"),
    ("compare", "--alpha", "0", "--alpha: 0 is not between 0 and 0.5"),
    ("compare", "--alpha", "nan", "--alpha: nan is not between 0 and 0.5"),
    ("compare", "--between", "arm", "--between: 'arm' is not AXIS=REFERENCE,TREATMENT"),
    ("compare", "--between", "arm=a", "--between: 'arm=a' is not AXIS=REFERENCE,TREATMENT"),
    ("compare", "--between", "arm=a,b,c", "--between: 'arm=a,b,c' is not AXIS=REFERENCE,TREATMENT"),
    ("compare", "--between", "=a,b", "--between: '=a,b' is not AXIS=REFERENCE,TREATMENT"),
    ("compare", "--between", "arm=a,a", "{path}, column arm: the arms 'a' and 'a' share runs"),
    ("compare", "--between", "arm=a|b,b", "{path}, column arm: the arms 'a|b' and 'b' share runs"),
    ("compare", "--between", "arm=a,z", "{path}, column arm: no run has 'z'; it has a, b"),
    ("compare", "--between", "kind=a,b", "{path}: has no column 'kind'; it has arm, x, seed, m"),
    ("compare", "--between", "m=0.5,0.6", "{path}: column 'm' can be only one of metric, seed, status and axis"),
    ("compare", "--between", None, "Missing option '--between'"),
    ("compare", "--within", "y", "{path}: has no column 'y'"),
    ("compare", "--within", "arm", "{path}: 'arm' is what the arms differ in"),
    ("compare", "--within", "seed", "{path}: column 'seed' can be only one of metric, seed, status and axis"),
    ("compare", "--metric", "n", "{path}: has no column 'n'; it has arm, x, seed, m"),
    ("compare", "--metric", "arm", "{path}: column 'arm' can be only one of"),
    ("compare", "--resamples", "-1", "Invalid value for '--resamples'"),
    ("compare", "--resamples", "many", "Invalid value for '--resamples'"),
    ("compare", "--rng-seed", "-1", "Invalid value for '--rng-seed'"),
    ("compare", "--missing", "drop", "--missing: 'drop' is none of refuse, failed, diverged"),
    ("compare", "--decimal", ";", "{path}: decimal sign ';' is neither a point nor a comma"),
    ("compare", "--decimal", ",", "{path}, line 2, column m: '0.50' is no number"),
    ("compare", "--separator", ";;", "{path}: separator ';;' is not one character between fields"),
    ("compare", "--separator", "\n", "{path}: separator '\\n' is not one character between fields"),
    ("compare", "--separator", "é", "{path}: separator 'é' is not one character between fields"),
    ("compare", "--separator", ";", "{path}, line 1: its fields seem to be separated by a comma"),
    ("compare", "--status-values", "done", "--status-values: 'done' is not NAME=VALUE"),
    ("compare", "--status-column", "state", "{path}: has no column 'state'"),
    ("compare", "--status-column", "arm", "{path}: column 'arm' can be only one of"),
    ("compare", "--status-column", "x", "{path}, line 2, column x: '1' is none of ok, diverged, failed"),
    ("compare", "--seed-column", "x", "{path}: has a column 'seed' beside the one named as such; rename it"),
    ("compare", "--seed-column", "run", "{path}: has no column 'run'"),
    ("compare", "--bogus", "1", "No such option: --bogus"),
    ("summary", "--metric", None, "Missing option '--metric'"),
    ("summary", "--within", "", "{path}, line 4: repeats the run of line 2 (seed 1)"),
    ("summary", "--within", "y", "{path}: has no column 'y'"),
    ("factors", "--axis", "arm", "--axis: 'arm' is not AXIS=REFERENCE,LEVEL,..."),
    ("factors", "--axis", "arm=a", "--axis: 'arm=a' is not AXIS=REFERENCE,LEVEL,..."),
    ("factors", "--axis", "arm=a,a", "{path}, column arm: the levels a, a share runs; name them apart"),
    ("factors", "--axis", "arm=a|b,b", "{path}, column arm: the levels a|b, b share runs; name them apart"),
    ("factors", "--axis", "arm=a,z", "{path}: no run with a result has arm z"),
    ("factors", "--axis", "kind=a,b", "{path}: has no column 'kind'"),
    ("factors", "--axis", "=a,b", "{path}: has no column ''"),
    ("factors", "--axis", None, "Missing option '--axis'"),
    ("factors", "--order", "0", "Invalid value for '--order'"),
    ("factors", "--margin", "0", "--margin: 0 is not a positive number"),
]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "t.csv").write_text(GOOD)
    return tmp_path / "t.csv"


@pytest.mark.parametrize(("command", "option", "value", "said"), CASES)
def test_a_bad_value_is_one_line(seedstudy, path, command, option, value, said):
    options = BASE[command] | {option: value}
    given = [text for pair in options.items() if pair[1] is not None for text in pair]
    seedstudy(command, path, *given).refused(f"seedstudy: {said.format(path=path)}")


def test_names_of_the_table_are_never_confused(seedstudy, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("seed,id,m\na,1,0.5\na,2,0.6\nb,1,0.5\nb,2,0.5\n")
    axis = ["--between", "seed=a,b", "--metric", "m", "--margin", "1", "--seed-column", "id"]
    seedstudy("compare", path, *axis).refused(f"{path}: has a column 'seed' beside the one named as such; rename it")
    path.write_text("status,seed,m,state\na,1,0.5,ok\na,2,0.6,ok\nb,1,0.5,ok\nb,2,0.5,ok\n")
    axis = ["--between", "status=a,b", "--metric", "m", "--margin", "1", "--status-column", "state"]
    seedstudy("compare", path, *axis).refused(f"{path}: has a column 'status' beside the one named as such")
    path.write_text("arm,id,seed\na,1,0.5\na,2,0.6\nb,1,0.5\nb,2,0.5\n")
    metric = ["--between", "arm=a,b", "--metric", "seed", "--margin", "1", "--seed-column", "id"]
    seedstudy("compare", path, *metric).refused(f"{path}: has a column 'seed' beside the one named as such")


@pytest.mark.parametrize("command", BASE)
def test_an_output_that_cannot_be_written_is_one_line(seedstudy, path, command):
    for output in (path.parent, path / "t.csv"):
        done = seedstudy(command, path, *[text for pair in BASE[command].items() for text in pair], "--output", output)
        assert done.code == 2
        assert done.err.startswith(f"seedstudy: {output}: cannot be written: ")
        assert done.err.count("\n") == 1
    assert path.read_text() == GOOD


@pytest.mark.parametrize("margin", ["1e-320", "1e308"])
def test_extreme_margins_have_verdicts(seedstudy, path, margin):
    out = seedstudy("compare", path, *[text for pair in (COMPARE | {"--margin": margin}).items() for text in pair])
    assert ("- DIFFERENT: " if margin == "1e-320" else "- EQUIVALENT, NONZERO: ") in out.accepted().out


def test_unknown_and_missing_commands(seedstudy):
    seedstudy("bogus").refused("No such command 'bogus'")
    seedstudy("--version").refused("No such option: --version")
    seedstudy("compare").refused("Missing argument")
    done = seedstudy()
    assert done.code == 2
    assert done.err.startswith("Usage: seedstudy [OPTIONS] COMMAND")
    assert seedstudy("--help").accepted().out.startswith("Usage: seedstudy [OPTIONS] COMMAND")

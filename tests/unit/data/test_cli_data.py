"""`seedstudy data prepare` and `describe`: what they write and say, and one line for each mistake."""

import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest
import yaml

from seedstudy.data.loading import load, load_described
from seedstudy.documents import sha256_file
from seedstudy.study import ROOT, load_plan

from .conftest import SPEC

SMOKE = ROOT / "config" / "smoke.yaml"
MADE = {"train.parquet", "valid.parquet", "train.words", "valid.words", "spec.yaml", "manifest.json"}


def refused(result, *parts):
    """Assert exit code 2, no output, and one error line besides progress, which holds `parts`."""
    code, out, err = result
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    said = [line for line in err.splitlines() if not line.startswith("data: ")]
    assert len(said) == 1
    assert said[0].startswith("seedstudy: ")
    assert all(part in said[0] for part in parts), said[0]


@pytest.fixture
def plan(tmp_path):
    """Return a function that writes the smoke plan with another data section."""

    def write(**data):
        content = yaml.safe_load(SMOKE.read_text()) | {"data": data}
        (tmp_path / "smoke-seeds.txt").write_text("1\n2\n")
        (tmp_path / "plan.yaml").write_text(yaml.safe_dump(content))
        return tmp_path / "plan.yaml"

    return write


def test_prepare_makes_its_files_and_prints_the_manifest(command, tmp_path):
    output = tmp_path / "new" / "data"
    code, out, err = command("data", "prepare", "--plan", SMOKE, "--output", output, "--raw", tmp_path / "raw")
    assert code == 0
    assert {path.name for path in output.iterdir()} == MADE
    manifest = json.loads(out)
    assert manifest == json.loads((output / "manifest.json").read_text())
    assert manifest["recipe"] == load_plan(SMOKE).data.recipe()
    assert manifest["data_hash"] == load(output).content_sha256()
    assert err.startswith("data: generating 1,000 displays\n")
    assert len(list((tmp_path / "raw").glob("*.csv"))) == 7
    assert {path.name for path in output.parent.iterdir()} == {"data"}


def test_kept_raw_files_prepare_to_the_same_values_as_brought_ones(command, plan, tmp_path):
    _, out, _ = command("data", "prepare", "--plan", SMOKE, "--output", tmp_path / "one", "--raw", tmp_path / "raw")
    rows = (tmp_path / "raw" / "clicks_train.csv").read_text().count("\n") - 1
    brought = plan(source="outbrain", raw="raw", rows=rows, seed=1)
    code, again, _ = command("data", "prepare", "--plan", brought, "--output", tmp_path / "two")
    assert code == 0
    assert json.loads(again)["data_hash"] == json.loads(out)["data_hash"]
    assert "do not redistribute" in json.loads(again)["terms"]


def test_prepare_again_replaces_a_prepared_data_set_by_the_same(command, tmp_path):
    for _ in range(2):
        code, out, _ = command("data", "prepare", "--plan", SMOKE, "--output", tmp_path / "data")
        assert code == 0
    assert json.loads(out)["data_hash"] == load(tmp_path / "data").content_sha256()
    assert {path.name for path in tmp_path.iterdir()} == {"data"}


def test_prepare_leaves_other_folders_and_files_alone(command, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.tex").write_text("mine")
    (tmp_path / "file").write_text("mine")
    prepare = ("data", "prepare", "--plan", SMOKE, "--output")
    refused(command(*prepare, tmp_path / "data"), "data: holds 'thesis.tex', so it is not a prepared data set")
    refused(command(*prepare, tmp_path / "file"), "file: exists and is not a folder")
    refused(command(*prepare, tmp_path / "file" / "data"), "file/data: cannot be written: File exists")
    assert (tmp_path / "data" / "thesis.tex").read_text() == (tmp_path / "file").read_text() == "mine"


def test_raw_files_go_to_a_new_folder_outside_the_output(command, plan, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "clicks_train.csv").write_text("mine")
    prepare = ("data", "prepare", "--plan", SMOKE, "--output", tmp_path / "data", "--raw")
    refused(command(*prepare, tmp_path / "full"), "full: holds 'clicks_train.csv'; name a new folder")
    refused(
        command(*prepare, tmp_path / "full" / "clicks_train.csv"), "clicks_train.csv: cannot be written: File exists"
    )
    refused(command(*prepare, tmp_path / "data" / "raw"), "--raw: ", "lies in the output")
    assert (tmp_path / "full" / "clicks_train.csv").read_text() == "mine"
    brought = plan(source="outbrain", raw="raw")
    arguments = ("--plan", brought, "--output", tmp_path / "data", "--raw", tmp_path / "other")
    refused(command("data", "prepare", *arguments), "--raw: only generated files can be kept; the source is outbrain")


def test_prepare_says_what_is_missing(command, plan, tmp_path):
    output = ("--output", tmp_path / "data")
    refused(command("data", "prepare", "--plan", tmp_path / "no.yaml", *output), "no.yaml: cannot be read")
    wrong = plan(source="outbrain-generated", display=1_000)
    refused(command("data", "prepare", "--plan", wrong, *output), "data.outbrain-generated.display: unknown key")
    few = plan(source="outbrain-generated", displays=10)
    refused(
        command("data", "prepare", "--plan", few, *output), "displays: Input should be greater than or equal to 500"
    )
    brought = plan(source="outbrain", raw="nowhere")
    refused(
        command("data", "prepare", "--plan", brought, *output), "nowhere/clicks_train.csv: missing; the folder must"
    )
    unknown = plan(source="criteo")
    refused(command("data", "prepare", "--plan", unknown, *output), "data")
    assert not (tmp_path / "data").exists()


def test_describe_fills_in_the_sums(command, small, tmp_path):
    spec = small()
    code, out, err = command("data", "describe", spec)
    assert (code, err) == (0, "")
    assert out == f"{spec}: 4 training and 4 validation rows, as described\n"
    described = yaml.safe_load(spec.read_text())
    for name in ("train", "valid"):
        assert described["splits"][name]["sha256"] == sha256_file(tmp_path / f"{name}.parquet")
    del described["splits"]["train"]["sha256"], described["splits"]["valid"]["sha256"]
    assert described == yaml.safe_load(SPEC)
    assert load_described(spec).train.rows == 4


def test_described_data_can_be_prepared_and_described_again_after_a_change(command, small, plan, tmp_path):
    spec = small()
    command("data", "describe", spec)
    text = spec.read_text()
    mine = plan(source="parquet", spec="spec.yaml")
    code, _, _ = command("data", "prepare", "--plan", mine, "--output", tmp_path / "data")
    assert code == 0
    small(price=pa.array([9.0, 9.0, 9.0, 9.0]))
    spec.write_text(text)
    arguments = ("data", "prepare", "--plan", mine, "--output", tmp_path / "data")
    refused(
        command(*arguments), "valid.parquet: its SHA-256 is not the one in", "prepare or describe the data set again"
    )
    assert command("data", "describe", spec)[0] == 0
    assert command(*arguments)[0] == 0


def test_describe_leaves_the_specification_of_bad_data_as_it_is(command, small, tmp_path):
    spec = small(shop=pa.array([0, 1, 9, 2]))
    refused(command("data", "describe", spec), "valid.parquet: column shop, row 2: has an id outside 0..3 (9)")
    assert spec.read_text() == SPEC
    refused(command("data", "describe", tmp_path / "no.yaml"), "no.yaml: cannot be read: No such file")
    refused(command("data", "describe", tmp_path), "cannot be read: Is a directory")
    refused(command("data", "describe", tmp_path / "train.parquet"), "train.parquet: is not UTF-8 text")


def test_usage_mistakes_have_code_2(command, tmp_path):
    for arguments, missing in (
        (("data", "describe"), "spec"),
        (("data", "prepare", "--plan", SMOKE), "--output"),
        (("data", "prepare", "--output", tmp_path / "data"), "--plan"),
    ):
        code, out, err = command(*arguments)
        assert (code, out) == (2, "")
        assert missing in err


@pytest.mark.slow
def test_values_do_not_depend_on_threads_or_instruction_set(default_data, tmp_path):
    """The default data made by another process, on one thread and without the widest instructions of NumPy."""
    code = (
        "import sys; from pathlib import Path; from seedstudy.data.prepare import prepare;"
        "from seedstudy.study import load_plan;"
        "print(prepare(load_plan(Path(sys.argv[1])).data, Path(sys.argv[2]), progress=lambda line: None)['data_hash'])"
    )
    plan = ROOT / "config" / "default.yaml"
    limits = {"POLARS_MAX_THREADS": "1", "NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3"}
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, plan, tmp_path / "data"],
        env={**os.environ, **limits},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == default_data.manifest["data_hash"]

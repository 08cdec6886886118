"""docs/data.md: its keys are the schema's, its numbers the manifest's, and its example works."""

import re
import typing

import pytest
import yaml
from pydantic_core import PydanticUndefined

from seedstudy.data.generator import THEMES
from seedstudy.data.loading import load_described
from seedstudy.data.raw import FILES
from seedstudy.data.source import DataSource
from seedstudy.study import ROOT

PAGE = (ROOT / "docs" / "data.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_keys_and_defaults_are_those_of_the_sources():
    expected = []
    for model in typing.get_args(typing.get_args(DataSource)[0]):
        for name, field in model.model_fields.items():
            shown = "" if field.default is PydanticUndefined else f"`{field.default}`"
            note = f"`{typing.get_args(field.annotation)[0]}`" if name == "source" else ""
            expected.append((f"data.{name}", shown, note))
    rows = re.findall(r"^\| `(data\.\w+)` \|([^|]*)\| (`[a-z0-9-]+`)?", PAGE, re.MULTILINE)
    assert [(key, default.strip(), note) for key, default, note in rows] == expected


def test_calibration_is_that_of_the_default_data(default_data):
    random, rate = default_data.manifest["baselines_map12"].values()
    assert f"| random order | {random:.3f} |" in PAGE
    assert f"smoothed | {rate:.3f} |" in PAGE
    assert THEMES == 6


def test_the_seven_files_are_named():
    assert set(re.findall(r"`(\w+)\.csv`", PAGE)) == set(FILES)


@pytest.mark.filterwarnings("error")
def test_the_example_is_made_described_and_prepared(command, tmp_path, monkeypatch):
    (script,) = blocks("python")
    specification, data = blocks("yaml")
    folder = tmp_path / "my-shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    exec(compile(script, "docs/data.md", "exec"), {})
    (folder / "spec.yaml").write_text(specification)
    assert command("data", "describe", folder / "spec.yaml")[0] == 0
    dataset = load_described(folder / "spec.yaml")
    assert (dataset.spec.name, dataset.train.rows, dataset.train.categorical.shape) == ("my-shop", 5, (5, 3))
    plan = yaml.safe_load((ROOT / "config" / "smoke.yaml").read_text()) | yaml.safe_load(data)
    (tmp_path / "smoke-seeds.txt").write_text("1\n2\n")
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
    code, _, _ = command("data", "prepare", "--plan", tmp_path / "plan.yaml", "--output", tmp_path / "out")
    assert code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"train.parquet", "valid.parquet", "spec.yaml"}

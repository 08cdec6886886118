"""The plan: every mistake is one line with file and key, and digests change exactly when they should."""

import re
import shutil
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from seedstudy.errors import UserError
from seedstudy.study import ROOT, load_plan, read_seeds

PLANS = ("default", "smoke", "movielens", "dgx")


@pytest.fixture(scope="module")
def document():
    """The default plan as it stands in its file, but for the place of the seeds."""
    return yaml.safe_load((ROOT / "config" / "default.yaml").read_text()) | {"seeds_file": "seeds.txt"}


@pytest.fixture
def edit(document, tmp_path):
    """Return a function that writes the default plan with some keys changed (`a.b` paths; None removes)."""
    shutil.copy(ROOT / "seeds.txt", tmp_path / "seeds.txt")

    def write(changes: dict[str, object]) -> Path:
        content = deepcopy(document)
        for key, value in changes.items():
            *parents, last = key.split(".")
            block = content
            for parent in parents:
                block = block[parent]
            if value is None:
                del block[last]
            else:
                block[last] = value
        path = tmp_path / "plan.yaml"
        path.write_text(yaml.safe_dump(content))
        return path

    return write


@pytest.mark.parametrize("name", PLANS)
def test_shipped_plans_are_sound(name):
    assert load_plan(ROOT / "config" / f"{name}.yaml").name == name


def test_default_study_has_the_published_16_configurations_and_20_seeds():
    plan = load_plan(ROOT / "config" / "default.yaml")
    assert len(plan.configurations) == 16
    assert len(plan.seeds) == 20
    assert "x86_64_v3-fp32-xla-2w" in {configuration.id for configuration in plan.configurations}


def test_published_study_names_its_configurations_by_gpu():
    plan = load_plan(ROOT / "config" / "dgx.yaml")
    ids = {configuration.id for configuration in plan.configurations}
    assert {"a100-tf32-noxla-8gpu", "v100-fp32-xla-1gpu", "v100-amp-xla-8gpu"} <= ids
    assert plan.worker_label == "GPUs"
    steps = -(-59_800_000 // plan.training.global_batch)
    assert steps * plan.training.epochs == 9_140


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"margins": {"value": 1.0}}, "margins"),
        ({"margin.vlaue": 1.0}, "margin.vlaue"),
        ({"margin.value": "much"}, "margin.value"),
        ({"margin.value": 0.0}, "margin.value"),
        ({"margin.value": float("nan")}, "margin.value"),
        ({"metric": "accuracy"}, "metric"),
        ({"axes.precision": []}, "axes.precision"),
        ({"axes.xla": [True, True]}, "axes.xla"),
        ({"axes.workers": ["two"]}, "axes.workers.0"),
        ({"axes.workers": [0]}, "axes.workers.0"),
        ({"architectures": {}}, "architectures"),
        ({"architectures.x86_64_v3.instruction_set": None}, "architectures.x86_64_v3.instruction_set"),
        ({"architectures.x86_64_v3.full_precision": "tf32"}, "architectures.x86_64_v3.full_precision"),
        ({"architectures.x86_64_v2.amp": "float16"}, "architectures.x86_64_v2.amp"),
        ({"training.epochs": 1.5}, "training.epochs"),
        ({"training.global_batch": 1023}, "training.global_batch"),
        ({"training.epochs": None}, "training.epochs"),
        ({"model.hidden": [100]}, "model"),
        ({"model.name": "wider_deeper"}, "model.name"),
        ({"families": [{"name": "a", "between": {"precision": ["fp32", "fp8"]}, "within": []}]}, "families.0"),
        ({"families": [{"name": "a", "between": {"speed": ["1", "2"]}, "within": []}]}, "families.0"),
        ({"families": [{"name": "a", "between": {"xla": ["true", "false"]}, "within": ["xla"]}]}, "families.0.within"),
        ({"data.source": "kaggle"}, "data.source"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(edit, changes, key):
    path = edit(changes)
    with pytest.raises(UserError) as raised:
        load_plan(path)
    assert str(raised.value).startswith(f"{path}: {key}")
    assert "\n" not in str(raised.value)


def test_more_workers_than_cores_are_refused_when_planning(edit):
    path = edit({})
    with pytest.raises(UserError, match=r"axes.workers: 2 workers .* 1 core"):
        load_plan(path, cores=1)
    load_plan(path, cores=2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1\n2\n1\n", "line 3: seed 1 stands in line 1"),
        ("1\n-2\n", "line 2: '-2' is no seed"),
        ("1\n2.5\n", "line 2: '2.5' is no seed"),
        ("9223372036854775808\n", "line 1"),
        ("# none\n\n", "holds no seed"),
    ],
)
def test_seeds_file_mistakes_name_the_line(tmp_path, text, problem):
    path = tmp_path / "seeds.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=problem):
        read_seeds(path)


def test_a_missing_seeds_file_is_named(edit):
    with pytest.raises(UserError, match=r"none.txt: cannot be read"):
        load_plan(edit({"seeds_file": "none.txt"}))


def test_a_repeated_key_and_broken_yaml_name_the_line(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("name: a\nname: b\n")
    with pytest.raises(UserError, match="line 2: key 'name' is given twice"):
        load_plan(path)
    path.write_text("name: [a\n")
    with pytest.raises(UserError, match="line 2"):
        load_plan(path)


def test_exponents_are_numbers(edit):
    path = edit({})
    written, changed = re.subn(r"value: \S+", "value: 7e-3", path.read_text(), count=1)
    assert changed == 1
    path.write_text(written)
    assert load_plan(path).margin.value == 0.007


@pytest.mark.parametrize(
    "changes",
    [
        {"margin.value": 0.5},
        {"margin.source": "elsewhere"},
        {"families": []},
        {"title": "T"},
        {"seeds_per_job": 3},
        {"target": 0.6},
        {"affinity": "rank"},
    ],
)
def test_what_the_analysis_declares_invalidates_no_run(edit, changes):
    before = [configuration.run_digest for configuration in load_plan(edit({})).configurations]
    assert [configuration.run_digest for configuration in load_plan(edit(changes)).configurations] == before


@pytest.mark.parametrize(
    "changes",
    [
        {"training.epochs": 9},
        {"threads_per_worker": 2},
        {"floor": 0.5},
        {"model.dropout": 0.2},
        {"data.seed": 5},
        {"model.wide.learning_rate": 0.5},
    ],
)
def test_what_determines_the_weights_invalidates_every_run(edit, changes):
    before = {configuration.run_digest for configuration in load_plan(edit({})).configurations}
    assert before.isdisjoint(configuration.run_digest for configuration in load_plan(edit(changes)).configurations)


def test_plan_digest_follows_margin_and_seeds(edit, tmp_path):
    before = load_plan(edit({}))
    assert load_plan(edit({"margin.value": 0.5})).plan_digest != before.plan_digest
    (tmp_path / "seeds.txt").write_text("1\n2\n")
    assert load_plan(edit({})).plan_digest != before.plan_digest


def test_an_appended_seed_leaves_full_batches_alone(edit, tmp_path):
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("1\n2\n3\n")
    path = edit({"seeds_per_job": 2})
    before = load_plan(path).batches
    seeds.write_text("1\n2\n3\n4\n5\n")
    after = load_plan(path).batches
    assert after[0] == before[0]
    assert after[1].name != before[1].name
    assert [batch.seeds for batch in after] == [(1, 2), (3, 4), (5,)]


def test_unknown_configuration_lists_the_known_ones():
    with pytest.raises(UserError, match="x86_64_v3-fp32-xla-1w"):
        load_plan(ROOT / "config" / "default.yaml").configuration("a100")

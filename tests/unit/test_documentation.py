"""Schema, example plans and the page about the plan stay in step."""

import re
import typing
from importlib import import_module

import pytest
import yaml
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from seedstudy.study import ROOT, PlanDocument, load_plan

# Of the sources docs/data.md has the keys; of the models a table each, further down the page.
ELSEWHERE = {"data": "data.source", "model": "model.name"}


def all_keys():
    yield from keys(PlanDocument)
    for name in ("wide_deep", "neumf"):
        model = import_module(f"seedstudy.models.{name}").Settings
        yield from ((key, default) for key, default in keys(model, f"{name}.") if key != f"{name}.name")


def keys(model, prefix=""):
    """Every key of a schema as the page writes it, with its default."""
    for name, field in model.model_fields.items():
        kind, path = field.annotation, f"{prefix}{name}"
        if name in ELSEWHERE:
            yield ELSEWHERE[name], PydanticUndefined
            continue
        origin, inside = typing.get_origin(kind), [a for a in typing.get_args(kind) if a is not type(None)]
        blocks = [a for a in inside if isinstance(a, type) and issubclass(a, BaseModel)]
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from keys(kind, f"{path}.")
        elif blocks:
            yield from keys(blocks[0], path + {dict: ".<name>.", tuple: "[]."}.get(origin, "."))
        else:
            yield path, field.default


def documented():
    page = (ROOT / "docs" / "plan.md").read_text()
    return dict(re.findall(r"^\| `([^`]+)` \|([^|]*)\|", page, re.MULTILINE))


def test_every_key_of_the_schema_is_explained_and_no_other():
    assert [key for key, _ in all_keys()] == list(documented())


def test_defaults_are_those_of_the_schema():
    for key, default in all_keys():
        shown = "" if default is PydanticUndefined else "none" if default is None else str(default)
        assert documented()[key].strip().strip("`") == shown, key


@pytest.mark.parametrize("plan", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_plan_that_ships_is_sound(plan):
    assert load_plan(plan).configurations


def test_the_published_plan_is_the_published_study():
    plan = load_plan(ROOT / "config" / "dgx.yaml")
    assert len(plan.configurations) * len(plan.seeds) == 320
    assert (plan.training.global_batch, plan.training.epochs) == (131_072, 20)
    assert plan.model.hidden == (1024,) * 5
    assert (plan.model.deep.learning_rate, plan.model.deep.rho, plan.model.wide.learning_rate) == (0.00012, 0.5, 0.02)
    assert "a100-tf32-noxla-8gpu" in {configuration.id for configuration in plan.configurations}


def test_the_profile_of_this_checkout_triggers_on_files_alone():
    profile = yaml.safe_load((ROOT / "profiles" / "default" / "config.yaml").read_text())
    assert profile["rerun-triggers"] == ["mtime"]

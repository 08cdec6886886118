"""The models a plan can name. A third model is a folder of its own and its name here: see docs/new-model.md."""

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Union

from pydantic import Field

from seedstudy.models.config import ModelSettings

MODELS = (
    "neumf",
    "wide_deep",
)
"""Folders here; each has a class `Settings`, and is told apart by the `name` of a plan's `model` block."""

if TYPE_CHECKING:
    ModelConfig = ModelSettings
else:
    _settings = tuple(import_module(f"{__name__}.{name}").Settings for name in MODELS)
    ModelConfig = Annotated[Union[_settings], Field(discriminator="name")]  # noqa: UP007 - members known when run

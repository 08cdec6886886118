"""The feature specification: which columns of a Parquet data set are what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from seedstudy.documents import write_atomically
from seedstudy.fields import PlainName

NAME = "[A-Za-z0-9][A-Za-z0-9._-]*"
"""What the name of a data set is made of."""

Column = Annotated[str, Field(min_length=1), PlainName]
Cardinality = Annotated[int, Field(ge=2, le=2**31 - 1)]
SplitName = Literal["train", "valid"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Multihot(_Model):
    """A column of fixed-size lists: ``hotness`` ids a row, each below ``cardinality``, padded with 0."""

    cardinality: Cardinality
    hotness: Annotated[int, Field(ge=1, le=1000)]


class SplitFile(_Model):
    """A Parquet file, relative to the specification, and the SHA-256 of its bytes."""

    file: Annotated[str, PlainName]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None


class FeatureSpec(_Model):
    """A data set: its columns and its two files.

    Parameters
    ----------
    name : str
        Name of the data set, for tables and figures.
    group : str
        Integer column of the slate that a row belongs to; ranking is within a slate.
    label : str
        Column of 0 and 1.
    numeric : tuple of str
        Columns of finite numbers.
    onehot : dict of str to int
        Columns of integers in ``[0, cardinality)``; by convention 0 is missing or not seen in training.
    multihot : dict of str to Multihot
        Columns of fixed-size lists of such integers.
    splits : dict
        The files ``train`` and ``valid``.
    """

    name: Annotated[str, Field(pattern=f"^{NAME}$")]
    group: Column
    label: Column
    numeric: tuple[Column, ...] = ()
    onehot: dict[Column, Cardinality] = {}
    multihot: dict[Column, Multihot] = {}
    splits: dict[SplitName, SplitFile]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order of the specification."""
        return (self.group, self.label, *self.numeric, *self.onehot, *self.multihot)

    @property
    def width(self) -> int:
        """Words of a row in memory: label, numbers, ids."""
        return 1 + len(self.numeric) + len(self.onehot) + sum(column.hotness for column in self.multihot.values())

    @model_validator(mode="after")
    def _consistent(self) -> FeatureSpec:
        check_columns(self.columns)
        for split in ("train", "valid"):
            if split not in self.splits:
                raise ValueError(f"splits.{split} is missing; add it")
        return self


def check_columns(columns: Sequence[str]) -> None:
    """Refuse columns (group, label, features) of which two have one name, or none is a feature."""
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise ValueError(f"column {column!r} is named twice; rename one")
        seen.add(column)
    if len(columns) == 2:
        raise ValueError("no feature: name at least one column in numeric, onehot or multihot")


def save_spec(spec: FeatureSpec, path: Path) -> None:
    """Write a feature specification as YAML, whole or not at all."""
    content = spec.model_dump(mode="json", exclude_none=True)
    write_atomically(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))

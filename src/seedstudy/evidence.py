"""What `seedstudy sources` and `seedstudy audit` measure: the rows that training ends in and tables start from."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from seedstudy.fields import Finite, PositiveInt, Seed, Text


class SourceRun(BaseModel):
    """A run with one random stream from another seed.

    Attributes
    ----------
    key : tuple of str
        Columns that tell rows apart.
    configuration : str
    seed : int
    stream : str
        Which one; ``none`` for the run as it is.
    value : float or None
        Metric after the last epoch; None where the run diverged.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    key: ClassVar[tuple[str, ...]] = ("configuration", "seed", "stream")

    configuration: Text
    seed: Seed
    stream: Text
    value: Finite | None = None


class Repeat(BaseModel):
    """A run trained again, in another process and order and under load.

    Attributes
    ----------
    key : tuple of str
        Columns that tell rows apart.
    configuration : str
    seed : int
    threads : int
        Of each rank.
    planned : bool
        Whether these are the plan's threads.
    bitwise : bool
        Whether the weights have the digest of the run in the table.
    before, again : float or None
        Metric of both; None where a run diverged.
    xla, determinism : bool
    product_types, instruction_set : str
        Switches found in force.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    key: ClassVar[tuple[str, ...]] = ("configuration", "seed", "threads")

    configuration: Text
    seed: Seed
    threads: PositiveInt
    planned: bool
    bitwise: bool
    before: Finite | None = None
    again: Finite | None = None
    xla: bool
    determinism: bool
    product_types: str = ""
    instruction_set: Text


def rows_csv(rows: Sequence[SourceRun] | Sequence[Repeat], kind: type[SourceRun] | type[Repeat]) -> str:
    """Rows of one kind as CSV, unrounded."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(kind.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.model_dump() for row in rows)
    return text.getvalue()

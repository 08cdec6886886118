"""What `seedstudy sources` and `seedstudy audit` measure: the rows that training ends in and tables start from."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from seedstudy.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SourceRun:
    """A run with one random stream from another seed.

    Attributes
    ----------
    configuration : str
    seed : int
    stream : str
        Which one; ``none`` for the run as it is.
    value : float or None
        Metric after the last epoch; None where the run diverged.
    """

    configuration: str
    seed: int
    stream: str
    value: float | None


@dataclass(frozen=True)
class Repeat:
    """A run trained again, in another process and order and under load.

    Attributes
    ----------
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

    configuration: str
    seed: int
    threads: int
    planned: bool
    bitwise: bool
    before: float | None
    again: float | None
    xla: bool
    determinism: bool
    product_types: str
    instruction_set: str


def rows_csv(rows: Sequence[SourceRun] | Sequence[Repeat], kind: type[SourceRun] | type[Repeat]) -> str:
    """Rows of one kind as CSV, unrounded."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(kind)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


def read_rows(paths: Sequence[Path], kind: type[SourceRun] | type[Repeat]) -> pd.DataFrame:
    """All rows of some files, in their order.

    Raises
    ------
    UserError
        A file cannot be read or has other columns.
    """
    import pandas as pd  # A rank only writes rows, and does without.

    frames = []
    for path in paths:
        try:
            frame = pd.read_csv(path, keep_default_na=False, na_values={"value": [""], "before": [""], "again": [""]})
        except (OSError, ValueError) as error:
            raise UserError(path, f"cannot be read: {error}") from error
        if list(frame.columns) != [field.name for field in fields(kind)]:
            raise UserError(path, "has other columns than these runs have; measure again")
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)

"""What `seedstudy sources` and `seedstudy audit` measured, read again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pandas as pd

from seedstudy.errors import UserError
from seedstudy.evidence import Repeat, SourceRun
from seedstudy.imports.rows import read_rows

REMEDY = "measure again"
Kind = TypeVar("Kind", SourceRun, Repeat)


def read_sources(paths: Sequence[Path]) -> pd.DataFrame:
    """All runs of some files of `seedstudy sources`, in their order.

    Raises
    ------
    UserError
        Names file, line and column of the first fault, of a run that stands twice, or of a seed without all runs.
    """
    placed = _placed(paths, SourceRun)
    streams: dict[str, dict[str, None]] = {}
    found: dict[tuple[str, int], dict[str, str]] = {}
    for place, row in placed:
        streams.setdefault(row.configuration, {"none": None})[row.stream] = None
        found.setdefault((row.configuration, row.seed), {})[row.stream] = place
    for (configuration, seed), places in found.items():
        for stream in streams[configuration]:
            if stream not in places:
                where = next(iter(places.values()))
                raise UserError(where, f"seed {seed} of {configuration} has no run of stream {stream}; {REMEDY}")
    return _frame(placed, SourceRun).astype({"value": float})


def read_repeats(paths: Sequence[Path]) -> pd.DataFrame:
    """All runs of some files of `seedstudy audit`, in their order.

    Raises
    ------
    UserError
        Names file, line and column of the first fault, or of a run that stands twice.
    """
    return _frame(_placed(paths, Repeat), Repeat).astype({"before": float, "again": float})


def _placed(paths: Sequence[Path], kind: type[Kind]) -> list[tuple[str, Kind]]:
    placed = [row for path in paths for row in read_rows(path, kind, REMEDY)]
    first: dict[tuple[object, ...], str] = {}
    for place, row in placed:
        key = tuple(getattr(row, name) for name in kind.key)
        if key in first:
            what = ", ".join(map(str, key))
            raise UserError(place, f"repeats the run of {first[key]} ({what}); remove one")
        first[key] = place
    return placed


def _frame(placed: Sequence[tuple[str, SourceRun | Repeat]], kind: type[SourceRun] | type[Repeat]) -> pd.DataFrame:
    return pd.DataFrame([row.model_dump() for _, row in placed], columns=list(kind.model_fields))

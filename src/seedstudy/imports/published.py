"""Published tables: summaries of two arms, summaries of one configuration a row, or runs beside their summary.

The digits stay as printed, since they say how far each number was rounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from seedstudy.errors import UserError
from seedstudy.imports.rawtable import RawTable, read_raw
from seedstudy.statistics.published import Printed, PublishedArm, printed

SERIES = ("value", "published_mean", "published_std")
SUMMARY = ("n", "mean", "std", "min", "max")
KS = ("ks_statistic", "ks_pvalue")
MOST_RUNS = 10_000
"""Most runs an arm: up to there the exact p of a KS statistic takes seconds."""


@dataclass(frozen=True)
class PairRow:
    """A cell of a published comparison; ``ks`` are its KS statistic and p, where the table has them."""

    where: dict[str, str]
    reference: PublishedArm
    treatment: PublishedArm
    ks: tuple[Printed, Printed] | None


@dataclass(frozen=True)
class SummaryRow:
    """A published configuration."""

    where: dict[str, str]
    n: int
    mean: Printed
    sd: Printed
    minimum: Printed
    maximum: Printed


@dataclass(frozen=True)
class Series:
    """Runs of a published configuration, with the mean and SD printed beside them."""

    name: str
    values: tuple[Printed, ...]
    mean: Printed
    sd: Printed


@dataclass(frozen=True)
class PublishedTable:
    """Rows of one kind, in the order of the file; the other two are empty."""

    pairs: tuple[PairRow, ...] = ()
    summaries: tuple[SummaryRow, ...] = ()
    series: tuple[Series, ...] = ()


def read_published(path: Path) -> PublishedTable:
    """Read a published table.

    Parameters
    ----------
    path : Path
        CSV, TSV or JSON lines. The columns decide: ``value``, ``published_mean``, ``published_std`` and perhaps
        ``series`` for runs; ``n``, ``mean``, ``std``, ``min``, ``max`` for a configuration a row; ``n``, ``mean_A``,
        ``std_A``, ``mean_B``, ``std_B`` for two arms a row, the reference first, perhaps with ``ks_statistic`` and
        ``ks_pvalue``. All other columns name the row.

    Returns
    -------
    PublishedTable

    Raises
    ------
    UserError
        Names file, line and column of what is no number, a negative SD, fewer than 2 runs, or a column that is missing.
    """
    raw = read_raw(path)
    if not raw.rows:
        raise UserError(path, "holds a header only")
    if set(SERIES) <= set(raw.columns):
        return PublishedTable(series=_series(raw))
    if set(SUMMARY) <= set(raw.columns):
        return PublishedTable(summaries=tuple(_summary(raw, row) for row in range(raw.rows)))
    arms = [name.removeprefix("mean_") for name in raw.columns if name.startswith("mean_")]
    if len(arms) == 2 and {"n", *(f"std_{arm}" for arm in arms)} <= set(raw.columns):
        return PublishedTable(pairs=tuple(_pair(raw, row, arms[0], arms[1]) for row in range(raw.rows)))
    raise UserError(
        path,
        f"needs the columns {', '.join(SUMMARY)}, or n, mean_A, std_A, mean_B, std_B, or {', '.join(SERIES)}; it has "
        f"{', '.join(raw.columns)}",
    )


def _pair(raw: RawTable, row: int, a: str, b: str) -> PairRow:
    n = _count(raw, row)
    arms = [PublishedArm(arm, n, _number(raw, row, f"mean_{arm}"), _sd(raw, row, f"std_{arm}")) for arm in (a, b)]
    ks = (_number(raw, row, KS[0]), _number(raw, row, KS[1])) if set(KS) <= set(raw.columns) else None
    used = {"n", *KS, *(f"{kind}_{arm}" for kind in ("mean", "std") for arm in (a, b))}
    return PairRow(_where(raw, row, used), arms[0], arms[1], ks)


def _summary(raw: RawTable, row: int) -> SummaryRow:
    mean, low, high = (_number(raw, row, name) for name in ("mean", "min", "max"))
    return SummaryRow(_where(raw, row, set(SUMMARY)), _count(raw, row), mean, _sd(raw, row, "std"), low, high)


def _series(raw: RawTable) -> tuple[Series, ...]:
    rows: dict[str, list[int]] = {}
    for row in range(raw.rows):
        rows.setdefault(_text(raw, row, "series") if "series" in raw.columns else "all runs", []).append(row)
    found = []
    for name, of_series in rows.items():
        first, *others = of_series
        for row in others:
            for column in SERIES[1:]:
                if _text(raw, row, column) != _text(raw, first, column):
                    place = f"{raw.source}, {raw.place(row)}, column {column}"
                    raise UserError(place, f"is not that of {raw.place(first)}, though both are of {name}")
        if not others:
            raise UserError(f"{raw.source}, {raw.place(first)}", f"is the only run of {name}; a spread needs 2")
        values = tuple(_number(raw, row, "value") for row in of_series)
        found.append(Series(name, values, _number(raw, first, SERIES[1]), _sd(raw, first, SERIES[2])))
    return tuple(found)


def _where(raw: RawTable, row: int, used: set[str]) -> dict[str, str]:
    return {name: _text(raw, row, name) for name in raw.columns if name not in used}


def _text(raw: RawTable, row: int, column: str) -> str:
    if not pa.types.is_string(raw.columns[column].type):
        raise UserError(f"{raw.source}, column {column}", "does not keep the digits as printed; give the table as CSV")
    return str(raw.columns[column][row].as_py())


def _number(raw: RawTable, row: int, column: str) -> Printed:
    text = _text(raw, row, column)
    try:
        return printed(text)
    except ValueError as error:
        raise UserError(f"{raw.source}, {raw.place(row)}, column {column}", str(error)) from error


def _sd(raw: RawTable, row: int, column: str) -> Printed:
    found = _number(raw, row, column)
    if found.value < 0.0:
        raise UserError(f"{raw.source}, {raw.place(row)}, column {column}", f"is {found.value:g}; no SD is negative")
    return found


def _count(raw: RawTable, row: int) -> int:
    text = _text(raw, row, "n")
    if not re.fullmatch("[0-9]{1,5}", text) or not 2 <= int(text) <= MOST_RUNS:
        where = f"{raw.source}, {raw.place(row)}, column n"
        raise UserError(where, f"{text!r} is no number of runs from 2 to {MOST_RUNS:,}")
    return int(text)

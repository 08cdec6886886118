"""A table of runs from anyone's file: named columns, checked values, nothing guessed and nothing dropped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from seedstudy.errors import UserError
from seedstudy.imports.rawtable import RawTable, read_raw
from seedstudy.statistics.failures import OK, STATUSES
from seedstudy.statistics.values import LARGEST, FloatArray

MISSING = frozenset({"", "nan", "na", "n/a", "null", "none"})
Missing = Literal["refuse", "failed", "diverged"]


@dataclass(frozen=True)
class Layout:
    """Which columns hold what.

    Parameters
    ----------
    metric : str
        Column of the metric.
    axes : tuple of str
        Columns that tell configurations apart.
    seed : str
        Column of the seed: any label that names a replicate.
    status : str or None
        Column of the status. None: ``status`` where there is such a column, else every run with a number is ``ok``.
    statuses : mapping
        Words of the table to ``ok``, ``diverged`` or ``failed``.
    missing : str
        What a run without a finite number is where no status says so: ``refuse`` the table, or count the run as
        ``failed`` or ``diverged``.
    decimal : str
        Decimal sign of the metric, ``.`` or ``,``.
    separator : str or None
        Character between fields, where it is not the one of the file's suffix.
    mixed_units : bool
        Accept a metric that looks like fractions and percentages in one column.
    """

    metric: str
    axes: tuple[str, ...] = ()
    seed: str = "seed"
    status: str | None = None
    statuses: Mapping[str, str] = field(default_factory=dict)
    missing: Missing = "refuse"
    decimal: str = "."
    separator: str | None = None
    mixed_units: bool = False


def read_table(path: Path, layout: Layout) -> pd.DataFrame:
    """Read and check a table with one row a run.

    Parameters
    ----------
    path : Path
        CSV, TSV, JSON lines or Parquet.
    layout : Layout
        Which columns hold what.

    Returns
    -------
    pandas.DataFrame
        One row a run in the order of the file: ``seed`` and the axes as text, ``status`` (``ok``, ``diverged``,
        ``failed``), the metric (float64, finite where ``ok``, else NaN), and all other columns untouched.
        ``attrs["source"]`` is the path.

    Raises
    ------
    UserError
        Names file, line and column of the first value that is not what its column needs: a missing column, a number
        that is none, an unknown status, an empty axis, a run that stands twice, fractions mixed with percentages.
    """
    return checked_runs(read_raw(path, layout.separator), layout)


def checked_runs(raw: RawTable, layout: Layout) -> pd.DataFrame:
    """Check a raw table; parameters, result and errors as in `read_table`."""
    if not raw.rows:
        raise UserError(raw.source, "holds no run; it has a header only")
    if layout.decimal not in (".", ","):
        raise UserError(raw.source, f"decimal sign {layout.decimal!r} is neither a point nor a comma")
    status_column = layout.status or ("status" if "status" in raw.columns else None)
    needed = [layout.metric, layout.seed, *layout.axes, *([status_column] if status_column else [])]
    for name in needed:
        if needed.count(name) > 1:
            raise UserError(raw.source, f"column {name!r} can be only one of metric, seed, status and axis")
        if name not in raw.columns:
            raise UserError(raw.source, f"has no column {name!r}; it has {', '.join(raw.columns) or 'none'}")
    numbers = _numbers(raw, layout)
    statuses = _statuses(raw, layout, status_column, numbers)
    frame = {name: _labels(raw, name) for name in (layout.seed, *layout.axes)}
    frame["seed"] = frame.pop(layout.seed)
    others = {name: column.to_pandas() for name, column in raw.columns.items() if name not in needed}
    for name, used in (("seed", layout.seed), ("status", status_column)):
        if name in raw.columns and name != used:
            raise UserError(raw.source, f"has a column {name!r} beside the one named as such; rename it")
    finished = statuses == OK
    if (np.abs(numbers[finished]) > LARGEST).any():
        row = int(np.argmax(finished & (np.abs(numbers) > LARGEST)))
        raise UserError(_at(raw, row, layout.metric), f"is {numbers[row]:g}, larger than {LARGEST:g}; use another unit")
    runs = pd.DataFrame({**frame, "status": statuses, layout.metric: np.where(finished, numbers, np.nan), **others})
    _refuse_repeated_runs(raw, runs, layout)
    if not layout.mixed_units:
        _refuse_mixed_units(raw, numbers, finished, layout.metric)
    runs.attrs["source"] = str(raw.source)
    return runs


def _at(raw: RawTable, row: int, column: str) -> str:
    return f"{raw.source}, {raw.place(row)}, column {column}"


def _numbers(raw: RawTable, layout: Layout) -> FloatArray:
    """The metric as float64, NaN where it is missing."""
    column = raw.columns[layout.metric]
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_decimal(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_null(column.type)):
        raise UserError(f"{raw.source}, column {layout.metric}", f"holds {column.type}, not numbers")
    text = pa.compute.utf8_trim_whitespace(pa.compute.fill_null(column.cast(pa.string()), ""))
    if layout.decimal == ",":
        # A point then groups thousands: it becomes what no number holds.
        text = pa.compute.replace_substring(pa.compute.replace_substring(text, ".", "'"), ",", ".")
    absent = pa.compute.is_in(pa.compute.utf8_lower(text), value_set=pa.array(sorted(MISSING)))
    filled = pa.compute.if_else(absent, "nan", text)
    try:
        return np.asarray(filled.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid:
        row = _first_that_is_none(filled)
    value = column[row].as_py()
    hint = "; if that is a decimal comma, use --decimal ','" if "," in value and layout.decimal == "." else ""
    raise UserError(_at(raw, row, layout.metric), f"{value!r} is no number{hint}")


def _first_that_is_none(text: pa.ChunkedArray) -> int:
    """First row of a column that is no number, by halving: a cast says only that there is one."""
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            text.slice(low, middle - low).cast(pa.float64())
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def _labels(raw: RawTable, name: str) -> pd.Series[str]:
    """A seed or an axis as text; whole numbers that a file keeps as floats lose their point."""
    column = raw.columns[name]
    if pa.types.is_nested(column.type):
        raise UserError(f"{raw.source}, column {name}", f"holds {column.type}, not one value a run")
    if pa.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False)
        text = pd.Series(["" if math.isnan(v) else str(int(v)) if v.is_integer() else repr(float(v)) for v in values])
    else:
        try:
            text = pa.compute.utf8_trim_whitespace(pa.compute.fill_null(column.cast(pa.string()), "")).to_pandas()
        except pa.ArrowException as error:
            raise UserError(f"{raw.source}, column {name}", f"holds {column.type} that is no text") from error
    empty = text.to_numpy() == ""
    if empty.any():
        raise UserError(_at(raw, int(np.argmax(empty)), name), "is empty; every run needs one")
    return text.astype(str)


def _statuses(raw: RawTable, layout: Layout, column: str | None, numbers: FloatArray) -> np.ndarray:
    finite = np.isfinite(numbers)
    if column is None:
        if layout.missing == "refuse" and not finite.all():
            row = int(np.argmax(~finite))
            raise UserError(
                _at(raw, row, layout.metric),
                f"is {numbers[row]:g}, not a finite number; name a status column, or count such runs by "
                f"--missing failed",
            )
        return np.where(finite, OK, layout.missing).astype(object)
    words = _labels(raw, column).to_numpy()
    statuses = np.array([layout.statuses.get(word, word) for word in words], dtype=object)
    unknown = ~np.isin(statuses, STATUSES)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise UserError(
            _at(raw, row, column), f"{words[row]!r} is none of {', '.join(STATUSES)}; translate it by --status-values"
        )
    bad = (statuses == OK) & ~finite
    if bad.any():
        if layout.missing == "refuse":
            row = int(np.argmax(bad))
            raise UserError(
                _at(raw, row, layout.metric),
                f"is {numbers[row]:g}, not a finite number, though the run is ok; mend its status, or count such runs "
                f"by --missing failed",
            )
        statuses[bad] = layout.missing
    return statuses


def _refuse_repeated_runs(raw: RawTable, runs: pd.DataFrame, layout: Layout) -> None:
    keys = ["seed", *layout.axes]
    repeated = runs.duplicated(keys).to_numpy()
    if not repeated.any():
        return
    row = int(np.argmax(repeated))
    same = (runs[keys] == runs[keys].iloc[row]).all(axis=1).to_numpy()
    first = raw.place(int(np.argmax(same)))
    what = ", ".join(f"{key} {runs[key].iloc[row]}" for key in keys)
    raise UserError(
        f"{raw.source}, {raw.place(row)}",
        f"repeats the run of {first} ({what}); remove one, or name the column that tells them apart as an axis",
    )


def _refuse_mixed_units(raw: RawTable, numbers: FloatArray, finished: np.ndarray, metric: str) -> None:
    """Refuse a column in which fractions stand beside the same quantity in percent (or per mille).

    The mark is a gap: all sizes lie in two groups a factor of more than 20 apart, whose medians lie a factor of 100 or
    1,000 apart to within one half.
    """
    rows = np.flatnonzero(finished & (numbers != 0.0))
    if rows.size < 2:
        return
    rows = rows[np.argsort(np.abs(numbers[rows]), kind="stable")]
    sizes = np.abs(numbers[rows])
    ratios = sizes[1:] / sizes[:-1]
    split = int(np.argmax(ratios)) + 1
    factor = float(np.median(sizes[split:]) / np.median(sizes[:split]))
    if ratios[split - 1] > 20.0 and any(unit / 1.5 < factor < unit * 1.5 for unit in (100.0, 1000.0)):
        low, high = int(rows[:split].min()), int(rows[split:].min())
        raise UserError(
            f"{raw.source}, column {metric}",
            f"seems to mix units: {numbers[low]:g} in {raw.place(low)}, {numbers[high]:g} in {raw.place(high)}; use "
            f"one unit, or --mixed-units when this is right",
        )

"""From a table of runs to the two arms of each cell; nothing is dropped, averaged or guessed on the way."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from seedstudy.errors import UserError
from seedstudy.statistics.failures import OK, FailureCount, count_failures
from seedstudy.statistics.summary import Summary, summarise
from seedstudy.statistics.values import FloatArray


class FamilyLike(Protocol):
    """What a family of the plan offers: a name, one axis with its two arms, and the axes of the cells."""

    @property
    def name(self) -> str:
        """Name of the family."""

    @property
    def between(self) -> Mapping[str, tuple[str, str]]:
        """One axis: (reference, treatment)."""

    @property
    def within(self) -> tuple[str, ...]:
        """Axes whose combinations are the cells."""


@dataclass(frozen=True)
class Family:
    """A family of comparisons declared on the command line; ``Family`` of the plan has the same attributes."""

    name: str
    between: Mapping[str, tuple[str, str]]
    within: tuple[str, ...]


@dataclass(frozen=True)
class Arm:
    """One arm of a cell: every run of it in order of the seeds, and the values of those with a result.

    ``all_seeds`` and ``statuses`` belong to every run; ``values`` (float64, shape (n,)) to the runs that are ``ok``, in
    the same order.
    """

    label: str
    all_seeds: tuple[str, ...]
    statuses: tuple[str, ...]
    values: FloatArray

    @cached_property
    def seeds(self) -> tuple[str, ...]:
        """Seeds of the runs with a result."""
        return tuple(seed for seed, status in zip(self.all_seeds, self.statuses, strict=True) if status == OK)

    @cached_property
    def failures(self) -> FailureCount:
        """Runs without a result."""
        return count_failures(self.statuses)

    def only(self, seeds: Collection[str]) -> Arm:
        """The arm as it would stand with these seeds alone."""
        wanted = [index for index, seed in enumerate(self.all_seeds) if seed in seeds]
        finished = np.array([seed in seeds for seed in self.seeds], dtype=bool)
        return Arm(
            self.label,
            tuple(self.all_seeds[index] for index in wanted),
            tuple(self.statuses[index] for index in wanted),
            self.values[finished],
        )

    @property
    def n(self) -> int:
        """Runs with a result."""
        return int(self.values.size)

    @cached_property
    def summary(self) -> Summary | None:
        """Summary of the results, None without any."""
        return summarise(self.values) if self.n else None


@dataclass(frozen=True)
class Cell:
    """Both arms at one combination of the other axes. ``where`` maps an axis to its value; empty for a single cell."""

    where: dict[str, str]
    reference: Arm
    treatment: Arm

    @property
    def name(self) -> str:
        """The combination in words."""
        return ", ".join(f"{axis} {value}" for axis, value in self.where.items()) or "all runs"


def axis_text(column: pd.Series[Any]) -> pd.Series[str]:
    """Values of an axis as text, booleans in lower case as in the plan and the table of runs.

    Parameters
    ----------
    column : pandas.Series
        Any type.

    Returns
    -------
    pandas.Series
        Of str.
    """
    if column.dtype == bool:
        return column.map({True: "true", False: "false"}).astype(str)
    return column.astype(str)


def split_cells(runs: pd.DataFrame, family: FamilyLike, metric: str) -> list[Cell]:
    """Split a table of runs into cells of two arms.

    Parameters
    ----------
    runs : pandas.DataFrame
        One row a run: ``seed``, ``status`` (``ok``, ``diverged``, ``failed``), the axes of the family and the metric
        (float64, finite where the status is ok). ``runs.attrs["source"]`` names the table in errors.
    family : FamilyLike
        Axis and arms; an arm may join values by ``|``.
    metric : str
        Column of the metric.

    Returns
    -------
    list of Cell
        Sorted by the axes, numbers as numbers.

    Raises
    ------
    UserError
        A column is missing, an arm has no run, a cell lacks an arm, or a seed stands twice in an arm.
    """
    source = runs.attrs.get("source", "table of runs")
    ((axis, arms),) = family.between.items()
    for column in (axis, *family.within, "seed", "status", metric):
        if column not in runs.columns:
            raise UserError(source, f"has no column {column!r}; it has {', '.join(map(str, runs.columns))}")
    if axis in family.within:
        raise UserError(source, f"{axis!r} is what the arms differ in; it cannot be an axis of the cells too")
    levels = axis_text(runs[axis])
    sides = [levels.isin(arm.split("|")).to_numpy() for arm in arms]
    for arm, side in zip(arms, sides, strict=True):
        if not side.any():
            raise UserError(f"{source}, column {axis}", f"no run has {arm!r}; it has {', '.join(sorted(set(levels)))}")
    if (sides[0] & sides[1]).any():
        raise UserError(f"{source}, column {axis}", f"the arms {arms[0]!r} and {arms[1]!r} share runs; name them apart")
    frame = pd.DataFrame({axis: axis_text(runs[axis]) for axis in family.within}, index=runs.index)
    keys = np.zeros(len(runs), dtype=np.int64)
    if family.within:
        ranks = np.column_stack([_order(frame[name]) for name in family.within])
        keys = np.unique(ranks, axis=0, return_inverse=True)[1].ravel()
    used = sides[0] | sides[1]
    columns = _Columns(
        runs[metric].to_numpy(np.float64),
        _order(axis_text(runs["seed"])),
        axis_text(runs["seed"]).to_numpy(),
        runs["status"].astype(str).to_numpy(),
        str(source),
    )
    cells = []
    order = np.argsort(keys, kind="stable")
    order = order[used[order]]
    for rows in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        where = {name: str(frame[name].iloc[rows[0]]) for name in family.within}
        both = [_arm(columns, rows[side[rows]], arm, axis, where) for arm, side in zip(arms, sides, strict=True)]
        cells.append(Cell(where, *both))
    return cells


@dataclass(frozen=True)
class _Columns:
    values: FloatArray
    order: FloatArray
    seeds: np.ndarray[Any, Any]
    statuses: np.ndarray[Any, Any]
    source: str


def _order(labels: pd.Series[Any]) -> FloatArray:
    """Ranks: numeric where all labels are numbers, so that 10 follows 9; else alphabetic."""
    numbers = pd.to_numeric(labels, errors="coerce")
    ordered = labels.astype(str).rank(method="dense") if numbers.isna().any() else numbers.rank(method="dense")
    return np.asarray(ordered, dtype=np.float64)


def _arm(columns: _Columns, rows: np.ndarray[Any, Any], label: str, axis: str, where: dict[str, str]) -> Arm:
    place = ", ".join(f"{name} {value}" for name, value in where.items()) or "all runs"
    if not rows.size:
        raise UserError(columns.source, f"cell {place} has no run with {axis} {label}; add it or leave the cell out")
    rows = rows[np.argsort(columns.order[rows], kind="stable")]
    seeds: Sequence[str] = columns.seeds[rows].tolist()
    if len(set(seeds)) < len(seeds):
        twice = next(seed for index, seed in enumerate(seeds) if seed in seeds[:index])
        raise UserError(
            columns.source,
            f"seed {twice} stands twice in cell {place}, {axis} {label}; remove the repeated run or name the column "
            f"that tells them apart among the axes of the cells",
        )
    statuses = columns.statuses[rows].tolist()
    ok = np.array([status == OK for status in statuses])
    values = columns.values[rows][ok]
    if not np.isfinite(values).all():
        bad = np.array(seeds)[ok][~np.isfinite(values)][0]
        raise UserError(columns.source, f"seed {bad} in cell {place}, {axis} {label} is ok but has no finite metric")
    return Arm(label, tuple(seeds), tuple(statuses), values)

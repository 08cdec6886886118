"""From a table of runs to the two arms of each cell; nothing is dropped, averaged or guessed on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
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


def split_runs(runs: pd.DataFrame, axes: Sequence[str], metric: str) -> list[tuple[dict[str, str], Arm]]:
    """Split a table of runs into its configurations.

    Parameters
    ----------
    runs : pandas.DataFrame
        One row a run: ``seed``, ``status`` (``ok``, ``diverged``, ``failed``), the axes and the metric (float64, finite
        where the status is ok). ``runs.attrs["source"]`` names the table in errors.
    axes : sequence of str
        Columns whose combinations are the configurations; none for all runs together.
    metric : str
        Column of the metric.

    Returns
    -------
    list of (dict, Arm)
        Axis to value, and the runs; in order of first appearance.

    Raises
    ------
    UserError
        A column is missing, a seed stands twice in a configuration, or a run that is ok has no finite metric.
    """
    source = str(runs.attrs.get("source", "table of runs"))
    for column in (*axes, "seed", "status", metric):
        if column not in runs.columns:
            raise UserError(source, f"has no column {column!r}; it has {', '.join(map(str, runs.columns))}")
    labels = pd.DataFrame({axis: axis_text(runs[axis]) for axis in axes}, index=runs.index)
    keys = labels.groupby(list(axes), sort=False).ngroup().to_numpy() if axes else np.zeros(len(runs), dtype=np.int64)
    seeds = axis_text(runs["seed"])
    order = np.lexsort((_order(seeds), keys))
    names, statuses = seeds.to_numpy()[order], runs["status"].astype(str).to_numpy()[order]
    values = runs[metric].to_numpy(np.float64)[order]
    result = []
    for rows in np.split(np.arange(order.size), np.flatnonzero(np.diff(keys[order])) + 1):
        if not rows.size:
            continue
        where = {axis: str(labels[axis].iloc[order[rows[0]]]) for axis in axes}
        arm = Arm(
            ", ".join(where.values()),
            tuple(names[rows].tolist()),
            tuple(statuses[rows].tolist()),
            values[rows][statuses[rows] == OK],
        )
        _check_arm(arm, where, source)
        result.append((where, arm))
    return result


def _check_arm(arm: Arm, where: Mapping[str, str], source: str) -> None:
    place = ", ".join(f"{axis} {value}" for axis, value in where.items()) or "the table"
    if len(set(arm.all_seeds)) < len(arm.all_seeds):
        twice = next(seed for seed, count in Counter(arm.all_seeds).items() if count > 1)
        raise UserError(
            source,
            f"seed {twice} stands twice in {place}; remove the repeated run or name the column that tells them apart "
            f"among the axes",
        )
    if not np.isfinite(arm.values).all():
        seed = arm.seeds[int(np.argmax(~np.isfinite(arm.values)))]
        raise UserError(source, f"seed {seed} in {place} is ok but has no finite metric")


def split_cells(runs: pd.DataFrame, family: FamilyLike, metric: str) -> list[Cell]:
    """Split a table of runs into cells of two arms.

    Parameters
    ----------
    runs : pandas.DataFrame
        One row a run, as `split_runs` takes it.
    family : FamilyLike
        Axis and arms; an arm may join values by ``|``.
    metric : str
        Column of the metric.

    Returns
    -------
    list of Cell
        Sorted by the axes, numbers as numbers. Runs at other values of the axis than the arms' belong to none.

    Raises
    ------
    UserError
        As in `split_runs`; or an arm has no run, a cell lacks an arm, or the arms share runs.
    """
    source = runs.attrs.get("source", "table of runs")
    ((axis, arms),) = family.between.items()
    if axis in family.within:
        raise UserError(source, f"{axis!r} is what the arms differ in; it cannot be an axis of the cells too")
    if axis not in runs.columns:
        raise UserError(source, f"has no column {axis!r}; it has {', '.join(map(str, runs.columns))}")
    levels = axis_text(runs[axis])
    sides = [levels.isin(arm.split("|")).to_numpy() for arm in arms]
    for arm, side in zip(arms, sides, strict=True):
        if not side.any():
            raise UserError(f"{source}, column {axis}", f"no run has {arm!r}; it has {', '.join(sorted(set(levels)))}")
    if (sides[0] & sides[1]).any():
        raise UserError(f"{source}, column {axis}", f"the arms {arms[0]!r} and {arms[1]!r} share runs; name them apart")
    found: dict[tuple[str, ...], dict[str, Arm]] = {}
    for arm, side in zip(arms, sides, strict=True):
        for where, runs_of_arm in split_runs(runs[side], family.within, metric):
            found.setdefault(tuple(where.values()), {})[arm] = replace(runs_of_arm, label=arm)
    for values, both in found.items():
        for arm in arms:
            if arm not in both:
                place = ", ".join(f"{name} {value}" for name, value in zip(family.within, values, strict=True))
                raise UserError(source, f"cell {place} has no run with {axis} {arm}; add it or leave the cell out")
    ranks = [
        dict(zip(column, _order(pd.Series(column, dtype=object)), strict=True)) for column in zip(*found, strict=True)
    ]
    ordered = sorted(found, key=lambda values: [rank[value] for rank, value in zip(ranks, values, strict=True)])
    return [
        Cell(dict(zip(family.within, values, strict=True)), *(found[values][arm] for arm in arms)) for values in ordered
    ]


def _order(labels: pd.Series[Any]) -> FloatArray:
    """Ranks: numeric where all labels are numbers, so that 10 follows 9; else alphabetic."""
    numbers = pd.to_numeric(labels, errors="coerce")
    ordered = labels.astype(str).rank(method="dense") if numbers.isna().any() else numbers.rank(method="dense")
    return np.asarray(ordered, dtype=np.float64)

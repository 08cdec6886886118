"""Planning a study: the spread of a pilot, the seeds that a margin needs, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from seedstudy.errors import UserError
from seedstudy.statistics.comparison import FamilyComparison
from seedstudy.statistics.power import POWER, seeds_needed, smallest_difference, smallest_margin
from seedstudy.statistics.summary import sd_interval


@dataclass(frozen=True)
class Spread:
    """SD that drives the number of seeds, with the upper bound of its one-sided interval; ``n`` runs (or pairs) a cell.

    When paired, ``sd`` is that of the differences between the arms of a seed. ``resolution`` is the step of the values.
    """

    sd: float
    sd_upper: float
    df: int
    n: int
    correlation: float
    resolution: float
    paired: bool


@dataclass(frozen=True)
class SeedNeed:
    """Seeds an arm for one true difference, at the SD as estimated and at its upper bound (None: over 100,000)."""

    difference: float
    seeds: int | None
    seeds_at_upper: int | None


def spread_of(family: FamilyComparison, level: float = 0.8) -> Spread:
    """Pooled spread of a pilot study.

    Parameters
    ----------
    family : FamilyComparison
        The pilot, compared as the study will be.
    level : float
        Confidence of the upper bound (Browne 1995 suggests 0.8 for planning).

    Returns
    -------
    Spread
        SD of the differences of pairs when every cell was paired by seed, else SD between the runs of an arm.

    Raises
    ------
    UserError
        No cell has two results an arm.

    Notes
    -----
    Variances are pooled by their degrees of freedom: one common SD is assumed. The bound assumes normal values.
    """
    paired = all(cell.method == "paired" for cell in family.cells)
    parts = []
    for cell in family.cells:
        if paired and cell.paired is not None:
            parts.append((cell.pairs - 1, float(cell.paired.se) * np.sqrt(cell.pairs)))
        elif not paired:
            summaries = [arm.summary for arm in (cell.reference, cell.treatment)]
            parts += [(found.n - 1, found.sd) for found in summaries if found is not None and found.n > 1]
    df = sum(part[0] for part in parts)
    if df < 1:
        raise UserError("pilot", "no configuration has two runs with a result; a spread needs them")
    sd = float(np.sqrt(sum(degrees * value**2 for degrees, value in parts) / df))
    summaries = [arm.summary for cell in family.cells for arm in (cell.reference, cell.treatment)]
    known = [cell.correlation for cell in family.cells if not np.isnan(cell.correlation)]
    return Spread(
        sd=sd,
        sd_upper=sd_interval(sd, df + 1, 2.0 * level - 1.0).high,
        df=df,
        n=min(cell.pairs if paired else min(cell.reference.n, cell.treatment.n) for cell in family.cells),
        correlation=float(np.median(known)) if known else float("nan"),
        resolution=min(found.resolution for found in summaries if found is not None),
        paired=paired,
    )


def seed_needs(
    spread: Spread, margin: float, differences: Sequence[float], alpha: float = 0.05, power: float = POWER
) -> list[SeedNeed]:
    """Seeds an arm for each true difference.

    Parameters
    ----------
    spread : Spread
        SD and pairing.
    margin : float
        Margin, > 0, in units of the metric.
    differences : sequence of float
        True differences to plan for.
    alpha : float
        Level of each one-sided test.
    power : float
        Chance of a verdict, 0 < power < 1.

    Returns
    -------
    list of SeedNeed

    Notes
    -----
    As `seedstudy.statistics.power.seeds_needed`: EQUIVALENT within the margin, DIFFERENT beyond it.
    """
    return [
        SeedNeed(
            difference,
            seeds_needed(spread.sd, margin, difference, alpha, power, spread.paired),
            seeds_needed(spread.sd_upper, margin, difference, alpha, power, spread.paired),
        )
        for difference in differences
    ]


@dataclass(frozen=True)
class Detectable:
    """What n seeds an arm can show: the smallest difference detected, alone and under Holm, and the smallest margin."""

    n: int
    difference: float
    difference_holm: float
    margin: float


def detectable(spread: Spread, n: int, cells: int = 1, alpha: float = 0.05, power: float = POWER) -> Detectable:
    """Smallest effects that n seeds an arm show with the power asked for.

    Parameters
    ----------
    spread : Spread
        SD and pairing.
    n : int
        Seeds an arm, >= 2.
    cells : int
        Cells of the family: the first step of Holm tests at alpha / cells.
    alpha : float
        Level.
    power : float
        Chance to show it.

    Returns
    -------
    Detectable
        In units of the metric.

    Raises
    ------
    ValueError
        If n < 2.
    """
    return Detectable(
        n,
        smallest_difference(n, spread.sd, alpha, power, spread.paired),
        smallest_difference(n, spread.sd, alpha / cells, power, spread.paired),
        smallest_margin(n, spread.sd, alpha, power, spread.paired),
    )


def seconds_a_run(runs: pd.DataFrame, column: str) -> float:
    """Mean time of a run that recorded one.

    Parameters
    ----------
    runs : pandas.DataFrame
        Table of runs.
    column : str
        Column of the times, in seconds; empty where a run recorded none.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    UserError
        There is no such column, or no time in it.
    """
    source = runs.attrs.get("source", "table of runs")
    if column not in runs.columns:
        raise UserError(source, f"has no column {column!r}; name that of the seconds a run took")
    times = pd.to_numeric(runs[column], errors="coerce").to_numpy(float)
    times = times[np.isfinite(times)]
    if not times.size or (times < 0.0).any():
        raise UserError(f"{source}, column {column}", "holds no time, or a negative one")
    return float(times.mean())

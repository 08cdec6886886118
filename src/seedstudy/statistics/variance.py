"""Spread of two arms: Brown-Forsythe, the F test, and the ratio of the standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtr, fdtrc, fdtri
from scipy.stats import levene

from seedstudy.statistics.estimate import ScalarInterval
from seedstudy.statistics.values import as_values, mean_and_sd


@dataclass(frozen=True)
class VarianceRatio:
    """Ratio of standard deviations (treatment over reference), its interval, and the two-sided F test's p."""

    sd_ratio: float
    interval: ScalarInterval
    p_f: float


@dataclass(frozen=True)
class VarianceComparison:
    """`VarianceRatio` of two arms with the p of the Brown-Forsythe test, which non-normal data do not mislead.

    That p is NaN where distances from the medians do not vary within the arms, as with two values each.
    """

    ratio: VarianceRatio
    p_brown_forsythe: float


def variance_ratio(
    sd_reference: float, n_reference: int, sd_treatment: float, n_treatment: int, level: float = 0.95
) -> VarianceRatio:
    """F test and interval of a ratio of standard deviations, from the SDs alone.

    Parameters
    ----------
    sd_reference, sd_treatment : float
        Standard deviations, ddof = 1, >= 0.
    n_reference, n_treatment : int
        Runs an arm, >= 2.
    level : float
        Confidence of the interval.

    Returns
    -------
    VarianceRatio
        Ratio NaN with p = 1 when neither arm has any spread; p = 0 when one of them has none.

    Raises
    ------
    ValueError
        If an arm has fewer than 2 runs.

    Notes
    -----
    Null: equal variances. Alternative: unequal variances (two-sided: twice the smaller tail). Assumes normal data, and
    is badly misled by heavy tails: under exponential data a nominal 5 % is about 26 %.
    """
    if min(n_reference, n_treatment) < 2:
        raise ValueError("a variance ratio needs at least 2 runs an arm")
    a, b = n_treatment - 1, n_reference - 1
    nothing = float("nan")
    if sd_reference == 0.0 and sd_treatment == 0.0:
        return VarianceRatio(nothing, ScalarInterval(nothing, nothing, level), 1.0)
    if sd_reference == 0.0:
        return VarianceRatio(float("inf"), ScalarInterval(nothing, nothing, level), 0.0)
    ratio = sd_treatment / sd_reference
    f = ratio**2
    tail = (1.0 - level) / 2.0
    low, high = (ratio / np.sqrt(fdtri(a, b, p)) for p in (1.0 - tail, tail))
    p = min(1.0, 2.0 * min(float(fdtr(a, b, f)), float(fdtrc(a, b, f))))
    return VarianceRatio(ratio, ScalarInterval(float(low), float(high), level), p)


def compare_variances(reference: ArrayLike, treatment: ArrayLike, level: float = 0.95) -> VarianceComparison:
    """Brown-Forsythe test, F test and ratio of standard deviations of two arms.

    Parameters
    ----------
    reference, treatment : array_like
        Shape (n,) and (m,), n, m >= 2, in units of the metric.
    level : float
        Confidence of the interval of the ratio.

    Returns
    -------
    VarianceComparison

    Raises
    ------
    ValueError
        If an arm has fewer than 2 values or one is not finite.

    Notes
    -----
    Null of both tests: equal spread. Alternative: unequal spread. Brown-Forsythe (1974) is an analysis of variance of
    the absolute deviations from the medians (``scipy.stats.levene(center="median")``): it assumes independent runs
    only, not normal ones.
    """
    x, y = as_values(reference, "reference"), as_values(treatment, "treatment")
    sd_x, sd_y = float(mean_and_sd(x)[1]), float(mean_and_sd(y)[1])
    ratio = variance_ratio(sd_x, x.size, sd_y, y.size, level)
    if sd_x == 0.0 and sd_y == 0.0:
        return VarianceComparison(ratio, 1.0)
    if max(x.size, y.size) <= 2:
        return VarianceComparison(ratio, float("nan"))
    with np.errstate(divide="ignore", invalid="ignore"):
        return VarianceComparison(ratio, float(levene(x, y, center="median").pvalue))

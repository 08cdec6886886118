"""Difference of two arms: Welch and paired t estimates, standardised effect, probability of superiority."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from scipy.stats import rankdata

from seedstudy.statistics.estimate import Estimate
from seedstudy.statistics.rounding import allow_for_rounding
from seedstudy.statistics.values import FloatArray, Real, as_values, mean_and_sd, resolution


def welch_from_summaries(
    mean_reference: Real,
    sd_reference: Real,
    n_reference: int,
    mean_treatment: Real,
    sd_treatment: Real,
    n_treatment: int,
) -> Estimate:
    """Welch's estimate of a difference of means (treatment minus reference) from means and SDs.

    Parameters
    ----------
    mean_reference, mean_treatment : float or numpy.ndarray
        Means of the arms, in units of the metric; shape (...).
    sd_reference, sd_treatment : float or numpy.ndarray
        Standard deviations, ddof = 1, same shape.
    n_reference, n_treatment : int
        Runs an arm, >= 2.

    Returns
    -------
    Estimate
        With the Welch-Satterthwaite degrees of freedom; shape (...).

    Raises
    ------
    ValueError
        If an arm has fewer than 2 runs.

    Notes
    -----
    Null of its tests: equal means. Alternative: unequal means. Assumes independent runs and near-normal means;
    variances may differ. Source: Welch (1947); agrees with ``scipy.stats.ttest_ind(equal_var=False)``.
    """
    if min(n_reference, n_treatment) < 2:
        raise ValueError("Welch's estimate needs at least 2 runs an arm")
    a = np.square(sd_reference) / n_reference
    b = np.square(sd_treatment) / n_treatment
    with np.errstate(invalid="ignore", divide="ignore"):
        # As a share of the total, so that tiny variances do not underflow when squared.
        share = np.where(a + b > 0.0, a / (a + b), 0.5)
    df = 1.0 / (share**2 / (n_reference - 1) + (1.0 - share) ** 2 / (n_treatment - 1))
    return Estimate(np.subtract(mean_treatment, mean_reference)[()], np.sqrt(a + b)[()], df[()])


def welch(reference: ArrayLike, treatment: ArrayLike) -> Estimate:
    """Welch's estimate of the difference of means, treatment minus reference.

    Parameters
    ----------
    reference, treatment : array_like
        Shape (..., n) and (..., m), n, m >= 2: one value a run along the last axis, in units of the metric.

    Returns
    -------
    Estimate
        Shape (...).

    Raises
    ------
    ValueError
        If an arm has fewer than 2 values or one is not finite.

    Notes
    -----
    Null, alternative, assumptions and source as in `welch_from_summaries`. Values rounded to about their SD or more
    coarsely widen the interval by what the rounding may hide, at most one step; finer ones change nothing visible.
    """
    x, y = as_values(reference, "reference"), as_values(treatment, "treatment")
    (mean_x, sd_x), (mean_y, sd_y) = mean_and_sd(x), mean_and_sd(y)
    estimate = welch_from_summaries(mean_x, sd_x, x.shape[-1], mean_y, sd_y, y.shape[-1])
    step = max(resolution(x.ravel()), resolution(y.ravel()))
    counts = [x.shape[-1], y.shape[-1]]
    return allow_for_rounding(estimate, [-1.0, 1.0], [sd_x, sd_y], counts, step, step > np.minimum(sd_x, sd_y))


def paired(reference: ArrayLike, treatment: ArrayLike) -> Estimate:
    """Paired t estimate of the mean difference, treatment minus reference, seed by seed.

    Parameters
    ----------
    reference, treatment : array_like
        Shape (..., n), n >= 2: the same seeds in the same order along the last axis, in units of the metric.

    Returns
    -------
    Estimate
        With n - 1 degrees of freedom; shape (...).

    Raises
    ------
    ValueError
        If the shapes differ, n < 2 or a value is not finite.

    Notes
    -----
    Null of its tests: the mean of the differences is 0. Alternative: it is not. Assumes independent pairs with
    near-normal differences; it is valid whether or not a seed fixes the same random streams in both arms, and sharper
    than Welch only when it does. Agrees with ``scipy.stats.ttest_rel``; rounded values as in `welch`.
    """
    x, y = as_values(reference, "reference"), as_values(treatment, "treatment")
    if x.shape != y.shape:
        raise ValueError(f"paired arms need the same shape, not {x.shape} and {y.shape}")
    if x.shape[-1] < 2:
        raise ValueError("a paired estimate needs at least 2 pairs")
    return contrast_by_seed([x, y], [-1.0, 1.0])


def contrast_by_seed(arms: Sequence[FloatArray], weights: Sequence[float]) -> Estimate:
    """Estimate of a contrast of arms that hold the same seeds: its mean over the seeds.

    Parameters
    ----------
    arms : sequence of numpy.ndarray
        float64, finite, shape (..., n) each, n >= 2: the same seeds in the same order along the last axis.
    weights : sequence of float
        Of each arm, not 0.

    Returns
    -------
    Estimate
        With n - 1 degrees of freedom; shape (...).

    Notes
    -----
    The contrast is worked out seed by seed; null, alternative and assumptions are those of `paired`, of which it is the
    general case.
    """
    contrasts = np.sum([weight * arm for weight, arm in zip(weights, arms, strict=True)], axis=0)
    mean, sd = mean_and_sd(contrasts)
    # Sums of nearly equal numbers carry the rounding of the numbers, not their own.
    largest = np.max([np.abs(arm).max(axis=-1) for arm in arms], axis=0)
    sd = np.where(sd <= 4 * np.spacing(largest), 0.0, sd)[()]
    n = contrasts.shape[-1]
    estimate = Estimate(mean, sd / np.sqrt(n), np.full(contrasts.shape[:-1], n - 1.0)[()])
    step = max(resolution(arm.ravel()) for arm in arms)
    sds = [mean_and_sd(arm)[1] for arm in arms]
    return allow_for_rounding(estimate, weights, sds, [n] * len(arms), step, step * np.abs(weights).max() > sd)


def hedges_g(
    mean_difference: float, sd_reference: float, n_reference: int, sd_treatment: float, n_treatment: int
) -> float:
    """Standardised mean difference with Hedges' exact correction for small samples.

    Parameters
    ----------
    mean_difference : float
        Treatment minus reference, in units of the metric.
    sd_reference, sd_treatment : float
        Standard deviations, ddof = 1.
    n_reference, n_treatment : int
        Runs an arm; more than 2 in total.

    Returns
    -------
    float
        In pooled standard deviations; 0 for no difference, infinite for a difference without any spread.

    Raises
    ------
    ValueError
        If an arm has fewer than 2 runs.

    Notes
    -----
    Source: Hedges (1981), the gamma-function form of the correction. Assumes a common variance.
    """
    if min(n_reference, n_treatment) < 2:
        raise ValueError("Hedges' g needs at least 2 runs an arm")
    df = n_reference + n_treatment - 2
    pooled = np.sqrt(((n_reference - 1) * sd_reference**2 + (n_treatment - 1) * sd_treatment**2) / df)
    if mean_difference == 0.0:
        return 0.0
    if pooled == 0.0:
        return float(np.copysign(np.inf, mean_difference))
    correction = np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2)
    return float(mean_difference / pooled * correction)


def probability_of_superiority(reference: ArrayLike, treatment: ArrayLike) -> float:
    """Share of pairs of runs in which the treatment's value is the larger; ties count one half.

    Parameters
    ----------
    reference, treatment : array_like
        Shape (n,) and (m,), in units of the metric.

    Returns
    -------
    float
        In [0, 1]; 0.5 when neither arm tends to be larger. It is the Mann-Whitney U statistic over n m.

    Raises
    ------
    ValueError
        If an arm is empty or a value is not finite.
    """
    x, y = as_values(reference, "reference"), as_values(treatment, "treatment")
    ranks = rankdata(np.concatenate([y, x]))[: y.size]
    return float((ranks.sum() - y.size * (y.size + 1) / 2) / (x.size * y.size))


def correlation(reference: ArrayLike, treatment: ArrayLike) -> float:
    """Pearson correlation of paired runs.

    Parameters
    ----------
    reference, treatment : array_like
        Shape (n,): the same seeds in the same order.

    Returns
    -------
    float
        In [-1, 1]; NaN with fewer than 2 pairs or when an arm has no spread.

    Raises
    ------
    ValueError
        If the shapes differ or a value is not finite.
    """
    x, y = as_values(reference, "reference"), as_values(treatment, "treatment")
    if x.shape != y.shape:
        raise ValueError(f"paired arms need the same shape, not {x.shape} and {y.shape}")
    sd_x, sd_y = mean_and_sd(x)[1], mean_and_sd(y)[1]
    if x.size < 2 or sd_x == 0.0 or sd_y == 0.0:
        return float("nan")
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))

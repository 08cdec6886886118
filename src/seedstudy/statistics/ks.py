"""Two-sample Kolmogorov-Smirnov: exact p without ties, exact permutation p with them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import ks_2samp

from seedstudy.statistics.values import FloatArray, as_values

MOST_PAIRS = 10**9
"""Largest n m for which the permutations of tied values are counted: some ten seconds."""


@dataclass(frozen=True)
class KsComparison:
    """Largest distance of the two empirical distribution functions, and its p values.

    ``p_exact`` is the published kind: exact under continuous data, too large when values are tied. ``p_permutation`` is
    exact given the ties (NaN without any, where the two agree, and for arms of which n m exceeds `MOST_PAIRS`).
    """

    statistic: float
    p_exact: float
    p_permutation: float
    ties: bool


def ks_statistic(reference: ArrayLike, treatment: ArrayLike) -> FloatArray:
    """Two-sided KS statistic along the last axis, of many studies at once.

    Parameters
    ----------
    reference, treatment : array_like
        Shape (..., n) and (..., m), in units of the metric.

    Returns
    -------
    numpy.ndarray
        Shape (...): the largest distance of the two empirical distribution functions, in [0, 1].

    Raises
    ------
    ValueError
        If an arm is empty or a value is not finite.
    """
    x, y = as_values(reference, "reference"), as_values(treatment, "treatment")
    pooled = np.concatenate([x, y], axis=-1)
    order = np.argsort(pooled, axis=-1)
    steps = np.where(order < x.shape[-1], 1.0 / x.shape[-1], -1.0 / y.shape[-1])
    ordered = np.take_along_axis(pooled, order, axis=-1)
    # Within a tie the functions have not both jumped yet: only the last place of a tie counts.
    last = np.ones(ordered.shape, dtype=bool)
    last[..., :-1] = ordered[..., 1:] != ordered[..., :-1]
    distances = np.where(last, np.abs(np.cumsum(steps, axis=-1)), 0.0)
    largest: FloatArray = distances.max(axis=-1)
    return largest


def ks_permutation_pvalue(reference: ArrayLike, treatment: ArrayLike) -> float:
    """Exact permutation p of the two-sided KS statistic, given the ties.

    Parameters
    ----------
    reference, treatment : array_like
        Shape (n,) and (m,), in units of the metric.

    Returns
    -------
    float
        The share of all ``(n + m)! / (n! m!)`` ways to deal the pooled values into the arms whose statistic is at
        least the one seen; in [0, 1].

    Raises
    ------
    ValueError
        If an arm is empty or a value is not finite.

    Notes
    -----
    Null: both arms come from one distribution (runs are exchangeable). Alternative: they do not. No distribution is
    assumed. Instead of drawing permutations, all are counted: the number of reference values among the k smallest is
    a walk with hypergeometric steps, absorbed where the distance at the end of a tie reaches the one seen, in
    O((n + m) n) operations (Schroeer and Trenkler 1995). It is what infinitely many permutations converge to.
    """
    x, y = as_values(reference, "reference"), as_values(treatment, "treatment")
    pooled = np.sort(np.concatenate([x, y]))
    tie_ends = np.append(pooled[1:] != pooled[:-1], True)
    return _tail_probability(float(ks_statistic(x, y)), x.size, y.size, tie_ends)


def ks_exact_pvalue(statistic: float, n: int, m: int) -> float:
    """Exact p of a KS statistic of two arms without ties.

    Parameters
    ----------
    statistic : float
        Two-sided KS statistic, in [0, 1].
    n, m : int
        Runs an arm, >= 1.

    Returns
    -------
    float
        Chance of a statistic at least as large under the null; in [0, 1].

    Raises
    ------
    ValueError
        If a number of runs is not positive.

    Notes
    -----
    Null, alternative and method as in `ks_permutation_pvalue`; for a published statistic whose runs are not known.
    """
    if min(n, m) < 1:
        raise ValueError(f"an arm needs a run, not {n} and {m}")
    return _tail_probability(statistic, n, m, np.ones(n + m, dtype=bool))


def _tail_probability(statistic: float, n: int, m: int, tie_ends: NDArray[np.bool_]) -> float:
    # Distances are multiples of 1 / (n m): half a step absorbs the rounding of the division.
    reached = statistic - 0.5 / (n * m)
    taken = np.arange(n + 1)
    alive = np.zeros(n + 1)
    alive[0] = 1.0
    absorbed = 0.0
    for k in range(n + m):
        left = n + m - k
        to_reference = alive * np.maximum(n - taken, 0) / left
        to_treatment = alive * np.maximum(m - (k - taken), 0) / left
        alive = to_treatment
        alive[1:] += to_reference[:-1]
        if tie_ends[k]:
            out = np.abs(taken / n - (k + 1 - taken) / m) >= reached
            absorbed += float(alive[out].sum())
            alive = np.where(out, 0.0, alive)
    return min(1.0, absorbed)


def compare_distributions(reference: ArrayLike, treatment: ArrayLike) -> KsComparison:
    """Two-sample, two-sided Kolmogorov-Smirnov test.

    Parameters
    ----------
    reference, treatment : array_like
        Shape (n,) and (m,), in units of the metric.

    Returns
    -------
    KsComparison

    Raises
    ------
    ValueError
        If an arm is empty or a value is not finite.

    Notes
    -----
    Null: both arms come from one distribution. Alternative: they do not. Independent runs are assumed; ``p_exact`` also
    assumes continuous values (``scipy.stats.ks_2samp(method="exact")``, which takes the asymptotic p where unequal arms
    of tens of thousands leave it no choice). It is a description beside the verdict: a large p shows no agreement,
    since at 20 runs an arm the test misses a shift of half an SD four times in five.
    """
    x, y = as_values(reference, "reference"), as_values(treatment, "treatment")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", RuntimeWarning)
        result = ks_2samp(x, y, method="exact")
    p = float(result.pvalue)
    if warned and x.size * y.size <= MOST_PAIRS:
        # scipy falls back to the asymptotic p also where rounding lifts an exact p of 1 above 1.
        p = ks_exact_pvalue(float(result.statistic), x.size, y.size)
    ties = np.unique(np.concatenate([x, y])).size < x.size + y.size
    return KsComparison(
        statistic=float(result.statistic),
        p_exact=p,
        p_permutation=ks_permutation_pvalue(x, y) if ties and x.size * y.size <= MOST_PAIRS else float("nan"),
        ties=ties,
    )

"""Power of the verdicts, and the seeds that a verdict needs."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri, ndtr, stdtrit
from scipy.stats import chi2, nct

MOST_SEEDS = 100_000
POWER = 0.8
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def _error_and_df(n: int, sd: float, paired: bool) -> tuple[float, int]:
    """Standard error of a difference with n runs an arm, and its degrees of freedom."""
    return (sd / np.sqrt(n), n - 1) if paired else (sd * np.sqrt(2.0 / n), 2 * n - 2)


def equivalence_power(
    n: int, sd: float, margin: float, difference: float = 0.0, alpha: float = 0.05, paired: bool = False
) -> float:
    """Chance that TOST shows equivalence.

    Parameters
    ----------
    n : int
        Runs an arm (pairs when paired), >= 2.
    sd : float
        SD between runs of an arm, the same in both; SD of the differences when paired. In units of the metric.
    margin : float
        Margin, > 0, in units of the metric.
    difference : float
        True difference.
    alpha : float
        Level of each one-sided test.
    paired : bool
        Whether the estimate is paired by seed.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        If n < 2.

    Notes
    -----
    Exact for normal data: given the estimated SD, both tests reject with a normal probability, which is integrated over
    the chi distribution of that SD (Phillips 1990; statsmodels has no power of TOST).
    """
    if n < 2:
        raise ValueError("power needs at least 2 runs an arm")
    se, df = _error_and_df(n, sd, paired)
    if se == 0.0:
        return float(abs(difference) < margin)
    critical = float(stdtrit(df, 1.0 - alpha))
    # Beyond this ratio of estimated to true SD the interval is wider than the margin allows.
    largest = margin / (se * critical)
    low, high = np.sqrt(chdtri(df, 1.0 - 1e-13) / df), min(largest, np.sqrt(chdtri(df, 1e-13) / df))
    if high <= low:
        return 0.0
    s = low + (high - low) * (_NODES + 1.0) / 2.0
    density = chi2.pdf(df * s**2, df) * 2.0 * df * s
    reject = ndtr((margin - difference) / se - critical * s) - ndtr((-margin - difference) / se + critical * s)
    return float(np.clip((high - low) / 2.0 * np.sum(_WEIGHTS * density * np.maximum(reject, 0.0)), 0.0, 1.0))


def beyond_power(
    n: int, sd: float, margin: float, difference: float, alpha: float = 0.05, paired: bool = False
) -> float:
    """Chance of the verdict DIFFERENT: the 1 - 2 alpha interval lies beyond the margin, on the side of the difference.

    Parameters
    ----------
    n, sd, margin, difference, alpha, paired
        As in `equivalence_power`.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        If n < 2.

    Notes
    -----
    Exact for normal data: the noncentral t distribution.
    """
    if n < 2:
        raise ValueError("power needs at least 2 runs an arm")
    se, df = _error_and_df(n, sd, paired)
    excess = abs(difference) - margin
    if se == 0.0:
        return float(excess > 0.0)
    # Beyond these ends scipy's tail is NaN at some places, and 0 or 1 at all others.
    return float(nct.sf(stdtrit(df, 1.0 - alpha), df, np.clip(excess / se, -37.0, 1e9)))


def seeds_needed(
    sd: float,
    margin: float,
    difference: float = 0.0,
    alpha: float = 0.05,
    power: float = POWER,
    paired: bool = False,
) -> int | None:
    """Fewest seeds an arm that decide between EQUIVALENT and DIFFERENT with the power asked for.

    Parameters
    ----------
    sd, margin, difference, alpha, paired
        As in `equivalence_power`. A true difference within the margin is to be shown equivalent, one beyond it
        different.
    power : float
        Chance to show it, 0 < power < 1.

    Returns
    -------
    int or None
        At least 2; None when no number up to 100,000 does, as for a true difference at the margin.
    """

    def enough(n: int) -> bool:
        of = equivalence_power if abs(difference) < margin else beyond_power
        return of(n, sd, margin, difference, alpha, paired) >= power

    high = 2
    while not enough(high):
        high *= 2
        if high > MOST_SEEDS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return max(high, 2)


def smallest_margin(n: int, sd: float, alpha: float = 0.05, power: float = POWER, paired: bool = False) -> float:
    """Smallest margin at which arms without a true difference are shown equivalent with the power asked for.

    Parameters
    ----------
    n, sd, alpha, paired
        As in `equivalence_power`.
    power : float
        Chance to show it, 0 < power < 1.

    Returns
    -------
    float
        In units of the metric.

    Raises
    ------
    ValueError
        If n < 2.
    """
    low, high = 0.0, sd
    while equivalence_power(n, sd, high, 0.0, alpha, paired) < power:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2.0
        enough = equivalence_power(n, sd, middle, 0.0, alpha, paired) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def smallest_difference(n: int, sd: float, alpha: float = 0.05, power: float = POWER, paired: bool = False) -> float:
    """Smallest true difference that a two-sided t test detects with the power asked for.

    Parameters
    ----------
    n, sd, paired
        As in `equivalence_power`.
    alpha : float
        Two-sided level; divide it by the number of cells for a bound that holds under Holm.
    power : float
        Chance to detect it, 0 < power < 1.

    Returns
    -------
    float
        In units of the metric.

    Raises
    ------
    ValueError
        If n < 2.

    Notes
    -----
    Exact for normal data with equal variances: the solvers of ``statsmodels.stats.power``.
    """
    if n < 2:
        raise ValueError("power needs at least 2 runs an arm")
    # Imported here: it takes longer than the rest of the statistics, and no verdict, table or figure needs it.
    from statsmodels.stats.power import TTestIndPower, TTestPower

    if paired:
        return sd * float(TTestPower().solve_power(nobs=n, alpha=alpha, power=power))
    return sd * float(TTestIndPower().solve_power(nobs1=n, alpha=alpha, power=power))

"""Summary of the runs of one configuration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, stdtrit

from seedstudy.statistics.estimate import ScalarInterval
from seedstudy.statistics.values import as_values, mean_and_sd, resolution

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Summary:
    """Location and spread of the finished runs of one configuration, in units of the metric.

    ``sd`` has ddof = 1. Intervals and SD are NaN for one run. ``quantiles`` maps a probability to its value (linear
    interpolation, NumPy's default). ``resolution`` is the lattice of the values, and ``coarse`` says that it exceeds a
    tenth of the SD, so that rounding is part of the spread and of every tie.
    """

    n: int
    mean: float
    mean_interval: ScalarInterval
    sd: float
    sd_interval: ScalarInterval
    minimum: float
    maximum: float
    quantiles: dict[float, float]
    resolution: float

    @property
    def coarse(self) -> bool:
        """Whether the values are rounded to more than a tenth of their SD (or show no spread at all)."""
        return self.n > 1 and bool(self.resolution > self.sd / 10.0)


def sd_interval(sd: float, n: int, level: float = 0.95) -> ScalarInterval:
    """Confidence interval of a standard deviation.

    Parameters
    ----------
    sd : float
        Standard deviation, ddof = 1.
    n : int
        Number of runs.
    level : float
        Confidence, 0 < level < 1.

    Returns
    -------
    ScalarInterval
        NaN bounds for n < 2.

    Notes
    -----
    Assumes normal values: ``(n - 1) sd**2 / sigma**2`` is chi-squared with n - 1 degrees of freedom.
    """
    if n < 2:
        return ScalarInterval(float("nan"), float("nan"), level)
    tail = (1.0 - level) / 2.0
    low, high = (sd * np.sqrt((n - 1) / chdtri(n - 1, p)) for p in (tail, 1.0 - tail))
    return ScalarInterval(float(low), float(high), level)


def summarise(values: ArrayLike, level: float = 0.95) -> Summary:
    """Summarise the metric of the finished runs of one configuration.

    Parameters
    ----------
    values : array_like
        Shape (n,), n >= 1, in units of the metric.
    level : float
        Confidence of the intervals.

    Returns
    -------
    Summary

    Raises
    ------
    ValueError
        If there is no value or one is not finite.

    Notes
    -----
    The intervals assume independent, near-normal runs (t for the mean, chi-squared for the SD).
    """
    x = as_values(values)
    mean, sd = (float(value) for value in mean_and_sd(x))
    half = float(stdtrit(x.size - 1, 0.5 + level / 2)) * sd / np.sqrt(x.size) if x.size > 1 else float("nan")
    return Summary(
        n=x.size,
        mean=mean,
        mean_interval=ScalarInterval(mean - half, mean + half, level),
        sd=sd,
        sd_interval=sd_interval(sd, x.size, level),
        minimum=float(x.min()),
        maximum=float(x.max()),
        quantiles=dict(zip(QUANTILES, np.quantile(x, QUANTILES).tolist(), strict=True)),
        resolution=resolution(x),
    )

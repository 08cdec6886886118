"""How much of the variance between seeds each random stream makes: initial weights, order, dropout, examples drawn."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import DegenerateDataWarning, bootstrap

from seedstudy.statistics.estimate import ScalarInterval
from seedstudy.statistics.values import as_values

MIN_PAIRS = 3


@dataclass(frozen=True)
class Sources:
    """Variance of a metric by stream.

    Attributes
    ----------
    n : int
        Pairs of runs a stream.
    total : float
        Variance between seeds (ddof = 1), all streams varying.
    total_interval : ScalarInterval
    components : dict of str to float
        Variance that ends when the stream is held, by stream.
    intervals : dict of str to ScalarInterval
    excess : float
        Sum of the components minus the total: 0 where streams act without each other, positive where they interact.
    excess_interval : ScalarInterval
    level : float
        Of all intervals.
    """

    n: int
    total: float
    total_interval: ScalarInterval
    components: dict[str, float]
    intervals: dict[str, ScalarInterval]
    excess: float
    excess_interval: ScalarInterval
    level: float

    @property
    def agrees(self) -> bool:
        """Whether the sum of the components may be the total."""
        return self.excess_interval.low <= 0 <= self.excess_interval.high


def variance_sources(
    base: ArrayLike, replaced: Mapping[str, ArrayLike], level: float, resamples: int, rng: np.random.Generator
) -> Sources:
    """Split the variance between seeds by random stream.

    Parameters
    ----------
    base : array_like, shape (n,)
        Metric of n runs, each with a seed of its own.
    replaced : mapping of str to array_like, shape (n,)
        By stream: of the same runs with that stream drawn from another seed, and all others as before.
    level : float
        Confidence of the intervals.
    resamples : int
        Of the bootstrap.
    rng : numpy.random.Generator

    Returns
    -------
    Sources

    Raises
    ------
    ValueError
        Fewer than 3 pairs, or arms of different lengths.

    Notes
    -----
    A stream's component is half the mean square of what replacing it alone changes: the total effect in the sense of
    Sobol', by the estimator of Jansen, "Analysis of variance designs for model output", Computer Physics
    Communications 117, 1999, eq. for the total effect. It holds the stream's own effect and its interactions, so the
    components of independent streams add up to the variance or more. Intervals are bias-corrected and accelerated
    bootstraps (Efron, JASA 1987) over the seeds, which keeps what the components share.
    """
    values = np.stack([as_values(base, "base"), *(as_values(arm, name) for name, arm in replaced.items())])
    n = values.shape[1]
    if n < MIN_PAIRS:
        raise ValueError(f"{n} pairs of runs; at least {MIN_PAIRS} are needed")

    def statistics(*arms: np.ndarray, axis: int = -1) -> np.ndarray:
        stacked = np.stack(arms)
        parts = ((stacked[1:] - stacked[0]) ** 2).mean(axis=axis) / 2
        total = stacked[0].var(axis=axis, ddof=1)
        return np.stack([total, *parts, parts.sum(axis=0) - total])

    found = statistics(*values)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        # Of a stream that changes nothing there is no distribution; its interval is set below.
        warnings.simplefilter("ignore", DegenerateDataWarning)
        drawn = bootstrap(
            tuple(values),
            statistics,
            paired=True,
            vectorized=True,
            axis=-1,
            n_resamples=resamples,
            confidence_level=level,
            method="BCa",
            rng=rng,
        ).confidence_interval
    intervals = [
        ScalarInterval(0.0, 0.0, level) if value == 0 else ScalarInterval(float(low), float(high), level)
        for value, low, high in zip(found, drawn.low, drawn.high, strict=True)
    ]
    names = list(replaced)
    return Sources(
        n=n,
        total=float(found[0]),
        total_interval=intervals[0],
        components=dict(zip(names, map(float, found[1:-1]), strict=True)),
        intervals=dict(zip(names, intervals[1:-1], strict=True)),
        excess=float(found[-1]),
        excess_interval=intervals[-1],
        level=level,
    )

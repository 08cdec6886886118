"""What the rounding of recorded values leaves open in an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from seedstudy.statistics.estimate import Estimate
from seedstudy.statistics.values import Real


def allow_for_rounding(
    estimate: Estimate,
    weights: Sequence[float],
    sds: Sequence[Real],
    counts: Sequence[int],
    step: float,
    discrete: ArrayLike,
) -> Estimate:
    """Widen an estimate that weighs the means of arms by what the rounding of their values may hide.

    Parameters
    ----------
    estimate : Estimate
        Sum of the arms' means, each times its weight; shape (...).
    weights : sequence of float
        Of each arm, not 0: -1 and 1 for a difference of two.
    sds : sequence of (float or numpy.ndarray)
        SD (ddof = 1) of the values of each arm; shape (...).
    counts : sequence of int
        Values of each arm.
    step : float
        Lattice of the values; 0 where nothing is known of it.
    discrete : array_like of bool
        Whether the estimate moves by steps larger than the spread it is judged by; shape (...).

    Returns
    -------
    Estimate
        With its ``slack``: at most half a step an arm, times its weight. For two arms that is one step.

    Notes
    -----
    The mean of rounded values is off by at most half a step, and by far less once they spread over some steps: the bias
    of rounding normal data falls as exp(-2 pi^2 sd^2 / step^2), sd^2 being step^2 / 12 below that of the rounded values
    (Sheppard's correction). A mean of few steps is discrete: t intervals then miss what two runs more or less on the
    next step would change. Values without any spread may all lie half a step off.
    """
    if step == 0.0:
        return estimate
    sizes = np.abs(weights).tolist()
    most = step / 2.0 * sum(sizes)
    bias: Real = 0.0
    for size, sd in zip(sizes, sds, strict=True):
        square = np.square(np.asarray(sd) / step)
        bias = bias + size * step / 2.0 * np.exp(-2.0 * np.pi**2 * np.maximum(square - 1.0 / 12.0, 0.0))
    next_step = 2.0 * step / min(count / size for count, size in zip(counts, sizes, strict=True))
    slack = np.minimum(bias + np.where(discrete, next_step, 0.0), most)
    return replace(estimate, slack=np.where(np.asarray(estimate.se) == 0.0, most, slack)[()])

"""An effect with its standard error: the one object behind Welch, paired, pooled and factorial comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from seedstudy.statistics.values import Real


@dataclass(frozen=True)
class ScalarInterval:
    """A confidence interval, unrounded, in units of what it bounds."""

    low: float
    high: float
    level: float


@dataclass(frozen=True)
class Interval:
    """Confidence intervals of one study or of many at once; ``scalar`` is that of one."""

    low: Real
    high: Real
    level: float

    @property
    def scalar(self) -> ScalarInterval:
        """The interval of one study, as plain floats."""
        return ScalarInterval(float(self.low), float(self.high), self.level)


@dataclass(frozen=True)
class Estimate:
    """An estimated effect (treatment minus reference) with a t distribution around it.

    Parameters
    ----------
    value : float or numpy.ndarray
        The estimate, in units of the metric; shape (...): one study or many.
    se : float or numpy.ndarray
        Its standard error, >= 0, same shape.
    df : float or numpy.ndarray
        Degrees of freedom of the t distribution, > 0, same shape.
    slack : float or numpy.ndarray
        What the rounding of the data leaves open, in units of the metric: the interval is that much wider on each
        side. Next to nothing unless the values were rounded to about their spread.

    Notes
    -----
    Assumption of all methods: ``(value - truth) / se`` follows Student's t with ``df`` degrees of freedom.
    """

    value: Real
    se: Real
    df: Real
    slack: Real = 0.0

    @property
    def t(self) -> Real:
        """The t statistic against 0; infinite (or 0) when there is no spread."""
        return self._standardise(self.value)

    @property
    def p_difference(self) -> Real:
        """Two-sided p. Null: the true effect is 0. Alternative: it is not."""
        return np.minimum(2.0 * self._upper_tail(self._distance), 1.0)[()]

    def interval(self, level: float) -> Interval:
        """Two-sided t interval that covers the true effect with probability ``level`` (0 < level < 1)."""
        half = stdtrit(self.df, 0.5 + level / 2.0) * self.se + self.slack
        return Interval(self.value - half, self.value + half, level)

    def p_equivalent(self, margin: float) -> Real:
        """TOST p. Null: the true effect is at least ``margin`` in size. Alternative: it is smaller.

        The larger of the two one-sided p values (Schuirmann 1987): it is <= alpha exactly when the interval of level
        1 - 2 alpha lies within the margin.
        """
        return self._upper_tail(margin - np.abs(self.value) - self.slack)

    def p_beyond(self, margin: float) -> Real:
        """P of the interval null. Null: the true effect is at most ``margin`` in size. Alternative: it is larger.

        The chance of an estimate at least this far from 0, on either side, when the true effect is the margin (the
        null's worst case). Where the margin exceeds the standard error, it is <= alpha exactly when the interval of
        level 1 - 2 alpha lies wholly beyond the margin. A smaller margin makes it stricter, up to the two-sided p at a
        margin of 0: that interval alone would be beyond it, on one side or the other, in up to 2 alpha of all studies.
        """
        both = self._upper_tail(self._distance - margin) + self._upper_tail(self._distance + margin)
        return np.minimum(both, 1.0)[()]

    @property
    def _distance(self) -> Real:
        """How far the estimate lies from 0 whatever the rounding hid."""
        return np.maximum(np.abs(self.value) - self.slack, 0.0)[()]

    def _standardise(self, distance: Real) -> Real:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(distance == 0.0, 0.0, np.divide(distance, self.se))[()]

    def _upper_tail(self, distance: Real) -> Real:
        """P(T >= distance / se); a certain 0 or 1 when there is no spread."""
        tail: Real = stdtr(self.df, -np.asarray(self._standardise(distance)))
        # A difference of decimals in float64 may miss their step by its own rounding, which decides nothing.
        none = np.abs(distance) <= 1e-6 * np.asarray(self.slack)
        return np.where((np.asarray(self.se) == 0.0) & none, 1.0, tail)[()]

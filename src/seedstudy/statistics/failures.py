"""Failures as an endpoint: diverged and failed runs are counted and compared, never averaged in or dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from scipy.stats import binomtest, fisher_exact

from seedstudy.statistics.estimate import ScalarInterval

OK, DIVERGED, FAILED = "ok", "diverged", "failed"
STATUSES = (OK, DIVERGED, FAILED)


@dataclass(frozen=True)
class FailureCount:
    """Runs of an arm that ended without a result: ``diverged + failed`` of ``runs``."""

    diverged: int
    failed: int
    runs: int
    interval: ScalarInterval

    @property
    def count(self) -> int:
        """All runs without a result."""
        return self.diverged + self.failed

    def __str__(self) -> str:
        """As in ``2 diverged + 1 failed of 20``."""
        parts = [f"{number} {name}" for number, name in ((self.diverged, DIVERGED), (self.failed, FAILED)) if number]
        return f"{' + '.join(parts) or '0'} of {self.runs}"


@dataclass(frozen=True)
class FailureComparison:
    """Failures of two arms with the p of Fisher's exact test."""

    reference: FailureCount
    treatment: FailureCount
    p_fisher: float

    @property
    def any(self) -> bool:
        """Whether a run of either arm failed."""
        return self.reference.count + self.treatment.count > 0


def count_failures(statuses: Sequence[str], level: float = 0.95) -> FailureCount:
    """Count the runs without a result and bound their share.

    Parameters
    ----------
    statuses : sequence of str
        One a run: ``ok``, ``diverged`` or ``failed``.
    level : float
        Confidence of the two-sided Clopper-Pearson interval.

    Returns
    -------
    FailureCount

    Raises
    ------
    ValueError
        If there is no run or a status is unknown.

    Notes
    -----
    Assumes independent runs with one chance of failure. The interval covers at least ``level`` (Clopper and Pearson
    1934, ``scipy.stats.binomtest``): 0 of 20 still allows 16.8 %.
    """
    unknown = sorted(set(statuses) - set(STATUSES))
    if unknown or not statuses:
        raise ValueError(f"statuses must be one of {', '.join(STATUSES)}; got {', '.join(unknown) or 'no run'}")
    diverged, failed = (sum(status == name for status in statuses) for name in (DIVERGED, FAILED))
    return FailureCount(diverged, failed, len(statuses), _share(diverged + failed, len(statuses), level))


@cache
def _share(count: int, runs: int, level: float) -> ScalarInterval:
    """Clopper-Pearson interval; few pairs of numbers occur in a study, and scipy searches for each bound."""
    bounds = binomtest(count, runs).proportion_ci(level, method="exact")
    return ScalarInterval(float(bounds.low), float(bounds.high), level)


def compare_failures(reference: FailureCount, treatment: FailureCount) -> FailureComparison:
    """Fisher's exact test of the failures of two arms.

    Parameters
    ----------
    reference, treatment : FailureCount
        From `count_failures`.

    Returns
    -------
    FailureComparison

    Notes
    -----
    Null: both arms have the same chance of failure. Alternative: different chances (two-sided). Assumes independent
    runs. Source: ``scipy.stats.fisher_exact``.
    """
    table = [[arm.count, arm.runs - arm.count] for arm in (reference, treatment)]
    if reference.count + treatment.count in (0, reference.runs + treatment.runs):
        return FailureComparison(reference, treatment, 1.0)
    return FailureComparison(reference, treatment, min(1.0, float(fisher_exact(table).pvalue)))

"""Comparisons from published summaries: no runs, only n, mean and SD as printed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from seedstudy.statistics.difference import hedges_g, welch_from_summaries
from seedstudy.statistics.estimate import Estimate
from seedstudy.statistics.holm import Holm, holm_adjusted
from seedstudy.statistics.variance import VarianceRatio, variance_ratio
from seedstudy.statistics.verdict import Question, Verdict, classify, decide

_DECIMAL = re.compile(r"[+-]?(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?")


@dataclass(frozen=True)
class Printed:
    """A number as printed: its value, and the step of its last digit (trailing zeros count)."""

    value: float
    step: float

    @property
    def low(self) -> float:
        """Smallest value that prints so."""
        return self.value - self.step / 2.0

    @property
    def high(self) -> float:
        """Largest value that prints so."""
        return self.value + self.step / 2.0

    def fits(self, value: float) -> bool:
        """Whether a value prints so; a tie of the rounding fits both neighbours."""
        return self.near(value, 0.0)

    def near(self, value: float, error: float) -> bool:
        """Whether a value known to within ``error`` can print so."""
        return abs(value - self.value) <= (self.step / 2.0 + error) * (1.0 + 1e-6)


def printed(text: str) -> Printed:
    """Read a number with the precision that its digits show.

    Parameters
    ----------
    text : str
        Decimal number, as ``0.65730`` (step 1e-5).

    Returns
    -------
    Printed

    Raises
    ------
    ValueError
        The text is no decimal number, or larger in size or finer than float64 can tell.
    """
    match = _DECIMAL.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is no decimal number")
    value, step = float(text), float(f"1e{int(match.group(3) or 0) - len(match.group(2) or '')}")
    if not (math.isfinite(value) and 0.0 < step < math.inf):
        raise ValueError(f"{text!r} is out of range")
    return Printed(value, step)


@dataclass(frozen=True)
class PublishedArm:
    """One arm as published; ``sd`` with ddof = 1."""

    label: str
    n: int
    mean: Printed
    sd: Printed


@dataclass(frozen=True)
class Range:
    """Smallest and largest value over everything that the printed digits leave open."""

    low: float
    high: float


@dataclass(frozen=True)
class PublishedComparison:
    """Welch, TOST and F of two published arms, each p with its range over the rounding.

    ``labels`` are all verdicts that numbers within the rounding would give.
    """

    where: dict[str, str]
    reference: PublishedArm
    treatment: PublishedArm
    estimate: Estimate
    verdict: Verdict
    holm: Holm
    hedges_g: float
    variance: VarianceRatio
    p_difference: Range
    p_equivalent: Range
    p_f: Range
    labels: tuple[str, ...]


def compare_published(
    where: dict[str, str],
    reference: PublishedArm,
    treatment: PublishedArm,
    metric: str,
    margin: float,
    alpha: float = 0.05,
) -> PublishedComparison:
    """Compare two published arms.

    Parameters
    ----------
    where : dict
        The cell: axis to value.
    reference, treatment : PublishedArm
        Both arms, n >= 2.
    metric : str
        Name of the metric.
    margin : float
        Margin, > 0, in units of the metric.
    alpha : float
        Level.

    Returns
    -------
    PublishedComparison
        Not yet adjusted for other cells; see `adjust_published`.

    Raises
    ------
    ValueError
        If an arm has fewer than 2 runs, or margin or alpha are out of range.

    Notes
    -----
    Null, alternative and assumptions as in `seedstudy.statistics.difference.welch_from_summaries`; pairing is
    impossible without the runs. The ranges are taken over the ends, the middle and the turning points (no difference,
    equal SDs) of what prints as published: each p is monotone between them.
    """
    a, b = reference, treatment
    estimate = welch_from_summaries(a.mean.value, a.sd.value, a.n, b.mean.value, b.sd.value, b.n)
    place = ", ".join(f"{axis} {value}" for axis, value in where.items()) or "the table"
    question = Question(metric, f"{b.label} minus {a.label} in {place}", "Welch from summaries", f"n = {a.n} and {b.n}")
    verdict = decide(estimate, margin, question, min(a.n, b.n), alpha)
    half = (a.mean.step + b.mean.step) / 2.0
    centre = b.mean.value - a.mean.value
    shifts = [centre - half, centre, centre + half, float(np.clip(0.0, centre - half, centre + half))]
    sds_a, sds_b = _within(a.sd, b.sd), _within(b.sd, a.sd)
    grid = np.array(list(product(shifts, sds_a, sds_b)))
    around = welch_from_summaries(np.zeros(len(grid)), grid[:, 1], a.n, grid[:, 0], grid[:, 2], b.n)
    p_f = [variance_ratio(x, a.n, y, b.n).p_f for x, y in product(sds_a, sds_b)]
    return PublishedComparison(
        where=where,
        reference=a,
        treatment=b,
        estimate=estimate,
        verdict=verdict,
        holm=Holm(verdict.p_difference, verdict.p_equivalent, verdict.p_beyond, verdict.label),
        hedges_g=hedges_g(centre, a.sd.value, a.n, b.sd.value, b.n),
        variance=variance_ratio(a.sd.value, a.n, b.sd.value, b.n),
        p_difference=_range(around.p_difference),
        p_equivalent=_range(around.p_equivalent(margin)),
        p_f=_range(p_f),
        labels=tuple(sorted(set(classify(around, margin, alpha).tolist()))),
    )


def adjust_published(cells: list[PublishedComparison], alpha: float = 0.05) -> list[PublishedComparison]:
    """Holm's adjustment over the cells of a published table.

    Parameters
    ----------
    cells : list of PublishedComparison
        The family.
    alpha : float
        Level.

    Returns
    -------
    list of PublishedComparison
        With ``holm`` filled in.
    """
    adjusted = holm_adjusted([cell.verdict for cell in cells], alpha)
    return [replace(cell, holm=holm) for cell, holm in zip(cells, adjusted, strict=True)]


def _within(number: Printed, other: Printed) -> list[float]:
    """Ends and middle of a printed SD, and the other SD where it lies between: there the F ratio turns."""
    low = max(number.low, 0.0)
    return sorted({low, number.value, number.high, float(np.clip(other.value, low, number.high))})


def _range(values: object) -> Range:
    array = np.asarray(values, dtype=np.float64)
    return Range(float(array.min()), float(array.max()))

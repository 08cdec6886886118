"""The verdict: a confidence interval against the margin, and the sentence that says what was tested."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from seedstudy.statistics.estimate import Estimate, ScalarInterval
from seedstudy.statistics.power import POWER, seeds_needed


class Label(StrEnum):
    """What the interval says about the margin."""

    EQUIVALENT = "EQUIVALENT"
    EQUIVALENT_NONZERO = "EQUIVALENT, NONZERO"
    DIFFERENT = "DIFFERENT"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclass(frozen=True)
class Verdict:
    """Verdict of one comparison at one margin, and what it would be at any other.

    ``interval`` has level 1 - 2 alpha and ``wide_interval`` level 1 - alpha, both in units of the metric.
    ``equivalent_from`` is the smallest margin at which the arms are shown equivalent, ``different_up_to`` the largest
    at which they are shown different (0 when the interval holds 0); between the two it is INCONCLUSIVE. ``seeds`` is
    given with INCONCLUSIVE only: the seeds an arm that would decide (None: more than 100,000). The bounds are NaN when
    an arm has fewer than two results.
    """

    label: Label
    margin: float
    alpha: float
    p_equivalent: float
    p_beyond: float
    p_difference: float
    interval: ScalarInterval
    wide_interval: ScalarInterval
    equivalent_from: float
    different_up_to: float
    seeds: int | None
    sentence: str

    def at(self, margin: float) -> Label:
        """The label at another margin (> 0)."""
        if self.equivalent_from < margin:
            return Label.EQUIVALENT_NONZERO if self.p_difference < self.alpha else Label.EQUIVALENT
        return Label.DIFFERENT if self.different_up_to > margin else Label.INCONCLUSIVE


@dataclass(frozen=True)
class Question:
    """The words of a comparison: what is compared, how, and over how many runs."""

    metric: str
    contrast: str
    method: str
    runs: str


def classify(estimate: Estimate, margin: float, alpha: float = 0.05) -> NDArray[np.str_]:
    """Verdicts of many studies at once.

    Parameters
    ----------
    estimate : Estimate
        Shape (...).
    margin : float
        Margin, > 0, in units of the metric.
    alpha : float
        Level.

    Returns
    -------
    numpy.ndarray
        Shape (...), the values of `Label`.

    Raises
    ------
    ValueError
        If the margin is not positive or alpha not in (0, 0.5).

    Notes
    -----
    EQUIVALENT: the interval of level 1 - 2 alpha lies within the margin; with NONZERO when that of level 1 - alpha
    excludes 0. DIFFERENT: the interval of level 1 - 2 alpha lies wholly beyond the margin, by `Estimate.p_beyond`,
    which is stricter where the margin is smaller than the standard error. Else INCONCLUSIVE.
    """
    if not margin > 0.0 or not 0.0 < alpha < 0.5:
        raise ValueError(f"a verdict needs margin > 0 and 0 < alpha < 0.5, not {margin} and {alpha}")
    equivalent = np.asarray(estimate.p_equivalent(margin)) < alpha
    nonzero = np.asarray(estimate.p_difference) < alpha
    beyond = np.asarray(estimate.p_beyond(margin)) < alpha
    return np.select(
        [equivalent & nonzero, equivalent, beyond],
        [Label.EQUIVALENT_NONZERO.value, Label.EQUIVALENT.value, Label.DIFFERENT.value],
        Label.INCONCLUSIVE.value,
    )


def decide(
    estimate: Estimate, margin: float, question: Question, n: int, alpha: float = 0.05, paired: bool = False
) -> Verdict:
    """Verdict of one comparison.

    Parameters
    ----------
    estimate : Estimate
        Of one comparison, treatment minus reference.
    margin : float
        Margin, > 0, in units of the metric.
    question : Question
        Words of the sentence.
    n : int
        Results an arm (of the smaller arm), or pairs: what the seeds needed are scaled from.
    alpha : float
        Level.
    paired : bool
        Whether the estimate is paired by seed (for the seeds needed).

    Returns
    -------
    Verdict

    Raises
    ------
    ValueError
        As in `classify`.

    Notes
    -----
    Rules as in `classify`. The seeds needed assume that the true difference and SD are the ones observed.
    """
    label = Label(str(classify(estimate, margin, alpha)))
    narrow, wide = estimate.interval(1.0 - 2.0 * alpha).scalar, estimate.interval(1.0 - alpha).scalar
    seeds = None
    if label is Label.INCONCLUSIVE:
        # The SD of one run (or of one difference) that gives this standard error with n an arm.
        sd = float(estimate.se) * np.sqrt(n if paired else n / 2.0)
        seeds = seeds_needed(sd, margin, float(estimate.value), alpha, POWER, paired)
    p_equivalent, p_beyond = float(estimate.p_equivalent(margin)), float(estimate.p_beyond(margin))
    return Verdict(
        label=label,
        margin=margin,
        alpha=alpha,
        p_equivalent=p_equivalent,
        p_beyond=p_beyond,
        p_difference=float(estimate.p_difference),
        interval=narrow,
        wide_interval=wide,
        equivalent_from=max(abs(narrow.low), abs(narrow.high)),
        different_up_to=_different_up_to(estimate, alpha),
        seeds=seeds,
        sentence=_sentence(label, estimate, narrow, margin, alpha, question, seeds),
    )


def _different_up_to(estimate: Estimate, alpha: float) -> float:
    """Largest margin at which the arms are shown different: where `Estimate.p_beyond` reaches alpha."""
    if float(estimate.p_difference) >= alpha:
        return 0.0
    high = abs(float(estimate.value))
    return float(brentq(lambda margin: float(estimate.p_beyond(margin)) - alpha, 0.0, high, xtol=1e-12 * high))


def undecided(margin: float, alpha: float, question: Question) -> Verdict:
    """Verdict of a comparison in which an arm has fewer than two results.

    Parameters
    ----------
    margin, alpha, question
        As in `decide`.

    Returns
    -------
    Verdict
        INCONCLUSIVE, with p = 1 (nothing was tested) and NaN bounds.
    """
    nan = float("nan")
    narrow, wide = ScalarInterval(nan, nan, 1.0 - 2.0 * alpha), ScalarInterval(nan, nan, 1.0 - alpha)
    sentence = (
        f"INCONCLUSIVE: {question.metric} of {question.contrast} needs >= 2 seeds with a result in both arms; "
        f"there are {question.runs}."
    )
    return Verdict(Label.INCONCLUSIVE, margin, alpha, 1.0, 1.0, 1.0, narrow, wide, nan, nan, 2, sentence)


def _sentence(
    label: Label,
    estimate: Estimate,
    interval: ScalarInterval,
    margin: float,
    alpha: float,
    question: Question,
    seeds: int | None,
) -> str:
    level = f"{100 * interval.level:g} %"
    found = (
        f"{question.metric} of {question.contrast} differs by {float(estimate.value):+.3g} "
        f"({level} CI {interval.low:+.3g} to {interval.high:+.3g}; {question.method}, {question.runs})"
    )
    within = f"the true difference is at least {margin:g} in size"
    match label:
        case Label.DIFFERENT:
            p = float(estimate.p_beyond(margin))
            null, alternative, outcome = (
                f"the true difference is at most {margin:g} in size",
                "it is larger",
                "rejected",
            )
        case Label.INCONCLUSIVE:
            p = float(estimate.p_equivalent(margin))
            null, alternative, outcome = within, "it is smaller", "not rejected"
        case _:
            p = float(estimate.p_equivalent(margin))
            null, alternative, outcome = within, "it is smaller", "rejected"
    tested = f"null: {null}; alternative: {alternative}; p = {p:.2g}, {outcome} at {alpha:g}"
    more = ""
    if label is Label.EQUIVALENT_NONZERO:
        more = f" The difference is detectable (null: no difference; p = {float(estimate.p_difference):.2g})."
    if label is Label.INCONCLUSIVE:
        number = f"about {seeds} seeds" if seeds is not None else "more than 100,000 seeds"
        more = (
            f" These runs neither exclude the margin nor show a difference beyond it; {number} an arm would decide "
            f"with {100 * POWER:g} % power if the true difference and SD are the ones seen."
        )
    return f"{label.value}: {found}. {tested[0].upper()}{tested[1:]}.{more}"

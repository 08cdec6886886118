"""Error rates by simulation: how often each verdict is reached when the truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from seedstudy.statistics.difference import paired as paired_estimate
from seedstudy.statistics.difference import welch as welch_estimate
from seedstudy.statistics.values import FloatArray
from seedstudy.statistics.verdict import Label, classify


class Shape(StrEnum):
    """Distribution of a run's metric: normal, or a shifted exponential (skewness 2)."""

    NORMAL = "normal"
    SKEWED = "skewed"


@dataclass(frozen=True)
class Setting:
    """A study whose error rates are asked for.

    ``sd`` is between runs of an arm, ``margin`` and ``rounding`` (step, 0 for none) in the same units. ``correlation``
    is that of the same seed in both arms, and ``paired`` whether the verdict makes use of it.
    """

    n: int
    sd: float
    margin: float
    shape: Shape = Shape.NORMAL
    rounding: float = 0.0
    correlation: float = 0.0
    paired: bool = False
    alpha: float = 0.05


@dataclass(frozen=True)
class Rate:
    """Share of simulated studies that ended in a verdict, with its Monte Carlo standard error."""

    share: float
    error: float


@dataclass(frozen=True)
class ErrorRates:
    """Shares of the verdicts at one true difference; ``detected`` is the share whose 1 - alpha interval excludes 0."""

    setting: Setting
    difference: float
    studies: int
    verdicts: dict[Label, Rate]
    detected: Rate

    @property
    def equivalent(self) -> Rate:
        """EQUIVALENT with or without NONZERO."""
        share = self.verdicts[Label.EQUIVALENT].share + self.verdicts[Label.EQUIVALENT_NONZERO].share
        return _rate(share, self.studies)

    @property
    def different(self) -> Rate:
        """DIFFERENT."""
        return self.verdicts[Label.DIFFERENT]


def _rate(share: float, studies: int) -> Rate:
    return Rate(share, float(np.sqrt(share * (1.0 - share) / studies)))


def draw_arms(
    setting: Setting, difference: float, studies: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Simulated metrics of both arms.

    Parameters
    ----------
    setting : Setting
        The study.
    difference : float
        True difference of the means, treatment minus reference.
    studies : int
        Number of simulated studies.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    tuple of numpy.ndarray
        Reference and treatment, float64, shape (studies, n) each.

    Notes
    -----
    A run is the sum of a part that its seed shares between the arms and a part of its own, weighted to the correlation;
    both have the shape asked for, so each arm has the SD asked for and nearly its shape.
    """
    shape = (studies, setting.n)

    def standard() -> FloatArray:
        if setting.shape is Shape.SKEWED:
            return rng.standard_exponential(shape) - 1.0
        return rng.standard_normal(shape)

    shared, own = np.sqrt(setting.correlation), np.sqrt(1.0 - setting.correlation)
    common = shared * standard() if setting.correlation > 0.0 else np.zeros(shape)
    reference = setting.sd * (common + own * standard())
    treatment = setting.sd * (common + own * standard()) + difference
    if setting.rounding > 0.0:
        # A random place of the lattice, as no true mean sits on it by design.
        offset = rng.uniform(0.0, setting.rounding, (studies, 1))
        steps = [np.rint((arm + offset) / setting.rounding) for arm in (reference, treatment)]
        reference, treatment = (setting.rounding * arm for arm in steps)
    return reference, treatment


def simulate(setting: Setting, difference: float, studies: int, rng: np.random.Generator) -> ErrorRates:
    """Shares of the verdicts over many simulated studies of one cell.

    Parameters
    ----------
    setting : Setting
        The study.
    difference : float
        True difference of the means, in units of the metric.
    studies : int
        Number of simulated studies.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    ErrorRates

    Raises
    ------
    ValueError
        If the setting makes no study: n < 2, SD or margin not positive, rounding negative, correlation outside [0, 1).

    Notes
    -----
    The verdicts are those of `seedstudy.statistics.verdict.classify` on the estimates that `compare` uses: the rates
    are of the code itself. EQUIVALENT is false at a true difference of the margin or more, DIFFERENT at one of the
    margin or less; both are at their worst at the margin.
    """
    if setting.n < 2 or setting.sd <= 0.0 or setting.rounding < 0.0 or not 0.0 <= setting.correlation < 1.0:
        raise ValueError("a study needs n >= 2, sd > 0, rounding >= 0 and 0 <= correlation < 1")
    if studies < 1:
        raise ValueError(f"studies must be positive, not {studies}")
    reference, treatment = draw_arms(setting, difference, studies, rng)
    estimate = (paired_estimate if setting.paired else welch_estimate)(reference, treatment)
    labels = classify(estimate, setting.margin, setting.alpha)
    verdicts = {label: _rate(float(np.mean(labels == label.value)), studies) for label in Label}
    detected = _rate(float(np.mean(np.asarray(estimate.p_difference) < setting.alpha)), studies)
    return ErrorRates(setting, difference, studies, verdicts, detected)


def simulate_points(setting: Setting, studies: int, rng: np.random.Generator) -> list[ErrorRates]:
    """Error rates at no difference, half the margin, the margin (the worst case of both errors), and twice the margin.

    Parameters
    ----------
    setting : Setting
        The study.
    studies : int
        Simulated studies a point.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    list of ErrorRates

    Raises
    ------
    ValueError
        As in `simulate`.
    """
    return [simulate(setting, factor * setting.margin, studies, rng) for factor in (0.0, 0.5, 1.0, 2.0)]


def error_grid(studies: int, rng: np.random.Generator) -> list[ErrorRates]:
    """Error rates at the published SD 1.2e-4 and margin 2e-4: 5, 10, 20, 40 seeds, all kinds of data, both methods.

    Parameters
    ----------
    studies : int
        Simulated studies a point.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    list of ErrorRates
        At no difference and at the margin. Rounded data lie on a lattice of 1e-4, as the published ones do. Paired
        studies share 0.98 of the variance between the arms, so that their margin is many SDs of the difference; theirs
        is therefore set to the same number of SDs as that of the unpaired ones.
    """
    rates = []
    for paired in (False, True):
        for shape, rounding in ((Shape.NORMAL, 0.0), (Shape.SKEWED, 0.0), (Shape.NORMAL, 1e-4)):
            for n in (5, 10, 20, 40):
                correlation = 0.98 if paired else 0.0
                margin = 2e-4 * np.sqrt(1.0 - correlation)
                setting = Setting(n, 1.2e-4, float(margin), shape, rounding, correlation, paired)
                rates += [simulate(setting, factor * setting.margin, studies, rng) for factor in (0.0, 1.0)]
    return rates

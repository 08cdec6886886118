"""The factorial model over all axes: main effects and interactions, each against the margin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from seedstudy.errors import UserError
from seedstudy.statistics.difference import contrast_by_seed
from seedstudy.statistics.estimate import Estimate
from seedstudy.statistics.holm import Holm, holm_adjusted
from seedstudy.statistics.rounding import allow_for_rounding
from seedstudy.statistics.values import FloatArray
from seedstudy.statistics.verdict import Question, Verdict, decide


@dataclass(frozen=True)
class FactorCell:
    """One configuration of a factorial: levels of the axes, runs with a result, their mean and SD (ddof = 1).

    ``step`` is the lattice of the runs' values, for which the effects allow; 0 where it is not known.
    """

    levels: tuple[str, ...]
    n: int
    mean: float
    sd: float
    step: float = 0.0


@dataclass(frozen=True)
class Effect:
    """A contrast of the cell means.

    ``levels`` maps each axis in it to (reference, treatment). With one axis it is the mean change from reference to
    treatment, averaged over all other axes; with two, how much that change differs between the levels of the other; and
    so on.
    """

    levels: dict[str, tuple[str, str]]
    estimate: Estimate
    verdict: Verdict
    holm: Holm

    @property
    def name(self) -> str:
        """The contrast in words."""
        return contrast_name(self.levels)


@dataclass(frozen=True)
class FactorialModel:
    """All effects up to an order, with the residual SD and its degrees of freedom (NaN when paired by seed)."""

    effects: tuple[Effect, ...]
    residual_sd: float
    residual_df: float
    method: str


def contrast_name(levels: Mapping[str, tuple[str, str]]) -> str:
    """Words of a contrast, as in ``precision amp - fp32 x xla true - false``."""
    return " x ".join(f"{axis} {treatment} - {reference}" for axis, (reference, treatment) in levels.items())


def contrasts(
    axes: Mapping[str, Sequence[str]], order: int
) -> list[tuple[dict[str, tuple[str, str]], dict[tuple[str, ...], float]]]:
    """Contrasts of all main effects and interactions up to an order.

    Parameters
    ----------
    axes : mapping
        Axis to its levels, the reference first.
    order : int
        Most axes in one contrast, >= 1.

    Returns
    -------
    list of tuple
        The levels compared (axis to reference and treatment), and the weight of each cell; the weights of a cell's axes
        multiply: -1 and +1 on the axes compared, equal shares on the others.
    """
    found = []
    for size in range(1, min(order, len(axes)) + 1):
        for chosen in combinations(axes, size):
            for treatments in product(*(axes[axis][1:] for axis in chosen)):
                levels = {axis: (axes[axis][0], level) for axis, level in zip(chosen, treatments, strict=True)}
                weights = {}
                for cell in product(*axes.values()):
                    weight = 1.0
                    for axis, level in zip(axes, cell, strict=True):
                        if axis in levels:
                            reference, treatment = levels[axis]
                            weight *= 1.0 if level == treatment else -1.0 if level == reference else 0.0
                        else:
                            weight /= len(axes[axis])
                    weights[cell] = weight
                found.append((levels, weights))
    return found


def fit_factorial(
    cells: Sequence[FactorCell],
    axes: Mapping[str, Sequence[str]],
    metric: str,
    margin: float,
    alpha: float = 0.05,
    order: int = 2,
    source: object = "factorial model",
) -> FactorialModel:
    """Factorial model with one mean a configuration and one SD for all, from the summaries of the configurations.

    Parameters
    ----------
    cells : sequence of FactorCell
        Every combination of the levels once; n >= 1 each, and >= 2 in one of them.
    axes : mapping
        Axis to its levels, the reference first, in the order of ``FactorCell.levels``.
    metric : str
        Name of the metric, for the sentences.
    margin : float
        Margin of each effect, in units of the metric.
    alpha : float
        Level.
    order : int
        Most axes in one effect.
    source : object
        Where the runs stand, named in errors.

    Returns
    -------
    FactorialModel
        Holm's adjustment runs over all effects listed.

    Raises
    ------
    UserError
        A combination has no run or stands twice, or no configuration has two runs.

    Notes
    -----
    Null of an effect's difference test: the contrast of the true means is 0; alternative: it is not. Null of TOST: it
    is at least the margin in size; alternative: it is smaller. Assumes independent, near-normal runs with a common
    variance. This is ordinary least squares with all interactions, whose estimates are contrasts of the cell means
    (Montgomery, Design and Analysis of Experiments); it needs n, mean and SD only, so published tables can be fitted
    too, and equals ``statsmodels.formula.api.ols`` on the runs. Rounded values widen the intervals as in
    `seedstudy.statistics.rounding.allow_for_rounding`.
    """
    by_levels = {cell.levels: cell for cell in cells}
    if len(by_levels) < len(cells):
        twice = next(levels for levels, count in Counter(cell.levels for cell in cells).items() if count > 1)
        where = ", ".join(f"{axis} {level}" for axis, level in zip(axes, twice, strict=True))
        raise UserError(source, f"{where} stands twice; name the axis that tells the configurations apart")
    _refuse_gaps(by_levels, axes, source)
    df = sum(cell.n - 1 for cell in cells)
    if df < 1:
        raise UserError(source, "no configuration has two runs; the factorial model needs a spread")
    within = sum((cell.n - 1) * cell.sd**2 for cell in cells if cell.n > 1)
    sd = float(np.sqrt(within / df))
    smallest = min(cell.n for cell in cells)
    found = []
    for levels, weights in contrasts(axes, order):
        used = [(by_levels[cell], weight) for cell, weight in weights.items() if weight]
        value = sum(weight * cell.mean for cell, weight in used)
        scale = np.sqrt(sum(weight**2 / cell.n for cell, weight in used))
        step = max(cell.step for cell, _ in used)
        estimate = allow_for_rounding(
            Estimate(float(value), float(sd * scale), float(df)),
            [weight for _, weight in used],
            # One run has no SD of its own.
            [cell.sd if cell.n > 1 else sd for cell, _ in used],
            [cell.n for cell, _ in used],
            step,
            step > sd,
        )
        found.append((levels, estimate))
    runs = f"n >= {smallest} in each of {len(cells)} configurations"
    return FactorialModel(
        _judged(found, metric, margin, alpha, smallest, "factorial model", runs, False),
        sd,
        float(df),
        "common variance",
    )


def fit_factorial_by_seed(
    values: Mapping[tuple[str, ...], FloatArray],
    axes: Mapping[str, Sequence[str]],
    metric: str,
    margin: float,
    alpha: float = 0.05,
    order: int = 2,
    source: object = "factorial model",
) -> FactorialModel:
    """Factorial effects of runs whose seeds share their random streams over all configurations.

    Parameters
    ----------
    values : mapping
        Levels to the metric of the same seeds in the same order, float64, shape (n,), n >= 2.
    axes, metric, margin, alpha, order, source
        As in `fit_factorial`.

    Returns
    -------
    FactorialModel

    Raises
    ------
    UserError
        A combination has no run.
    ValueError
        If n < 2.

    Notes
    -----
    Each effect is worked out seed by seed, and its mean over the seeds is tested by a one-sample t test. Nulls and
    alternatives as in `fit_factorial`. Assumes independent seeds with near-normal effects; it assumes nothing about the
    variances of the configurations or their correlations, unlike a model with a block a seed. Rounded values as in
    `fit_factorial`.
    """
    _refuse_gaps(values, axes, source)
    n = next(iter(values.values())).size
    if n < 2:
        raise ValueError("effects by seed need at least 2 seeds")
    found = []
    for levels, weights in contrasts(axes, order):
        used = {cell: weight for cell, weight in weights.items() if weight}
        found.append((levels, contrast_by_seed([values[cell] for cell in used], list(used.values()))))
    runs = f"n = {n} seeds in each of {len(values)} configurations"
    effects_found = _judged(found, metric, margin, alpha, n, "effect a seed", runs, True)
    return FactorialModel(effects_found, float("nan"), float("nan"), "paired by seed")


def _refuse_gaps(cells: Mapping[tuple[str, ...], object], axes: Mapping[str, Sequence[str]], source: object) -> None:
    for axis, levels in axes.items():
        if len(set(levels)) < max(2, len(levels)):
            raise UserError(f"{source}, axis {axis}", f"needs 2 levels or more, each once, not {', '.join(levels)}")
    for cell in product(*axes.values()):
        if cell not in cells:
            where = ", ".join(f"{axis} {level}" for axis, level in zip(axes, cell, strict=True))
            raise UserError(
                source,
                f"no run with a result has {where}; every combination of the axes is needed (join levels by '|')",
            )


def _judged(
    found: Sequence[tuple[dict[str, tuple[str, str]], Estimate]],
    metric: str,
    margin: float,
    alpha: float,
    n: int,
    method: str,
    runs: str,
    paired: bool,
) -> tuple[Effect, ...]:
    """Verdict of each effect, and Holm's over all of them."""
    verdicts = [
        decide(estimate, margin, Question(metric, contrast_name(levels), method, runs), n, alpha, paired)
        for levels, estimate in found
    ]
    holm = holm_adjusted(verdicts, alpha)
    return tuple(
        Effect(levels, estimate, verdict, adjusted)
        for (levels, estimate), verdict, adjusted in zip(found, verdicts, holm, strict=True)
    )

"""The engine of every comparison: the cells of a family, each with its verdict, and the family as a whole.

Tables, figures and the command line all call `compare_family`; nothing is computed anywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from seedstudy.statistics.cell_comparison import CellComparison, compare_cell
from seedstudy.statistics.cells import Arm, FamilyLike, split_cells
from seedstudy.statistics.difference import contrast_by_seed
from seedstudy.statistics.estimate import Estimate
from seedstudy.statistics.holm import holm_adjusted
from seedstudy.statistics.verdict import Label, Question, Verdict, decide, undecided


@dataclass(frozen=True)
class FamilyComparison:
    """The cells of a family and the family as a whole.

    ``everywhere`` holds in each cell at once (`everywhere_p` is the largest p of TOST: intersection-union, no
    correction). ``average`` is the verdict on the mean effect over the cells, each cell weighing the same.
    """

    name: str
    cells: tuple[CellComparison, ...]
    everywhere: Label
    everywhere_p: float
    everywhere_sentence: str
    average: Verdict


def compare_family(
    runs: pd.DataFrame,
    family: FamilyLike,
    metric: str,
    margin: float,
    alpha: float = 0.05,
    paired: bool = False,
    resamples: int = 10_000,
    rng: np.random.Generator | None = None,
) -> FamilyComparison:
    """Compare the two arms of a family in each cell and over all cells.

    Parameters
    ----------
    runs : pandas.DataFrame
        One row a run, as `split_cells` takes it.
    family : FamilyLike
        Axis, arms (reference, treatment) and axes of the cells.
    metric : str
        Column of the metric.
    margin : float
        Largest difference that does not matter, > 0, in units of the metric.
    alpha : float
        Level of each one-sided test of the margin and of each two-sided test.
    paired : bool
        Whether a seed fixes the same random streams in both arms. The verdict is then paired by seed in every cell
        whose arms hold the same seeds, and Welch's in the others.
    resamples : int
        Permutations a cell; 0 leaves the permutation test out.
    rng : numpy.random.Generator, optional
        Source of the permutations; needed when ``resamples`` is positive.

    Returns
    -------
    FamilyComparison
        Cells sorted by their axes; independent of the order of the rows.

    Raises
    ------
    UserError
        As in `split_cells`.
    ValueError
        If the margin or alpha is out of range, or ``rng`` is missing.

    Notes
    -----
    Nulls and alternatives stand in each verdict's sentence. Assumes independent seeds and near-normal means of the arms
    (or of the differences). Holm's adjustment: `seedstudy.statistics.holm.adjust`.
    """
    if resamples and rng is None:
        raise ValueError("permutations need an explicit rng")
    ((axis, _),) = family.between.items()
    cells = [
        compare_cell(cell, axis, metric, margin, alpha, paired, resamples, rng)
        for cell in split_cells(runs, family, metric)
    ]
    adjusted = holm_adjusted([cell.verdict for cell in cells], alpha)
    cells = [replace(cell, holm=holm) for cell, holm in zip(cells, adjusted, strict=True)]
    label, p, sentence = _everywhere(cells, metric, margin, alpha)
    return FamilyComparison(family.name, tuple(cells), label, p, sentence, _average(cells, metric, margin, alpha))


def _everywhere(cells: list[CellComparison], metric: str, margin: float, alpha: float) -> tuple[Label, float, str]:
    p = max(cell.verdict.p_equivalent for cell in cells)
    different = [cell for cell in cells if cell.holm.p_beyond < alpha]
    nonzero = [cell for cell in cells if cell.holm.p_difference < alpha]
    count = f"{len(cells)} cell{'s' if len(cells) > 1 else ''}"
    tested = f"null: in some cell the true difference of {metric} is at least {margin:g} in size; alternative: in none"
    if p < alpha:
        label = Label.EQUIVALENT_NONZERO if nonzero else Label.EQUIVALENT
        end = (
            f"{len(nonzero)} with a detectable difference (Holm)"
            if nonzero
            else "none with a detectable difference (Holm)"
        )
        text = f"{label.value} everywhere: {count}, {end}; {tested}; largest p = {p:.2g}, rejected at {alpha:g}."
    elif different:
        label = Label.DIFFERENT
        names = "; ".join(cell.cell.name for cell in different)
        text = f"{label.value} in {len(different)} of {count} (Holm): {names}."
    else:
        label = Label.INCONCLUSIVE
        names = "; ".join(cell.cell.name for cell in cells if cell.verdict.p_equivalent >= alpha)
        text = (
            f"{label.value}: {tested}; largest p = {p:.2g}, not rejected at {alpha:g}; not shown equivalent: {names}."
        )
    failed = sum(cell.failures.reference.count + cell.failures.treatment.count for cell in cells)
    return label, p, text + (f" {failed} failed run(s) in the cells, named there." if failed else "")


def _average(cells: list[CellComparison], metric: str, margin: float, alpha: float) -> Verdict:
    """Verdict on the mean effect over the cells.

    Cells paired by seed share their random streams, so the effects are averaged seed by seed first; unpaired cells are
    taken as independent, with Satterthwaite's degrees of freedom.
    """
    axis, a, b = cells[0].axis, cells[0].reference.label, cells[0].treatment.label
    contrast = f"{axis} {b} minus {a} on average over {len(cells)} cells"
    estimates = [cell.estimate for cell in cells]
    if all(cell.method == "paired" for cell in cells):
        arms = [(_by_seed(cell.reference), _by_seed(cell.treatment)) for cell in cells]
        common = [seed for seed in arms[0][0] if all(seed in values for both in arms for values in both)]
        if len(common) >= 2:
            values = [np.array([values[seed] for seed in common]) for both in arms for values in both]
            estimate = contrast_by_seed(values, [-1.0 / len(cells), 1.0 / len(cells)] * len(cells))
            question = Question(metric, contrast, "effects averaged a seed", f"n = {len(common)} seeds")
            return decide(estimate, margin, question, len(common), alpha, paired=True)
    n = min(min(cell.reference.n, cell.treatment.n) for cell in cells)
    question = Question(metric, contrast, "cells taken as independent", f"n >= {n} an arm and cell")
    known = [estimate for estimate in estimates if estimate is not None]
    if len(known) < len(cells):
        return undecided(margin, alpha, question)
    variances = np.array([float(estimate.se) ** 2 for estimate in known])
    total = variances.sum()
    weights = variances / total if total > 0 else np.full(variances.size, 1.0 / variances.size)
    df = 1.0 / np.sum(weights**2 / np.array([float(estimate.df) for estimate in known]))
    value = float(np.mean([float(estimate.value) for estimate in known]))
    # The mean of the cells is off by no more than the cell that rounding hides most of.
    slack = max(float(estimate.slack) for estimate in known)
    pooled = Estimate(value, float(np.sqrt(total)) / len(known), float(df), slack)
    return decide(pooled, margin, question, n, alpha)


def _by_seed(arm: Arm) -> dict[str, float]:
    return dict(zip(arm.seeds, arm.values.tolist(), strict=True))

"""Everything that is said of one cell: both arms, the difference, the verdict, and what stands beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from seedstudy.statistics import difference
from seedstudy.statistics.cells import Arm, Cell
from seedstudy.statistics.estimate import Estimate
from seedstudy.statistics.failures import FailureComparison, compare_failures
from seedstudy.statistics.holm import Holm
from seedstudy.statistics.ks import KsComparison, compare_distributions
from seedstudy.statistics.permutation import PermutationTest, permutation_test
from seedstudy.statistics.values import FloatArray
from seedstudy.statistics.variance import VarianceComparison, compare_variances
from seedstudy.statistics.verdict import Question, Verdict, decide, undecided


@dataclass(frozen=True)
class CellComparison:
    """All that is said of one cell: both arms, the difference, the verdict, and what stands beside it.

    ``welch`` and ``paired`` are the two estimates of treatment minus reference (None where impossible); ``method``
    (``welch``, ``paired`` or ``none``) names the one behind ``verdict``. ``correlation`` is that of the pairs (NaN
    without). All but the arms, the failures and the verdict is None or NaN when an arm has fewer than two results.
    """

    metric: str
    axis: str
    cell: Cell
    method: str
    welch: Estimate | None
    paired: Estimate | None
    pairs: int
    correlation: float
    hedges_g: float
    superiority: float
    variance: VarianceComparison | None
    ks: KsComparison | None
    permutation: PermutationTest | None
    failures: FailureComparison
    verdict: Verdict
    holm: Holm
    notes: tuple[str, ...]

    @property
    def reference(self) -> Arm:
        """The arm that is compared with."""
        return self.cell.reference

    @property
    def treatment(self) -> Arm:
        """The arm that is compared."""
        return self.cell.treatment

    @property
    def estimate(self) -> Estimate | None:
        """The estimate behind the verdict."""
        return self.paired if self.method == "paired" else self.welch


def compare_cell(
    cell: Cell,
    axis: str,
    metric: str,
    margin: float,
    alpha: float,
    may_pair: bool,
    resamples: int,
    rng: np.random.Generator | None,
) -> CellComparison:
    """Compare the two arms of one cell.

    Parameters
    ----------
    cell : Cell
        Both arms.
    axis : str
        What the arms differ in.
    metric, margin, alpha, resamples, rng
        As in `seedstudy.statistics.comparison.compare_family`.
    may_pair : bool
        Whether a seed fixes the same random streams in both arms.

    Returns
    -------
    CellComparison
        Not yet adjusted for the other cells of a family.

    Raises
    ------
    ValueError
        If the margin or alpha is out of range.

    Notes
    -----
    The verdict is paired by seed where allowed and where both arms hold the same seeds, failed runs included, with two
    pairs of results or more; else Welch's. Nulls and alternatives stand in the verdict's sentence.
    """
    a, b = cell.reference, cell.treatment
    enough = min(a.n, b.n) >= 2
    x, y = _pairs(a, b)
    pair_estimate = difference.paired(x, y) if x.size >= 2 and set(a.all_seeds) == set(b.all_seeds) else None
    use_pairs = may_pair and pair_estimate is not None
    estimate = pair_estimate if use_pairs else difference.welch(a.values, b.values) if enough else None
    failures = compare_failures(a.failures, b.failures)
    notes = _notes(cell, failures, may_pair, use_pairs, x.size)
    question = Question(
        metric,
        f"{axis} {b.label} minus {a.label} in {cell.name}",
        "paired by seed" if use_pairs else "Welch",
        f"n = {x.size} pairs" if use_pairs else f"n = {a.n} and {b.n}",
    )
    if estimate is None:
        verdict = undecided(margin, alpha, question)
    else:
        n = x.size if use_pairs else min(a.n, b.n)
        verdict = decide(estimate, margin, question, n, alpha, use_pairs)
    verdict = replace(verdict, sentence=" ".join([verdict.sentence, *notes]))
    permutation = None
    if estimate is not None and resamples and rng is not None:
        arms = (x, y) if use_pairs else (a.values, b.values)
        permutation = permutation_test(*arms, rng=rng, resamples=resamples, paired=use_pairs)
    nan = float("nan")
    sd = [float(arm.summary.sd) if arm.summary else nan for arm in (a, b)]
    return CellComparison(
        metric=metric,
        axis=axis,
        cell=cell,
        method="none" if estimate is None else "paired" if use_pairs else "welch",
        welch=difference.welch(a.values, b.values) if enough else None,
        paired=pair_estimate,
        pairs=int(x.size),
        correlation=difference.correlation(x, y) if pair_estimate is not None else nan,
        hedges_g=difference.hedges_g(float(b.values.mean() - a.values.mean()), sd[0], a.n, sd[1], b.n)
        if enough
        else nan,
        superiority=difference.probability_of_superiority(a.values, b.values) if a.n and b.n else nan,
        variance=compare_variances(a.values, b.values) if enough else None,
        ks=compare_distributions(a.values, b.values) if enough else None,
        permutation=permutation,
        failures=failures,
        verdict=verdict,
        holm=Holm(verdict.p_difference, verdict.p_equivalent, verdict.p_beyond, verdict.label),
        notes=notes,
    )


def _pairs(a: Arm, b: Arm) -> tuple[FloatArray, FloatArray]:
    """Values of the seeds with a result in both arms, in order of the seeds."""
    of_b = dict(zip(b.seeds, b.values, strict=True))
    both = [(value, of_b[seed]) for seed, value in zip(a.seeds, a.values, strict=True) if seed in of_b]
    return np.array([x for x, _ in both]), np.array([y for _, y in both])


def _notes(cell: Cell, failures: FailureComparison, may_pair: bool, use_pairs: bool, pairs: int) -> tuple[str, ...]:
    a, b = cell.reference, cell.treatment
    notes = []
    if failures.any:
        notes.append(
            f"Failures: {a.label} {a.failures}, {b.label} {b.failures} (null: equal chances of failure; Fisher p = "
            f"{failures.p_fisher:.2g}); the verdict speaks of the runs that finished only."
        )
    if may_pair and not use_pairs:
        different = set(a.all_seeds) != set(b.all_seeds)
        why = "the arms hold different seeds" if different else f"only {pairs} seed(s) have a result in both arms"
        notes.append(f"Not paired: {why}.")
    for arm in (a, b):
        if arm.summary and arm.summary.coarse:
            notes.append(
                f"Coarse: values of {arm.label} have a resolution of {arm.summary.resolution:.1g}, over SD/10."
            )
    return tuple(notes)

"""Group-sequential equivalence: looks declared beforehand, both arms of a cell stop together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from seedstudy.statistics.cell_comparison import compare_cell
from seedstudy.statistics.cells import Cell
from seedstudy.statistics.verdict import Label, Verdict

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


@dataclass(frozen=True)
class Look:
    """Verdict on the first ``seeds`` seeds of both arms, at the nominal level."""

    seeds: int
    verdict: Verdict


@dataclass(frozen=True)
class Decision:
    """What to do next in one cell: ``run`` these seeds in each arm (by its label), or stop; and why."""

    cell: Cell
    looks: tuple[Look, ...]
    stop: bool
    run: dict[str, tuple[str, ...]]
    reason: str


def crossing_probability(looks: Sequence[int], nominal: float) -> float:
    """Chance that a true null is rejected at some look, each look at the two-sided level ``nominal``.

    Parameters
    ----------
    looks : sequence of int
        Runs an arm at each look, increasing.
    nominal : float
        Two-sided level of each look.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the looks do not increase from 2 on, or the level is not in (0, 1).

    Notes
    -----
    Null: no difference. The sum of the results at one look, given that no earlier one rejected, has a density that is
    convolved with the normal density of the new runs, look by look (Armitage, McPherson and Rowe 1969), here by
    Gauss-Legendre quadrature. Assumes normal results with a known variance; with an estimated one the true chance is
    slightly larger at few runs.
    """
    steps = np.diff([0, *looks])
    if not looks or looks[0] < 2 or (steps <= 0).any():
        raise ValueError(f"looks must increase from 2 on, not {list(looks)}")
    if not 0.0 < nominal < 1.0:
        raise ValueError(f"the level must be in (0, 1), not {nominal}")
    bound = -float(ndtri(nominal / 2.0))
    nodes = density = weights = np.zeros(0)
    for index, (runs, step) in enumerate(zip(looks, steps, strict=True)):
        new = bound * np.sqrt(runs) * _NODES
        spread = np.sqrt(step)
        if index == 0:
            density = np.exp(-((new / spread) ** 2) / 2.0) / (spread * np.sqrt(2.0 * np.pi))
        else:
            kernel = np.exp(-(((new[:, None] - nodes) / spread) ** 2) / 2.0) / (spread * np.sqrt(2.0 * np.pi))
            density = kernel @ (weights * density)
        nodes, weights = new, bound * np.sqrt(runs) * _WEIGHTS
    return float(1.0 - np.sum(weights * density))


def nominal_level(looks: Sequence[int], alpha: float = 0.05) -> float:
    """Level of every look that keeps the chance of a false rejection at any of them at ``alpha``.

    Parameters
    ----------
    looks : sequence of int
        Runs an arm at each look, increasing.
    alpha : float
        Level of the whole.

    Returns
    -------
    float
        Two-sided nominal level.

    Raises
    ------
    ValueError
        As in `crossing_probability`.

    Notes
    -----
    A constant boundary (Pocock 1977) for the looks as declared, evenly spaced or not. The same number serves as the
    level of each one-sided test of TOST: the chance of any false rejection there is smaller still.
    """
    if len(looks) == 1:
        return alpha
    low = alpha / len(looks)
    return float(brentq(lambda level: crossing_probability(looks, level) - alpha, low / 2.0, alpha, xtol=1e-9))


def next_step(
    cell: Cell,
    axis: str,
    metric: str,
    seeds: Sequence[str],
    looks: Sequence[int],
    margin: float,
    nominal: float,
    paired: bool = False,
) -> Decision:
    """Decide whether a cell needs more seeds, and which.

    Parameters
    ----------
    cell : Cell
        Both arms, with the runs done so far.
    axis, metric : str
        What the arms differ in, and the metric.
    seeds : sequence of str
        All declared seeds in the order in which they are run; at least as many as the last look.
    looks : sequence of int
        Seeds an arm at each look, increasing.
    margin : float
        Margin, in units of the metric.
    nominal : float
        Level of each look, from `nominal_level`.
    paired : bool
        As in `seedstudy.statistics.comparison.compare_family`.

    Returns
    -------
    Decision
        A look takes exactly the seeds declared for it, whatever else has run, so that the number of runs never depends
        on their results but through the looks.

    Raises
    ------
    ValueError
        If fewer seeds are declared than the last look needs.

    Notes
    -----
    Stops with EQUIVALENT (NONZERO or not) or DIFFERENT at the first look that shows it, else after the last with
    INCONCLUSIVE. A failed run is a run done: its seed is not replaced.
    """
    if len(seeds) < looks[-1]:
        raise ValueError(f"the last look needs {looks[-1]} seeds; {len(seeds)} are declared")
    done: list[Look] = []
    for number, look in enumerate(looks, start=1):
        due = tuple(seeds[:look])
        lacking = {
            arm.label: tuple(seed for seed in due if seed not in set(arm.all_seeds))
            for arm in (cell.reference, cell.treatment)
        }
        if any(lacking.values()):
            count = sum(len(missing) for missing in lacking.values())
            reason = f"look {number} of {len(looks)} ({look} seeds an arm) lacks {count} run(s)"
            return Decision(cell, tuple(done), False, lacking, reason)
        part = Cell(cell.where, cell.reference.only(set(due)), cell.treatment.only(set(due)))
        verdict = compare_cell(part, axis, metric, margin, nominal, paired, 0, None).verdict
        done.append(Look(look, verdict))
        if verdict.label is not Label.INCONCLUSIVE:
            break
    label = done[-1].verdict.label
    at = f"look {len(done)} of {len(looks)} ({done[-1].seeds} seeds an arm)"
    reason = f"{label.value} at {at}, level {nominal:.4f} a look"
    if label is Label.INCONCLUSIVE:
        reason = f"{reason}; no look is left"
    return Decision(cell, tuple(done), True, {}, reason)

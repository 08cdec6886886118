"""Holm's adjustment over a family of verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seedstudy.statistics.verdict import Label, Verdict


@dataclass(frozen=True)
class Holm:
    """The p values of a cell adjusted over the family (Holm 1979), and the verdict that they allow.

    It is the verdict to quote when a cell is singled out of its family.
    """

    p_difference: float
    p_equivalent: float
    p_beyond: float
    label: Label


def holm_adjusted(verdicts: Sequence[Verdict], alpha: float) -> list[Holm]:
    """Holm's adjustment of each kind of p over a family, and the verdict that it allows.

    Parameters
    ----------
    verdicts : sequence of Verdict
        One a cell or effect.
    alpha : float
        Level.

    Returns
    -------
    list of Holm
        In the order given.

    Notes
    -----
    Each kind of p by itself.
    """
    kinds = ("p_difference", "p_equivalent", "p_beyond")
    columns = [adjust([getattr(verdict, kind) for verdict in verdicts]) for kind in kinds]
    result = []
    for difference, equivalent, beyond in zip(*columns, strict=True):
        label = Label.INCONCLUSIVE
        if equivalent < alpha:
            label = Label.EQUIVALENT_NONZERO if difference < alpha else Label.EQUIVALENT
        elif beyond < alpha:
            label = Label.DIFFERENT
        result.append(Holm(difference, equivalent, beyond, label))
    return result


def adjust(pvalues: Sequence[float]) -> list[float]:
    """Adjusted p values of a family (Holm 1979), in the order given.

    Parameters
    ----------
    pvalues : sequence of float
        One a test, in [0, 1].

    Returns
    -------
    list of float
        Each p times the number of p values that are no smaller, no smaller than the one before it, at most 1.

    Notes
    -----
    Equals ``statsmodels.stats.multitest.multipletests(method="holm")`` to the bit. That one collects garbage on every
    call, which takes longer than all other statistics of a family together.
    """
    raw = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(raw)
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1)), 1.0)
    return [float(p) for p in adjusted]

"""Holm's adjustment over a family of verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from statsmodels.stats.multitest import multipletests

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
    ``statsmodels.stats.multitest.multipletests(method="holm")`` of each kind of p by itself.
    """
    kinds = ("p_difference", "p_equivalent", "p_beyond")
    columns = [
        multipletests([getattr(verdict, kind) for verdict in verdicts], alpha, method="holm")[1].tolist()
        for kind in kinds
    ]
    result = []
    for difference, equivalent, beyond in zip(*columns, strict=True):
        label = Label.INCONCLUSIVE
        if equivalent < alpha:
            label = Label.EQUIVALENT_NONZERO if difference < alpha else Label.EQUIVALENT
        elif beyond < alpha:
            label = Label.DIFFERENT
        result.append(Holm(difference, equivalent, beyond, label))
    return result

"""Ranking and classification metrics, in float64, unrounded, indifferent to the order of rows.

A metric that breaks ties by row order measures the file as well as the model. Where scores tie, the expected value
over all orders of the tied rows is taken, as in McSherry and Najork, "Computing Information Retrieval Performance
Measures Efficiently in the Presence of Tied Scores", ECIR 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]


@dataclass(frozen=True)
class RankingMetric:
    """A metric averaged over displays.

    Attributes
    ----------
    value : float
        Mean over the displays that hold at least one positive.
    displays : int
        How many those are.
    tied_share : float
        Share of them in which a positive's score equals a negative's: there the value is an expectation.
    """

    value: float
    displays: int
    tied_share: float


def mean_average_precision(scores: Floats, labels: NDArray[Any], groups: Integers, k: int) -> RankingMetric:
    """MAP@k over all displays, with the expected value over the order of tied rows.

    A display's average precision is the sum, over its positives at rank r <= k, of the precision at r, divided by
    min(positives, k). Within a block of m tied rows that starts after rank a, holds t positives and follows b
    positives, the row at the block's j-th place is positive with probability t / m and then has
    b + 1 + (j - 1)(t - 1) / (m - 1) positives up to itself, in expectation.

    Parameters
    ----------
    scores : array of float, shape (rows,)
        Any finite real numbers, larger is better.
    labels : array, shape (rows,)
        Positive where greater than 0.
    groups : array of int, shape (rows,)
        The display of each row, in any order.
    k : int
        Cut-off, at least 1.

    Returns
    -------
    RankingMetric
        Displays without a positive have no average precision and are not counted.

    Raises
    ------
    ValueError
        Shapes differ, a score is not finite, k < 1, or no display holds a positive.
    """
    scores, labels, groups = np.asarray(scores), np.asarray(labels), np.asarray(groups)
    if not scores.shape == labels.shape == groups.shape or scores.ndim != 1:
        raise ValueError(f"scores {scores.shape}, labels {labels.shape}, groups {groups.shape}: one row each needed")
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")
    order = np.lexsort((-scores, groups))
    scores, groups, positive = scores[order], groups[order], (labels[order] > 0).astype(np.int64)
    rows = np.arange(len(scores))

    new_display = np.ones(len(scores), dtype=bool)
    new_display[1:] = groups[1:] != groups[:-1]
    new_block = new_display.copy()
    new_block[1:] |= scores[1:] != scores[:-1]
    display = np.cumsum(new_display) - 1
    block = np.cumsum(new_block) - 1
    display_start, block_start = rows[new_display], rows[new_block]

    before = np.concatenate(([0], np.cumsum(positive)))  # positives above each row, over the whole table
    tied = np.diff(np.append(block_start, len(rows)))  # m
    hits = np.add.reduceat(positive, block_start)  # t
    m, t = tied[block], hits[block]
    place = rows - block_start[block]  # j - 1
    rank = rows - display_start[display] + 1
    above = before[block_start[block]] - before[display_start[display]]  # b
    within = place * (t - 1) / np.maximum(m - 1, 1)
    gain = np.where((rank <= k) & (t > 0), t / m * (above + 1 + within) / rank, 0.0)

    positives = np.add.reduceat(positive, display_start)
    counted = positives > 0
    if not counted.any():
        raise ValueError("no display holds a positive")
    precision = np.add.reduceat(gain, display_start)[counted] / np.minimum(positives[counted], k)
    mixed = np.zeros(len(display_start), dtype=bool)
    mixed[display[block_start[(hits > 0) & (hits < tied)]]] = True
    return RankingMetric(float(precision.mean()), int(counted.sum()), float(mixed[counted].mean()))


def area_under_curve(scores: Floats, labels: NDArray[Any]) -> float:
    """Area under the ROC curve: P(score of a positive > score of a negative), ties counting one half.

    Parameters
    ----------
    scores : array of float, shape (rows,)
        Any finite real numbers.
    labels : array, shape (rows,)
        Positive where greater than 0.

    Returns
    -------
    float
        The Mann-Whitney statistic over the number of pairs (Hanley and McNeil, 1982).

    Raises
    ------
    ValueError
        There is no positive or no negative.
    """
    positive = np.asarray(labels) > 0
    hits, misses = int(positive.sum()), int((~positive).sum())
    if hits == 0 or misses == 0:
        raise ValueError("the area under the curve needs a positive and a negative")
    ranks = rankdata(np.asarray(scores))
    return float((ranks[positive].sum() - hits * (hits + 1) / 2) / (hits * misses))


def log_loss(logits: Floats, labels: NDArray[Any]) -> float:
    """Mean binary cross-entropy of logits, in nats a row.

    Parameters
    ----------
    logits : array of float, shape (rows,)
        Log-odds of the positive class.
    labels : array, shape (rows,)
        0 or 1.

    Returns
    -------
    float
        Mean of log(1 + exp(-z)) over positives and log(1 + exp(z)) over negatives, computed without overflow.
    """
    logits = np.asarray(logits, dtype=np.float64)
    signed = np.where(np.asarray(labels) > 0, -logits, logits)
    return float(np.logaddexp(0.0, signed).mean())

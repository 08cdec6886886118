"""Ranking and classification metrics, in float64, unrounded, indifferent to the order of rows.

A metric that breaks ties by row order measures the file as well as the model. Where scores tie, the expected value
over all orders of the tied rows is taken, as in McSherry and Najork, "Computing Information Retrieval Performance
Measures Efficiently in the Presence of Tied Scores", ECIR 2008.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]

# Rows worked on at a time, in whole displays: their arrays stay in the processor's cache and add little memory.
CHUNK_ROWS = 1 << 16


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
    scores, labels, groups = _checked(scores, labels, groups, k)
    if not (labels > 0).any():
        raise ValueError("no display holds a positive")
    starts = np.concatenate(([0], np.flatnonzero(groups[1:] != groups[:-1]) + 1))
    order = np.argsort(groups[starts], kind="stable")
    if (np.diff(groups[starts][order]) == 0).any():  # the rows of a display lie apart
        rows = np.argsort(groups, kind="stable")
        return mean_average_precision(scores[rows], labels[rows], groups[rows], k)

    precision, mixed = np.empty(len(starts)), np.empty(len(starts), bool)
    bounds = np.append(starts, len(scores))
    cuts = np.append(np.searchsorted(starts, np.arange(0, len(scores), CHUNK_ROWS)), len(starts))
    for first, last in itertools.pairwise(np.unique(cuts)):
        chunk = slice(bounds[first], bounds[last])
        sizes = np.diff(bounds[first : last + 1])
        precision[first:last], mixed[first:last] = _precisions(scores[chunk], labels[chunk] > 0, sizes, k)
    # In the order of the displays' numbers: the sum rounds alike, however the rows are ordered.
    precision, mixed = precision[order], mixed[order]
    counted = ~np.isnan(precision)
    return RankingMetric(float(precision[counted].mean()), int(counted.sum()), float(mixed[counted].mean()))


def _precisions(
    scores: Floats, positive: NDArray[np.bool_], sizes: Integers, k: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Average precision of each display (NaN without a positive), and whether a positive ties with a negative there.

    Rows are not sorted. The distinct scores of a display's positives are its levels, most often one; each row is put at
    the first level that it reaches, and how many rows stand at and above a level follows by counting.

    Parameters
    ----------
    scores, positive : arrays, shape (rows,)
        Rows of a display are adjacent.
    sizes : array of int, shape (displays,)
        Rows of each display.
    k : int
        Cut-off.
    """
    starts = np.cumsum(sizes) - sizes
    display = np.repeat(np.arange(len(sizes)), sizes)
    hits = np.flatnonzero(positive)
    level_display, level = display[hits], scores[hits]
    if (level_display[1:] == level_display[:-1]).any():
        by_score = np.lexsort((level, -level_display))[::-1]  # unsigned scores cannot be negated
        level_display, level = level_display[by_score], level[by_score]
    distinct = np.ones(len(hits), bool)
    distinct[1:] = (level[1:] != level[:-1]) | (level_display[1:] != level_display[:-1])
    begins = np.flatnonzero(distinct)
    level_display, level = level_display[begins], level[begins]

    # A display's slots are its levels, highest first, and one for the rows below them all.
    levels = np.bincount(level_display, minlength=len(sizes))
    last = np.cumsum(levels + 1) - 1
    slot = np.arange(len(level)) + level_display
    threshold = np.full(last[-1] + 1, scores.min())  # the last slot of a display is reached by all
    threshold[slot] = level

    low, high = (last - levels)[display], last[display]
    for _ in range(int(levels.max()).bit_length()):  # bisection; products, since np.where guesses each row's branch
        middle = (low + high) >> 1
        below = threshold[middle] > scores
        low += (middle + 1 - low) * below
        high = middle + (high - middle) * below
    tied = np.bincount(low[np.flatnonzero(threshold[low] == scores)], minlength=len(threshold))[slot]  # m
    first = np.cumsum(np.bincount(low, minlength=len(threshold)))[slot] - tied  # place of the block in the chunk
    above = first - starts[level_display]  # a

    positives = np.bincount(display[hits], minlength=len(sizes))
    right = np.diff(begins, append=len(hits))  # t
    before = begins - (np.cumsum(positives) - positives)[level_display]  # b
    shown = np.clip(k - above, 0, tied)  # places of the block up to k
    block = np.repeat(np.arange(len(level)), shown)
    place = np.arange(len(block)) - np.repeat(np.cumsum(shown) - shown, shown)  # j - 1
    t, m = right[block], tied[block]
    within = place * (t - 1) / np.maximum(m - 1, 1)
    gain = np.zeros(len(scores))
    gain[first[block] + place] = t / m * (before[block] + 1 + within) / (above[block] + place + 1)

    mixed = np.zeros(len(sizes), bool)
    mixed[level_display[right < tied]] = True
    precision = np.full(len(sizes), np.nan)
    np.divide(np.add.reduceat(gain, starts), np.minimum(positives, k), out=precision, where=positives > 0)
    return precision, mixed


@dataclass(frozen=True)
class HeldOutRanking:
    """Where held-out items rank among their negatives, averaged over slates.

    Attributes
    ----------
    hit_rate, ndcg : float
        HR@k and NDCG@k.
    tied_share : float
        Share of slates in which the held-out item's score equals a negative's: there the values are expectations.
    """

    hit_rate: float
    ndcg: float
    tied_share: float


def held_out_ranking(scores: Floats, labels: NDArray[Any], groups: Integers, k: int) -> HeldOutRanking:
    """HR@k and NDCG@k of one held-out item a slate (He et al., WWW 2017), expected over the order of tied rows.

    An item at rank r <= k is a hit and gains ln 2 / ln(r + 1), any other 0. One that ties with m - 1 others after rank
    a stands at each of a + 1 .. a + m with probability 1 / m.

    Parameters
    ----------
    scores, labels, groups : arrays, shape (rows,)
        As for `mean_average_precision`.
    k : int
        Cut-off, at least 1.

    Returns
    -------
    HeldOutRanking

    Raises
    ------
    ValueError
        Shapes differ, a score is not finite, k < 1, or a slate does not hold exactly one positive.
    """
    scores, labels, groups = _checked(scores, labels, groups, k)
    slates, slate = np.unique(groups, return_inverse=True)
    positive = labels > 0
    if (np.bincount(slate[positive], minlength=len(slates)) != 1).any():
        raise ValueError("a slate does not hold exactly one positive")
    held_out = np.empty(len(slates), scores.dtype)
    held_out[slate[positive]] = scores[positive]
    above = np.bincount(slate[scores > held_out[slate]], minlength=len(slates))  # a
    tied = np.bincount(slate[scores == held_out[slate]], minlength=len(slates))  # m
    gains = np.concatenate(([0.0], np.log(2) / np.log(np.arange(2, k + 2))))
    totals = np.stack([np.arange(k + 1), gains.cumsum()])  # of ranks 1 .. r, by r
    first, last = np.minimum(above, k), np.minimum(above + tied, k)
    hit, gain = (totals[:, last] - totals[:, first]) / tied
    return HeldOutRanking(float(hit.mean()), float(gain.mean()), float((tied > 1).mean()))


def _checked(scores: Floats, labels: NDArray[Any], groups: Integers, k: int) -> tuple[Floats, NDArray[Any], Integers]:
    scores, labels, groups = np.asarray(scores), np.asarray(labels), np.asarray(groups)
    if not scores.shape == labels.shape == groups.shape or scores.ndim != 1:
        raise ValueError(f"scores {scores.shape}, labels {labels.shape}, groups {groups.shape}: one row each needed")
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")
    return scores, labels, groups


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
    scores = np.asarray(scores)
    negatives, positives = np.sort(scores[~positive]), np.sort(scores[positive])  # sorted, their search is local
    lower = int(np.searchsorted(negatives, positives, side="left").sum())
    no_higher = int(np.searchsorted(negatives, positives, side="right").sum())
    return (lower + no_higher) / 2 / (hits * misses)


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

"""Ranking metrics against fractions worked by hand, a brute-force oracle, and scikit-free definitions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from seedstudy.metrics import area_under_curve, log_loss, mean_average_precision


def average_precision(ranked: tuple[int, ...], k: int) -> Fraction:
    hits, total = 0, Fraction(0)
    for rank, label in enumerate(ranked[:k], start=1):
        if label:
            hits += 1
            total += Fraction(hits, rank)
    return total / min(sum(ranked), k)


def expected_average_precision(scores: list[int], labels: list[int], k: int) -> Fraction:
    """Mean over every order of the rows that no score contradicts."""
    values = [
        average_precision(tuple(labels[i] for i in order), k)
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    return sum(values, Fraction(0)) / len(values)


@pytest.mark.parametrize(
    ("scores", "labels", "k", "expected"),
    [
        ([3, 2, 1], [1, 0, 0], 12, Fraction(1)),
        ([3, 2, 1], [0, 0, 1], 12, Fraction(1, 3)),
        ([3, 2, 1], [0, 0, 1], 2, Fraction(0)),
        ([4, 3, 2, 1], [1, 0, 1, 0], 12, Fraction(5, 6)),  # (1/1 + 2/3) / 2
        ([5, 5], [1, 0], 12, Fraction(3, 4)),  # (1 + 1/2) / 2 orders
        ([5, 5, 5], [0, 1, 0], 12, Fraction(11, 18)),  # (1 + 1/2 + 1/3) / 3
        ([9, 5, 5], [0, 1, 0], 12, Fraction(5, 12)),  # (1/2 + 1/3) / 2
        ([7, 7, 7], [1, 1, 1], 2, Fraction(1)),
        ([2, 2, 1], [1, 1, 0], 1, Fraction(1)),
    ],
)
def test_map_equals_hand_worked_fractions(scores, labels, k, expected):
    found = mean_average_precision(np.array(scores, float), np.array(labels), np.zeros(len(scores), int), k)
    assert found.value == pytest.approx(float(expected), abs=1e-15)


def test_map_equals_brute_force_on_1000_ragged_cases_with_ties():
    rng = np.random.default_rng(5)
    for case in range(1000):
        k = int(rng.integers(1, 7))
        displays, expected = [], []
        for _ in range(int(rng.integers(1, 4))):
            size = int(rng.integers(1, 6))
            scores, labels = rng.integers(0, 3, size).tolist(), rng.integers(0, 2, size).tolist()
            displays.append((scores, labels))
            if any(labels):
                expected.append(expected_average_precision(scores, labels, k))
        if not expected:
            continue
        scores = np.concatenate([s for s, _ in displays]).astype(float)
        labels = np.concatenate([y for _, y in displays])
        groups = np.repeat(rng.permutation(100)[: len(displays)], [len(s) for s, _ in displays])
        order = rng.permutation(len(scores))
        found = mean_average_precision(scores[order], labels[order], groups[order], k)
        assert found.value == pytest.approx(float(sum(expected) / len(expected)), abs=1e-12), case
        assert found.displays == len(expected)


def test_tied_share_counts_displays_where_a_positive_ties_a_negative():
    scores = np.array([1, 1, 2, 2, 3, 4.0])
    labels = np.array([1, 0, 1, 1, 1, 0])
    groups = np.array([0, 0, 1, 1, 2, 2])
    assert mean_average_precision(scores, labels, groups, 12).tied_share == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("scores", "labels", "groups", "k"),
    [([1.0], [1, 0], [0, 0], 3), ([np.nan], [1], [0], 3), ([1.0], [1], [0], 0), ([1.0], [0], [0], 3)],
)
def test_map_refuses_what_has_no_answer(scores, labels, groups, k):
    with pytest.raises(ValueError, match=r"rows|row each|finite|at least|positive"):
        mean_average_precision(np.array(scores), np.array(labels), np.array(groups), k)


def test_auc_is_the_share_of_ordered_pairs():
    # Pairs (positive, negative): (3, 1), (3, 2), (2, 1) won, (2, 2) tied: 3.5 of 4.
    assert area_under_curve(np.array([3, 2, 1, 2.0]), np.array([1, 1, 0, 0])) == 3.5 / 4


def test_log_loss_is_the_negative_log_likelihood_and_does_not_overflow():
    logits, labels = np.array([0.0, 2.0, -1.0]), np.array([1, 0, 1])
    probability = 1 / (1 + np.exp(-logits))
    expected = -np.log(np.where(labels == 1, probability, 1 - probability)).mean()
    assert log_loss(logits, labels) == pytest.approx(expected, rel=1e-14)
    assert log_loss(np.array([1e4, -1e4]), np.array([0, 1])) == 1e4

"""Ranking metrics against fractions worked by hand, a brute-force oracle, and scikit-free definitions."""

import itertools
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from seedstudy import metrics
from seedstudy.metrics import area_under_curve, held_out_ranking, log_loss, mean_average_precision

displays = st.lists(
    st.lists(st.tuples(st.integers(-2, 2), st.booleans()), min_size=1, max_size=5), min_size=1, max_size=6
).filter(lambda tables: any(label for rows in tables for _, label in rows))


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


@settings(max_examples=150, derandomize=True, deadline=None)
@given(displays, st.sampled_from([1, 2, 3, 12, 10**9]), st.sampled_from([1, 4, 2**16]), st.randoms())
def test_map_is_the_mean_of_exact_expectations_in_any_order_and_chunk(tables, k, chunk, random):
    numbers = random.sample(range(-50, 50), len(tables))
    rows = [(number, *row) for number, table in zip(numbers, tables, strict=True) for row in table]
    if random.random() < 0.5:
        random.shuffle(rows)
    groups, scores, labels = (np.array(column) for column in zip(*rows, strict=True))
    counted = [list(zip(*table, strict=True)) for table in tables if any(label for _, label in table)]
    expected = sum((expected_average_precision(s, y, min(k, 12)) for s, y in counted), Fraction(0)) / len(counted)
    tied = sum(bool({s for s, y in table if y} & {s for s, y in table if not y}) for table in tables)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "CHUNK_ROWS", chunk)
        found = mean_average_precision(scores, labels, groups, k)
    assert found.value == pytest.approx(float(expected), abs=1e-15)
    assert found.displays == len(counted)
    assert found.tied_share == tied / len(counted)


@pytest.mark.parametrize("k", [1, 12, 100])
def test_map_of_large_displays_with_many_positives_without_ties(k):
    rng = np.random.default_rng(8)
    groups = np.repeat(rng.permutation(40), rng.integers(1, 80, 40))
    scores, labels = rng.normal(size=len(groups)), rng.random(len(groups)) < 0.3
    ranked = [labels[groups == g][np.argsort(-scores[groups == g])] for g in range(40)]
    expected = [average_precision(tuple(map(int, labels)), k) for labels in ranked if labels.any()]
    found = mean_average_precision(scores, labels, groups, k)
    assert found.value == pytest.approx(float(sum(expected) / len(expected)), abs=1e-15)


def test_map_has_the_same_bits_in_any_order_of_rows_and_chunks(monkeypatch):
    rng = np.random.default_rng(9)
    groups = np.repeat(np.arange(2000), rng.integers(1, 30, 2000))
    scores, labels = rng.normal(size=len(groups)).round(1), rng.random(len(groups)) < 0.2
    expected = mean_average_precision(scores, labels, groups, 12)
    for chunk in (1, 1000):
        monkeypatch.setattr(metrics, "CHUNK_ROWS", chunk)
        assert mean_average_precision(scores, labels, groups, 12) == expected
    assert mean_average_precision(scores[::-1], labels[::-1], groups[::-1], 12) == expected
    order = rng.permutation(len(groups))
    assert mean_average_precision(scores[order], labels[order], groups[order], 12) == expected


def test_map_of_one_display_of_300_000_tied_rows_is_no_quadratic_work():
    rows = 300_000
    labels = np.zeros(rows)
    labels[7] = 1
    expected = (1 / np.arange(1, rows + 1)).sum() / rows
    found = mean_average_precision(np.zeros(rows), labels, np.zeros(rows, int), 10**9)
    assert found.value == pytest.approx(expected, rel=1e-12)
    every = mean_average_precision(np.arange(rows), np.ones(rows), np.zeros(rows, int), 10**9)
    assert every.value == pytest.approx(1, abs=1e-12)


def test_map_orders_unsigned_scores():
    assert mean_average_precision(np.array([0, 5, 3], np.uint8), np.array([1, 0, 1]), np.zeros(3, int), 3).value == (
        pytest.approx((1 / 2 + 2 / 3) / 2)
    )


def test_tied_share_counts_a_tie_below_the_cut_off():
    found = mean_average_precision(np.array([9, 8, 1, 1.0]), np.array([0, 0, 1, 0]), np.zeros(4, int), 1)
    assert (found.value, found.tied_share) == (0, 1)


@pytest.mark.parametrize(
    ("scores", "labels", "groups", "k"),
    [([], [], [], 3), ([1.0], [1, 0], [0, 0], 3), ([np.nan], [1], [0], 3), ([1.0], [1], [0], 0), ([1.0], [0], [0], 3)],
)
def test_map_refuses_what_has_no_answer(scores, labels, groups, k):
    with pytest.raises(ValueError, match=r"rows|row each|finite|at least|positive"):
        mean_average_precision(np.array(scores), np.array(labels), np.array(groups), k)


def test_auc_is_the_share_of_ordered_pairs():
    # Pairs (positive, negative): (3, 1), (3, 2), (2, 1) won, (2, 2) tied: 3.5 of 4.
    assert area_under_curve(np.array([3, 2, 1, 2.0]), np.array([1, 1, 0, 0])) == 3.5 / 4


def test_auc_is_scipys_mann_whitney_statistic_to_the_bit():
    rng = np.random.default_rng(10)
    for decimals in (0, 1, 2, 15):
        scores, labels = rng.normal(size=5000).round(decimals), rng.random(5000) < 0.2
        pairs = int(labels.sum()) * int((~labels).sum())
        expected = mannwhitneyu(scores[labels], scores[~labels], method="asymptotic").statistic / pairs
        assert area_under_curve(scores, labels) == expected


def test_metrics_do_not_wait_for_scipy():
    code = "import sys, seedstudy.metrics; sys.exit('scipy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_log_loss_is_the_negative_log_likelihood_and_does_not_overflow():
    logits, labels = np.array([0.0, 2.0, -1.0]), np.array([1, 0, 1])
    probability = 1 / (1 + np.exp(-logits))
    expected = -np.log(np.where(labels == 1, probability, 1 - probability)).mean()
    assert log_loss(logits, labels) == pytest.approx(expected, rel=1e-14)
    assert log_loss(np.array([1e4, -1e4]), np.array([0, 1])) == 1e4


def held_out(scores: list[int], positive: int, k: int) -> tuple[Fraction, float]:
    """HR@k and NDCG@k of one slate, over every order that no score contradicts."""
    ranks = [
        order.index(positive) + 1
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    hits = Fraction(sum(rank <= k for rank in ranks), len(ranks))
    return hits, sum(math.log(2) / math.log(rank + 1) for rank in ranks if rank <= k) / len(ranks)


@pytest.mark.parametrize(
    ("scores", "k", "hit_rate", "ndcg"),
    [
        ([3, 2, 1], 10, Fraction(1), 1.0),
        ([2, 3, 1], 10, Fraction(1), math.log(2) / math.log(3)),
        ([1, 2, 3], 2, Fraction(0), 0.0),
        ([5, 5], 1, Fraction(1, 2), 0.5),  # first in one of two orders
        ([5, 5, 5, 9], 3, Fraction(2, 3), (math.log(2) / math.log(3) + 0.5) / 3),  # ranks 2, 3, 4
    ],
)
def test_held_out_ranking_equals_values_worked_by_hand(scores, k, hit_rate, ndcg):
    labels = np.arange(len(scores)) == 0
    found = held_out_ranking(np.array(scores, float), labels, np.zeros(len(scores), int), k)
    assert found.hit_rate == pytest.approx(float(hit_rate), abs=1e-15)
    assert found.ndcg == pytest.approx(ndcg, abs=1e-15)


def test_held_out_ranking_equals_brute_force_on_300_cases_with_ties():
    rng = np.random.default_rng(5)
    tied = 0
    for _ in range(300):
        k, sizes = int(rng.integers(1, 8)), rng.integers(1, 7, 4)
        slates = [rng.integers(0, 4, size).tolist() for size in sizes]
        positives = [int(rng.integers(size)) for size in sizes]
        expected = [held_out(scores, positive, k) for scores, positive in zip(slates, positives, strict=True)]
        labels = np.concatenate([np.arange(size) == p for size, p in zip(sizes, positives, strict=True)])
        rows = rng.permutation(sizes.sum())
        scores, groups = np.concatenate(slates).astype(float), np.repeat([7, 3, 9, 1], sizes)
        found = held_out_ranking(scores[rows], labels[rows], groups[rows], k)
        assert found.hit_rate == pytest.approx(float(np.mean([float(hits) for hits, _ in expected])), abs=1e-12)
        assert found.ndcg == pytest.approx(float(np.mean([gain for _, gain in expected])), abs=1e-12)
        tied += found.tied_share > 0
    assert tied > 100


@pytest.mark.parametrize("labels", [[1, 1, 0], [0, 0, 0]])
def test_a_slate_without_exactly_one_held_out_item_is_refused(labels):
    with pytest.raises(ValueError, match="exactly one positive"):
        held_out_ranking(np.zeros(3), np.array(labels), np.zeros(3, int), 10)

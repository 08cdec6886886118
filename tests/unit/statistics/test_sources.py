"""Variance by random stream: worked by hand, and against variances that are known."""

import numpy as np
import pytest

from seedstudy.statistics.sources import variance_sources


def split(base, replaced, resamples=500):
    return variance_sources(base, replaced, 0.95, resamples, np.random.default_rng(0))


def test_components_are_half_the_mean_square_of_the_change():
    found = split([1.0, 2.0, 4.0], {"weights": [2.0, 2.0, 1.0], "order": [1.0, 3.0, 4.5]})
    assert found.total == pytest.approx(7 / 3)  # 1, 2, 4 around 7/3, over 2
    assert found.components == pytest.approx({"weights": 10 / 6, "order": 1.25 / 6})
    assert found.excess == pytest.approx(11.25 / 6 - 7 / 3)


def drawn(n, combine, seed=1):
    """Runs of two streams with SD 3 and 4, and with each replaced."""
    a, b, other_a, other_b = np.random.default_rng(seed).normal(0, [[3], [4], [3], [4]], (4, n))
    return combine(a, b), {"weights": combine(other_a, b), "order": combine(a, other_b)}


def test_variances_of_independent_streams_add_up():
    found = split(*drawn(3_000, lambda a, b: a + b), resamples=200)
    assert found.components == pytest.approx({"weights": 9, "order": 16}, rel=0.1)
    assert found.total == pytest.approx(25, rel=0.1)


def test_streams_that_act_only_together_count_twice():
    # Var(ab) = 9 * 16, all of it an interaction: each stream's total effect is the whole.
    found = split(*drawn(3_000, lambda a, b: a * b), resamples=200)
    assert found.components == pytest.approx({"weights": 144, "order": 144}, rel=0.2)
    assert found.excess == pytest.approx(144, rel=0.3)
    assert not found.agrees


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    hits = np.zeros(3)
    for seed in range(100):
        found = split(*drawn(20, lambda a, b: a + b, seed), resamples=300)
        intervals = [found.intervals["weights"], found.intervals["order"], found.excess_interval]
        hits += [interval.low <= truth <= interval.high for interval, truth in zip(intervals, (9, 16, 0), strict=True)]
    assert (hits / 100 > 0.84).all()  # 20 seeds and heavy tails of squares: below the nominal .95


def test_a_stream_that_changes_nothing_has_no_part():
    base = [1.0, 2.0, 4.0, 3.0]
    found = split(base, {"examples": base, "order": [2.0, 1.0, 3.0, 4.0]})
    assert found.components["examples"] == 0
    assert (found.intervals["examples"].low, found.intervals["examples"].high) == (0, 0)


def test_too_few_pairs_are_refused():
    with pytest.raises(ValueError, match="2 pairs"):
        split([1.0, 2.0], {"order": [2.0, 1.0]})

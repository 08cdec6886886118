"""KS against published values, scipy, and a brute-force count of all permutations."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from seedstudy.statistics.ks import compare_distributions, ks_exact_pvalue, ks_permutation_pvalue, ks_statistic


def arms_at_distance(steps, n=20):
    """Two arms of n without ties whose KS statistic is steps / n: the treatment is moved up by ``steps`` places."""
    reference = np.arange(n, dtype=float)
    return reference, reference + steps - 0.5


@pytest.mark.parametrize(
    ("distance", "p"), [(0.10, 0.99999), (0.15, 0.98314), (0.20, 0.83197), (0.30, 0.33559), (0.40, 0.08106)]
)
def test_published_p_values_at_twenty_an_arm(distance, p):
    result = compare_distributions(*arms_at_distance(round(20 * distance)))
    assert result.statistic == pytest.approx(distance)
    assert round(result.p_exact, 5) == p
    assert not result.ties
    assert np.isnan(result.p_permutation)


def test_critical_distance_and_its_true_size():
    assert round(compare_distributions(*arms_at_distance(9)).p_exact, 4) == 0.0335
    assert compare_distributions(*arms_at_distance(8)).p_exact > 0.05


def test_permutation_p_equals_the_exact_p_without_ties():
    rng = np.random.default_rng(1)
    for n, m in [(20, 20), (20, 13), (7, 40), (1, 5), (300, 200)]:
        x, y = rng.normal(size=n), rng.normal(0.3, size=m)
        assert ks_permutation_pvalue(x, y) == pytest.approx(ks_2samp(x, y, method="exact").pvalue, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_permutation_p_with_ties_equals_a_count_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 4, 5).astype(float), rng.integers(1, 5, 6).astype(float)
    seen, pooled = ks_2samp(x, y).statistic, np.concatenate([x, y])
    # Values up to each level: in the five chosen, in all eleven, and so in the six that are left.
    up_to = pooled[:, None] <= np.unique(pooled)
    chosen = up_to[np.array(list(combinations(range(11), 5)))].sum(axis=1)
    statistics = np.abs(chosen / 5 - (up_to.sum(axis=0) - chosen) / 6).max(axis=1)
    assert statistics.size == 462
    assert ks_permutation_pvalue(x, y) == pytest.approx(np.mean(statistics >= seen - 1e-12), rel=1e-12)


def test_ties_are_seen_and_make_the_naive_p_too_large():
    rng = np.random.default_rng(2)
    x, y = np.round(rng.normal(size=20)), np.round(rng.normal(0.5, size=20))
    result = compare_distributions(x, y)
    assert result.ties
    assert result.p_permutation < result.p_exact


def test_statistic_of_many_studies_equals_scipy():
    rng = np.random.default_rng(3)
    x, y = np.round(rng.normal(size=(50, 12)), 1), np.round(rng.normal(size=(50, 9)), 1)
    expected = [ks_2samp(a, b, method="asymp").statistic for a, b in zip(x, y, strict=True)]
    assert ks_statistic(x, y) == pytest.approx(expected)


def test_no_value_or_a_nan_is_refused():
    with pytest.raises(ValueError, match="at least one value"):
        compare_distributions([], [1.0])
    with pytest.raises(ValueError, match="not finite"):
        compare_distributions([1.0, np.nan], [1.0])


def test_arms_that_agree_have_p_of_one_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # scipy's own exact p comes out above 1 here and is replaced by the asymptotic one.
        result = compare_distributions([1.0, 2.0, 3.0, 4.0, 5.0], [1.5, 2.5, 3.5, 4.5, 5.5])
    assert result.statistic == pytest.approx(0.2)
    assert result.p_exact == 1.0


def test_very_large_tied_arms_end():
    x = np.tile([0.25, 0.75], 50_000)
    result = compare_distributions(x, x[:-1])
    assert result.ties
    assert np.isnan(result.p_permutation)
    assert result.p_exact == pytest.approx(1.0)


def test_exact_p_of_a_printed_statistic_equals_scipy():
    rng = np.random.default_rng(4)
    for n, m in [(20, 20), (5, 9), (12, 7)]:
        result = ks_2samp(rng.normal(size=n), rng.normal(1.0, size=m), method="exact")
        assert ks_exact_pvalue(float(result.statistic), n, m) == pytest.approx(result.pvalue, rel=1e-9)
    with pytest.raises(ValueError, match="needs a run"):
        ks_exact_pvalue(0.5, 0, 3)

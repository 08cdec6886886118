"""Estimates against scipy and statsmodels, standardised effects against worked examples."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_paired

from seedstudy.statistics.difference import correlation, hedges_g, paired, probability_of_superiority, welch
from seedstudy.statistics.permutation import permutation_test
from seedstudy.statistics.values import resolution
from seedstudy.statistics.variance import compare_variances, variance_ratio

RNG = np.random.default_rng(7)
X, Y = RNG.normal(0.0, 1.0, 20), RNG.normal(0.4, 1.7, 17)
PAIRED_Y = X + RNG.normal(0.1, 0.3, 20)


def test_welch_equals_scipy():
    estimate, expected = welch(X, Y), stats.ttest_ind(Y, X, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert (estimate.t, estimate.df, estimate.p_difference) == pytest.approx(
        (expected.statistic, expected.df, expected.pvalue)
    )
    assert (estimate.interval(0.95).low, estimate.interval(0.95).high) == pytest.approx((interval.low, interval.high))


def test_paired_equals_scipy():
    estimate, expected = paired(X, PAIRED_Y), stats.ttest_rel(PAIRED_Y, X)
    interval = expected.confidence_interval(0.9)
    assert (estimate.t, estimate.df, estimate.p_difference) == pytest.approx(
        (expected.statistic, expected.df, expected.pvalue)
    )
    assert (estimate.interval(0.9).low, estimate.interval(0.9).high) == pytest.approx((interval.low, interval.high))


def test_tost_equals_statsmodels():
    expected = CompareMeans(DescrStatsW(Y), DescrStatsW(X)).ttost_ind(-1.5, 1.5, usevar="unequal")[0]
    assert welch(X, Y).p_equivalent(1.5) == pytest.approx(expected)
    assert paired(X, PAIRED_Y).p_equivalent(0.2) == pytest.approx(ttost_paired(PAIRED_Y, X, -0.2, 0.2)[0])


def test_beyond_is_the_one_sided_test_of_the_margin():
    y = X + 3.0 + np.linspace(-0.5, 0.5, 20)
    expected = stats.ttest_1samp(y - X, 2.9, alternative="greater").pvalue
    assert paired(X, y).p_beyond(2.9) == pytest.approx(expected)
    assert paired(y, X).p_beyond(2.9) == pytest.approx(expected)


def test_many_studies_at_once_equal_one_by_one():
    x, y = RNG.normal(size=(6, 5)), RNG.normal(size=(6, 8))
    for index in range(6):
        one, all_of_them = welch(x[index], y[index]), welch(x, y)
        assert (one.value, one.se, one.df) == pytest.approx(
            (all_of_them.value[index], all_of_them.se[index], all_of_them.df[index])
        )


def test_hedges_g_of_a_worked_example():
    # d = 1 at 10 + 10 runs; J(18) = gamma(9) / (sqrt(9) gamma(8.5)) = 0.957646...
    assert hedges_g(2.0, 2.0, 10, 2.0, 10) == pytest.approx(0.9576, abs=5e-5)


def test_probability_of_superiority_by_hand():
    # pairs (1,2) (1,3) (2,3) won, (2,2) tied: (3 + 1/2) / 4
    assert probability_of_superiority([1.0, 2.0], [2.0, 3.0]) == 3.5 / 4
    assert probability_of_superiority(X, Y) == pytest.approx(stats.mannwhitneyu(Y, X).statistic / (20 * 17))


def test_correlation_equals_scipy_and_needs_spread():
    assert correlation(X, PAIRED_Y) == pytest.approx(stats.pearsonr(X, PAIRED_Y).statistic)
    assert np.isnan(correlation([1.0, 1.0], [1.0, 2.0]))


def test_brown_forsythe_f_and_ratio():
    result = compare_variances(X, Y)
    assert result.p_brown_forsythe == pytest.approx(stats.levene(X, Y, center="median").pvalue)
    f = Y.var(ddof=1) / X.var(ddof=1)
    assert result.ratio.sd_ratio == pytest.approx(np.sqrt(f))
    assert result.ratio.p_f == pytest.approx(2 * min(stats.f.sf(f, 16, 19), stats.f.cdf(f, 16, 19)))
    # The interval excludes 1 exactly when the F test rejects at 5 %.
    low, high = result.ratio.interval.low, result.ratio.interval.high
    assert stats.f.cdf(f / low**2, 16, 19) == pytest.approx(0.975)
    assert stats.f.cdf(f / high**2, 16, 19) == pytest.approx(0.025)


def test_spread_that_is_not_there():
    assert variance_ratio(0.0, 5, 0.0, 5).p_f == 1.0
    assert variance_ratio(1.0, 5, 0.0, 5).p_f == 0.0
    assert variance_ratio(0.0, 5, 1.0, 5).sd_ratio == np.inf
    assert np.isnan(compare_variances([1.0, 2.0], [1.0, 4.0]).p_brown_forsythe)


# As float64, the two differ by less than a step, or by more.
@pytest.mark.parametrize(("low", "step"), [(0.6573, 1e-4), (0.7, 0.1), (0.5, 0.1), (0.1, 0.1), (5.3, 0.1)])
def test_equal_values_leave_what_the_rounding_leaves(low, step):
    # The means are known to one step only.
    estimate = welch([low] * 5, [round(low + step, 4)] * 5)
    assert estimate.se == 0.0
    assert estimate.slack == pytest.approx(step)
    assert estimate.p_equivalent(1.5 * step) == 1.0
    assert estimate.p_equivalent(2.0 * step) == 1.0
    assert estimate.p_equivalent(2.5 * step) == 0.0
    assert estimate.p_difference == 1.0
    assert estimate.p_beyond(step / 10.0) == 1.0


def test_bitwise_equal_runs_are_equivalent_at_any_margin():
    estimate = paired(X, X)
    assert (float(estimate.value), float(estimate.se)) == (0.0, 0.0)
    assert estimate.p_equivalent(1e-9) == 0.0
    assert estimate.p_difference == 1.0


def test_resolution_of_values():
    assert resolution([0.6573, 0.6571, 0.65]) == pytest.approx(1e-4)
    assert resolution(np.array([3, 7, 8, 20]) / 7919) == pytest.approx(1 / 7919)
    assert resolution(np.float32([0.1, 0.22345, 0.7])) == pytest.approx(2.0**-24)
    assert resolution(RNG.normal(size=20)) < 1e-15


def test_permutation_test_equals_scipy_when_all_ways_are_counted():
    x, y = RNG.normal(size=5), RNG.normal(1.0, size=6)
    ours = permutation_test(x, y, rng=RNG)

    def statistic(a, b, axis):
        return np.abs(a.mean(axis) - b.mean(axis))

    expected = stats.permutation_test((x, y), statistic, vectorized=True, alternative="greater", n_resamples=np.inf)
    assert ours.exact
    assert ours.resamples == 462  # 11 choose 5
    assert ours.p == pytest.approx(expected.pvalue)


def test_paired_permutation_test_equals_scipy_when_all_ways_are_counted():
    x, y = X[:9], PAIRED_Y[:9]
    ours = permutation_test(x, y, rng=RNG, paired=True)

    def statistic(a, b, axis):
        return np.abs((a - b).mean(axis))

    expected = stats.permutation_test(
        (x, y), statistic, permutation_type="samples", vectorized=True, alternative="greater", n_resamples=np.inf
    )
    assert ours.exact
    assert ours.p == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("pair", [False, True])
def test_drawn_permutations_agree_with_scipy_within_monte_carlo_error(pair):
    y = PAIRED_Y if pair else Y
    ours = permutation_test(X, y, rng=np.random.default_rng(1), resamples=9999, paired=pair)

    def statistic(a, b, axis):
        return np.abs(a.mean(axis) - b.mean(axis))

    theirs = stats.permutation_test(
        (X, y),
        statistic,
        permutation_type="samples" if pair else "independent",
        vectorized=True,
        alternative="greater",
        n_resamples=9999,
        rng=np.random.default_rng(2),
    )
    assert not ours.exact
    assert ours.p == pytest.approx(theirs.pvalue, abs=4 * np.sqrt(2 * 0.25 / 9999))


def test_arms_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="at least 2 runs"):
        welch([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="same shape"):
        paired([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="resamples"):
        permutation_test([1.0], [2.0], rng=RNG, resamples=0)

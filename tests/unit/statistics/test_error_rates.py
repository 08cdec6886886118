"""Size and power at 20 seeds an arm, by simulation from fixed seeds.

Expected shares: simulated beforehand with scipy 1.17. The tolerance is four Monte Carlo errors of the studies simulated
here, and half the last digit written.
"""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower

from seedstudy.statistics.difference import welch
from seedstudy.statistics.ks import ks_exact_pvalue, ks_statistic
from seedstudy.statistics.permutation import permutation_test
from seedstudy.statistics.power import equivalence_power
from seedstudy.statistics.sequential import crossing_probability, nominal_level
from seedstudy.statistics.simulation import Setting, Shape, draw_arms, simulate
from seedstudy.statistics.variance import compare_variances
from seedstudy.statistics.verdict import Label

N, STUDIES = 20, 20_000
LOOKS = (10, 15, 20, 30, 40)


def near(expected, studies=STUDIES, digits=3):
    return pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / studies) + 0.5 * 10.0**-digits)


def ks_rejections(x, y):
    """Share of studies whose exact KS p is below 5 %; at 20 an arm the critical distance is 0.45."""
    distance = np.rint(ks_statistic(x, y) * N) / N
    p = {value: ks_exact_pvalue(value, N, N) for value in np.unique(distance)}
    return np.mean([p[value] < 0.05 for value in distance])


def f_pvalues(x, y):
    f = y.var(axis=1, ddof=1) / x.var(axis=1, ddof=1)
    return 2 * np.minimum(stats.f.cdf(f, N - 1, N - 1), stats.f.sf(f, N - 1, N - 1))


@pytest.mark.parametrize(("rounding", "size"), [(0.0, 0.0335), (1e-5, 0.027), (1e-4, 0.008)])
def test_ks_loses_its_size_when_values_are_rounded(rounding, size):
    setting = Setting(N, 1.2e-4, 2e-4, rounding=rounding)
    assert ks_rejections(*draw_arms(setting, 0.0, STUDIES, np.random.default_rng(1))) == near(size)


@pytest.mark.parametrize(("shift", "ks", "welch_power"), [(0.5, 0.22, 0.34), (0.8, 0.50, 0.69), (1.0, 0.71, 0.87)])
def test_power_of_ks_and_welch(shift, ks, welch_power):
    x, y = draw_arms(Setting(N, 1.0, 1.0), shift, STUDIES, np.random.default_rng(2))
    assert ks_rejections(x, y) == near(ks, digits=2)
    assert np.mean(welch(x, y).p_difference < 0.05) == near(welch_power, digits=2)
    assert TTestIndPower().power(shift, N, 0.05) == pytest.approx(welch_power, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "power"), [(0.5, 0.33), (0.8, 0.69), (1.0, 0.86)])
def test_power_of_the_permutation_test(shift, power):
    rng, studies = np.random.default_rng(3), 1_500
    x, y = draw_arms(Setting(N, 1.0, 1.0), shift, studies, rng)
    p = [permutation_test(a, b, rng=rng, resamples=499).p for a, b in zip(x, y, strict=True)]
    assert np.mean(np.array(p) < 0.05) == near(power, studies, digits=2)


def test_power_to_see_twice_the_sd():
    rng = np.random.default_rng(4)
    x, y = rng.normal(0, 1, (STUDIES, N)), rng.normal(0, 2, (STUDIES, N))
    assert ks_rejections(x, y) == near(0.11, digits=2)
    assert np.mean(f_pvalues(x, y) < 0.05) == near(0.84, digits=2)
    assert np.mean(stats.levene(x, y, center="median", axis=1).pvalue < 0.05) == near(0.71, digits=2)
    # The functions of the package on the first studies are those two tests.
    for a, b in zip(x[:20], y[:20], strict=True):
        ours = compare_variances(a, b)
        assert ours.ratio.p_f == pytest.approx(f_pvalues(a[None], b[None])[0])
        assert ours.p_brown_forsythe == pytest.approx(stats.levene(a, b, center="median").pvalue)


def test_exponential_data_mislead_f_but_not_brown_forsythe():
    x, y = draw_arms(Setting(N, 1.0, 1.0, Shape.SKEWED), 0.0, STUDIES, np.random.default_rng(5))
    assert np.mean(f_pvalues(x, y) < 0.05) == near(0.26, digits=2)
    assert np.mean(stats.levene(x, y, center="median", axis=1).pvalue < 0.05) == near(0.05, digits=2)


@pytest.mark.slow
def test_coverage_of_welch_and_of_the_bootstrap_that_is_not_used():
    rng, studies = np.random.default_rng(6), 2_000
    x, y = draw_arms(Setting(N, 1.0, 1.0), 0.0, STUDIES, rng)
    interval = welch(x, y).interval(0.95)
    assert np.mean((interval.low < 0) & (interval.high > 0)) == near(0.948)
    covered = 0
    for start in range(0, studies, 250):
        part = (x[start : start + 250], y[start : start + 250])
        found = stats.bootstrap(
            part, lambda a, b, axis: b.mean(axis) - a.mean(axis), axis=-1, n_resamples=999, method="BCa", rng=rng
        ).confidence_interval
        covered += np.sum((found.low < 0) & (found.high > 0))
    assert covered / studies == near(0.928, studies)


def test_one_lost_run_averaged_in_hides_a_shift_of_one_sd():
    x, y = draw_arms(Setting(N, 1.0, 1.0), 1.0, STUDIES, np.random.default_rng(7))
    assert np.mean(welch(x, y).p_difference < 0.05) == near(0.87, digits=2)
    y[:, 0] = -20.0
    assert np.mean(welch(x, y).p_difference < 0.05) == pytest.approx(0.0, abs=0.005)


def test_looks_keep_the_level_and_peeking_does_not():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, STUDIES, LOOKS[-1]))
    p = np.array([welch(x[:, :look], y[:, :look]).p_difference for look in LOOKS])
    assert np.mean((p < 0.0158).any(axis=0)) == near(0.0485, digits=4)
    assert np.mean((p < 0.05).any(axis=0)) == near(0.139)
    assert np.mean((p < nominal_level(LOOKS)).any(axis=0)) == near(0.05)


def test_nominal_level_is_pococks():
    # Pocock (1977), table 1: five equally spaced looks, two-sided 5 %.
    assert round(nominal_level((10, 20, 30, 40, 50)), 4) == 0.0158
    assert round(nominal_level((10, 20)), 4) == 0.0294
    assert nominal_level((20,)) == 0.05
    # Looks that share more of their runs are closer to one look.
    assert nominal_level(LOOKS) > 0.0158
    assert crossing_probability(LOOKS, nominal_level(LOOKS)) == pytest.approx(0.05, abs=1e-6)
    assert crossing_probability(LOOKS, 0.05) == near(0.139)


@pytest.mark.parametrize("shape", Shape)
def test_verdicts_keep_their_level_at_the_margin(shape):
    rates = simulate(Setting(N, 1.2e-4, 2e-4, shape), 2e-4, STUDIES, np.random.default_rng(9))
    assert rates.equivalent.share <= 0.05 + 4 * rates.equivalent.error
    assert rates.different.share <= 0.05 + 4 * rates.different.error
    assert sum(rate.share for rate in rates.verdicts.values()) == pytest.approx(1.0)


def test_simulated_verdicts_equal_the_power_formula():
    rates = simulate(Setting(7, 1.2e-4, 2e-4), 0.0, STUDIES, np.random.default_rng(10))
    # Seven seeds an arm are the fewest with 80 % power at this margin and SD.
    assert rates.equivalent.share >= 0.8 - 4 * rates.equivalent.error
    assert rates.equivalent.share == near(equivalence_power(7, 1.2e-4, 2e-4), digits=2)
    assert rates.verdicts[Label.DIFFERENT].share == 0.0

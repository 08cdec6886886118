"""What must hold for any runs at all: order, shift, scale, symmetry of the arms, margins, bounds of p, no NaN."""

import gc
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from seedstudy.errors import UserError
from seedstudy.statistics.cells import Family
from seedstudy.statistics.comparison import compare_family
from seedstudy.statistics.difference import correlation, hedges_g, paired, probability_of_superiority, welch
from seedstudy.statistics.estimate import Estimate
from seedstudy.statistics.factor_runs import fit_runs
from seedstudy.statistics.failures import STATUSES, compare_failures, count_failures
from seedstudy.statistics.holm import adjust
from seedstudy.statistics.ks import compare_distributions
from seedstudy.statistics.permutation import permutation_test
from seedstudy.statistics.power import beyond_power, equivalence_power
from seedstudy.statistics.summary import summarise
from seedstudy.statistics.values import mean_and_sd
from seedstudy.statistics.variance import compare_variances
from seedstudy.statistics.verdict import Label, Question, classify, decide

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")

QUESTION = Question("map12", "b minus a", "Welch", "n")
FAMILY = Family("amp", {"precision": ("fp32", "amp")}, ("workers",))

# Any runs: ties, equal values and decimals are likely, sizes differ by up to twelve powers of ten.
numbers = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 0.6573, 0.6574]),
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: 0.0 if abs(value) < 1e-6 else value),
)
arms = st.lists(numbers, min_size=2, max_size=9).map(np.array)
margins = st.floats(1e-7, 1e7)
ORDER = {Label.DIFFERENT: 0, Label.INCONCLUSIVE: 1, Label.EQUIVALENT: 2, Label.EQUIVALENT_NONZERO: 2}


@st.composite
def continuous_arms(draw):
    """Two arms of the same seeds without ties, SD about 1, as training gives them unrounded."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 30))
    shift, spread = draw(st.sampled_from([0.0, 0.3, 2.0])), draw(st.sampled_from([0.3, 1.0, 3.0]))
    x = rng.normal(size=n)
    return x, 0.7 * x + shift + rng.normal(0.0, spread, n)


@st.composite
def tables(draw):
    """Two cells of two arms with some runs lost."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = [
        {
            "workers": workers,
            "precision": precision,
            "seed": seed,
            "status": "ok",
            "map12": np.round(rng.normal(0.65, 1e-3), draw(st.sampled_from([3, 4, 17]))),
        }
        for workers in (1, 2)
        for precision in ("fp32", "amp")
        for seed in range(draw(st.integers(2, 6)))
    ]
    runs = pd.DataFrame(rows)
    lost = rng.random(len(runs)) < draw(st.sampled_from([0.0, 0.2]))
    runs.loc[lost, "status"], runs.loc[lost, "map12"] = "diverged", np.nan
    return runs


def estimates(x, y):
    yield welch(x, y)
    if x.shape == y.shape:
        yield paired(x, y)


def pvalues(estimate, margin):
    return float(estimate.p_difference), float(estimate.p_equivalent(margin)), float(estimate.p_beyond(margin))


@settings(max_examples=25)
@given(tables(), st.booleans(), st.integers(0, 100))
def test_order_of_the_rows_changes_no_bit(runs, pair, seed):
    one = compare_family(runs, FAMILY, "map12", 1e-3, paired=pair, resamples=0)
    other = compare_family(runs.sample(frac=1.0, random_state=seed), FAMILY, "map12", 1e-3, paired=pair, resamples=0)
    assert one.everywhere_sentence == other.everywhere_sentence
    assert repr(one) == repr(other)


@given(continuous_arms(), st.floats(-100.0, 100.0), st.floats(0.01, 5.0))
def test_a_shift_of_both_arms_changes_no_verdict(both, shift, margin):
    x, y = both
    for one, other in zip(estimates(x, y), estimates(x + shift, y + shift), strict=True):
        assert pvalues(other, margin) == pytest.approx(pvalues(one, margin), rel=1e-6, abs=1e-9)
    before, after = compare_variances(x, y), compare_variances(x + shift, y + shift)
    assert after.ratio.p_f == pytest.approx(before.ratio.p_f, rel=1e-6)
    assert after.p_brown_forsythe == pytest.approx(before.p_brown_forsythe, rel=1e-6, nan_ok=True)
    assert compare_distributions(x + shift, y + shift).statistic == compare_distributions(x, y).statistic


@given(continuous_arms(), st.integers(-40, 40), st.floats(0.01, 5.0))
def test_the_unit_of_the_metric_changes_no_verdict(both, power, margin):
    (x, y), unit = both, 2.0**power  # powers of two are exact
    for one, other in zip(estimates(x, y), estimates(unit * x, unit * y), strict=True):
        assert pvalues(other, unit * margin) == pytest.approx(pvalues(one, margin), rel=1e-6, abs=1e-9)
        assert float(other.value) == unit * float(one.value)
        assert other.interval(0.9).low == pytest.approx(unit * one.interval(0.9).low, rel=1e-6, abs=1e-9 * unit)
    one, other = (compare_variances(a, b).ratio.sd_ratio for a, b in ((x, y), (unit * x, unit * y)))
    assert one == other
    assert repr(compare_distributions(unit * x, unit * y)) == repr(compare_distributions(x, y))


@given(arms, arms, margins)
def test_the_arms_are_treated_alike(x, y, margin):
    for one, other in zip(estimates(x, y), estimates(y, x), strict=True):
        assert float(one.value) == pytest.approx(-float(other.value), rel=1e-12)
        assert pvalues(one, margin) == pytest.approx(pvalues(other, margin), rel=1e-9)
        assert one.interval(0.9).low == pytest.approx(-other.interval(0.9).high, rel=1e-9, abs=1e-9)
        assert str(classify(one, margin)) == str(classify(other, margin))
    ks, swapped = compare_distributions(x, y), compare_distributions(y, x)
    assert (ks.statistic, ks.p_exact) == pytest.approx((swapped.statistic, swapped.p_exact))
    assert ks.p_permutation == pytest.approx(swapped.p_permutation, nan_ok=True)
    assert ks.ties == swapped.ties
    assert probability_of_superiority(x, y) + probability_of_superiority(y, x) == pytest.approx(1.0)
    forward, back = compare_variances(x, y), compare_variances(y, x)
    assert forward.ratio.p_f == pytest.approx(back.ratio.p_f, rel=1e-6)
    assert forward.p_brown_forsythe == pytest.approx(back.p_brown_forsythe, rel=1e-6, nan_ok=True)
    sd_x, sd_y = float(mean_and_sd(x)[1]), float(mean_and_sd(y)[1])
    assert hedges_g(1.0, sd_x, x.size, sd_y, y.size) == pytest.approx(-hedges_g(-1.0, sd_y, y.size, sd_x, x.size))


@given(arms, arms, st.booleans())
def test_permutations_treat_the_arms_alike(x, y, pair):
    x, y = x[:5], y[:5]
    assume(not pair or x.size == y.size)
    rng = np.random.default_rng(0)
    one = permutation_test(x, y, rng=rng, paired=pair)
    other = permutation_test(y, x, rng=rng, paired=pair)
    assert one.exact
    assert one.p == pytest.approx(other.p)
    assert 0.0 < one.p <= 1.0


@given(arms, arms, st.lists(margins, min_size=2, max_size=8))
def test_a_wider_margin_never_takes_a_verdict_back(x, y, some):
    for estimate in estimates(x, y):
        verdict = decide(estimate, 1.0, QUESTION, min(x.size, y.size))
        near = [verdict.equivalent_from, verdict.different_up_to]
        wide = sorted({*some, *(factor * bound for bound in near for factor in (0.9, 0.999, 1.001, 1.1) if bound > 0)})
        ranks = [ORDER[verdict.at(margin)] for margin in wide]
        assert ranks == sorted(ranks)
        for margin in wide:
            at_once = decide(estimate, margin, QUESTION, min(x.size, y.size))
            bound = min((abs(margin - end) / margin for end in near), default=1.0)
            if bound > 1e-6:
                assert verdict.at(margin) is at_once.label
        equivalent = [float(estimate.p_equivalent(margin)) for margin in wide]
        beyond = [float(estimate.p_beyond(margin)) for margin in wide]
        assert all(a >= b - 1e-12 for a, b in pairwise(equivalent))
        assert all(a <= b + 1e-12 for a, b in pairwise(beyond))
        # Both verdicts at once would contradict each other.
        assert all(a + b > 0.05 for a, b in zip(equivalent, beyond, strict=True))


@given(arms, arms, margins)
def test_every_p_is_a_probability(x, y, margin):
    found = [p for estimate in estimates(x, y) for p in pvalues(estimate, margin)]
    variances, ks = compare_variances(x, y), compare_distributions(x, y)
    found += [variances.ratio.p_f, ks.p_exact, ks.statistic, probability_of_superiority(x, y)]
    found += [permutation_test(x, y, rng=np.random.default_rng(0), resamples=200).p]
    assert all(0.0 <= p <= 1.0 for p in found)
    # NaN says: no ties, so the exact p holds; no distances that vary, so Brown-Forsythe cannot be worked out.
    assert math.isnan(ks.p_permutation) != ks.ties
    assert math.isnan(ks.p_permutation) or 0.0 < ks.p_permutation <= 1.0
    if math.isnan(variances.p_brown_forsythe):
        assert all(np.ptp(np.abs(arm - np.median(arm))) <= 1e-9 * max(1.0, np.abs(arm).max()) for arm in (x, y))
    else:
        assert 0.0 <= variances.p_brown_forsythe <= 1.0


@given(st.floats(-1e9, 1e9), st.floats(0.0, 1e9), st.floats(1.0, 1e6), st.floats(0.0, 1.0), margins)
def test_every_p_of_any_estimate_is_a_probability(value, se, df, slack, margin):
    estimate = Estimate(value, se, df, slack)
    assert all(0.0 <= p <= 1.0 for p in pvalues(estimate, margin))
    verdict = decide(estimate, margin, QUESTION, 20)
    bounds = (verdict.interval.low, verdict.interval.high, verdict.equivalent_from, verdict.different_up_to)
    assert np.isfinite(bounds).all()
    assert 0.0 <= verdict.different_up_to <= verdict.equivalent_from
    assert verdict.wide_interval.low <= verdict.interval.low <= verdict.interval.high <= verdict.wide_interval.high


@given(st.integers(2, 60), st.floats(1e-6, 1e3), st.floats(1e-6, 1e3), st.floats(-1e3, 1e3), st.booleans())
def test_power_is_a_probability_and_grows_with_the_margin(n, sd, margin, difference, pair):
    tight, wide = (equivalence_power(n, sd, factor * margin, difference, paired=pair) for factor in (1.0, 2.0))
    assert 0.0 <= tight <= wide + 1e-9 <= 1.0 + 1e-9
    assert equivalence_power(n, sd, margin, difference) == pytest.approx(
        equivalence_power(n, sd, margin, -difference), abs=1e-9
    )
    assert 0.0 <= beyond_power(n, sd, margin, difference, paired=pair) <= 1.0


@given(st.lists(st.sampled_from(STATUSES), min_size=1, max_size=30), st.lists(st.sampled_from(STATUSES), min_size=1))
def test_failures_are_counted_and_bounded(one, other):
    a, b = count_failures(one), count_failures(other)
    assert a.diverged + a.failed + one.count("ok") == a.runs
    assert 0.0 <= a.interval.low <= a.count / a.runs <= a.interval.high <= 1.0
    assert 0.0 < compare_failures(a, b).p_fisher <= 1.0
    assert compare_failures(a, b).p_fisher == pytest.approx(compare_failures(b, a).p_fisher)


@given(tables(), st.booleans(), margins)
def test_verdicts_over_a_family_agree_with_their_cells(runs, pair, margin):
    result = compare_family(runs, FAMILY, "map12", margin, paired=pair, resamples=0)
    assert result.everywhere_p == max(cell.verdict.p_equivalent for cell in result.cells)
    for cell in result.cells:
        for kind in ("p_difference", "p_equivalent", "p_beyond"):
            raw, adjusted = getattr(cell.verdict, kind), getattr(cell.holm, kind)
            assert 0.0 <= raw <= adjusted <= 1.0
        # Nothing is said of a cell in which a number is unknown.
        if math.isnan(cell.verdict.equivalent_from):
            assert cell.verdict.label is Label.INCONCLUSIVE
            assert min(cell.reference.n, cell.treatment.n) < 2
        assert cell.reference.n + cell.reference.failures.count == len(cell.reference.all_seeds)


@given(st.lists(st.one_of(st.sampled_from([0.0, 0.01, 1.0]), st.floats(0.0, 1.0)), min_size=1, max_size=20))
def test_holm_equals_statsmodels_to_the_bit(pvalues):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", int)  # takes longer than all else in this file
        assert adjust(pvalues) == multipletests(pvalues, method="holm")[1].tolist()


@given(arms, arms, st.data(), st.sampled_from([math.nan, math.inf, -math.inf]))
def test_nan_and_infinity_are_refused_wherever_they_stand(x, y, data, bad):
    good = y[: x.size] if y.size >= x.size else np.resize(y, x.size)
    broken = x.copy()
    broken[data.draw(st.integers(0, x.size - 1))] = bad
    rng = np.random.default_rng(0)
    for a, b in ((broken, good), (good, broken)):
        for statistic in (
            welch,
            paired,
            correlation,
            probability_of_superiority,
            compare_variances,
            compare_distributions,
            lambda a, b: permutation_test(a, b, rng=rng, resamples=9),
        ):
            with pytest.raises(ValueError, match="not finite"):
                statistic(a, b)
    with pytest.raises(ValueError, match="not finite"):
        summarise(broken)


@given(tables(), st.data(), st.sampled_from([math.nan, math.inf, -math.inf]))
def test_a_run_that_is_ok_without_a_number_is_refused(runs, data, bad):
    finished = runs.index[runs.status == "ok"]
    assume(len(finished) > 0)
    runs.loc[data.draw(st.sampled_from(list(finished))), "map12"] = bad
    with pytest.raises(UserError, match="is ok but has no finite metric"):
        compare_family(runs, FAMILY, "map12", 1e-3, resamples=0)
    with pytest.raises(UserError, match="is ok but has no finite metric"):
        fit_runs(runs, {"workers": ("1", "2"), "precision": ("fp32", "amp")}, "map12", 1e-3)


@settings(max_examples=25)
@given(tables())
def test_a_number_beside_a_failure_enters_nothing(runs):
    lost = runs.status != "ok"
    loud = runs.copy()
    loud.loc[lost, "map12"] = 1e50
    one = compare_family(runs, FAMILY, "map12", 1e-3, resamples=0)
    other = compare_family(loud, FAMILY, "map12", 1e-3, resamples=0)
    assert repr(one) == repr(other)

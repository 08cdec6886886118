"""Verdicts by hand, at any margin, and in words; power against simulation and against closed forms."""

import numpy as np
import pytest
from scipy import stats

from seedstudy.statistics.difference import paired, welch
from seedstudy.statistics.estimate import Estimate
from seedstudy.statistics.power import beyond_power, equivalence_power, seeds_needed, smallest_difference
from seedstudy.statistics.verdict import Label, Question, classify, decide, undecided

QUESTION = Question("map12", "precision amp minus fp32 in all runs", "Welch", "n = 20 and 20")


def verdict_of(value, se=1.0, df=38.0, margin=3.0):
    return decide(Estimate(value, se, df), margin, QUESTION, 20)


# t(38) = 1.686 one-sided and 2.024 two-sided at 5 %: the 90 % interval is value +- 1.686, the 95 % one +- 2.024.
@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0.0, Label.EQUIVALENT),
        (1.2, Label.EQUIVALENT),  # 2.886 < 3
        (-1.2, Label.EQUIVALENT),
        (1.4, Label.INCONCLUSIVE),  # 3.086 > 3
        (4.6, Label.INCONCLUSIVE),  # 2.914 < 3
        (4.8, Label.DIFFERENT),  # 3.114 > 3
        (-4.8, Label.DIFFERENT),
    ],
)
def test_label_by_hand(value, label):
    assert verdict_of(value).label is label


def test_detectable_and_below_the_margin():
    verdict = verdict_of(2.1, margin=4.0)  # 95 %: 0.076 to 4.124; 90 %: 0.414 to 3.786
    assert verdict.label is Label.EQUIVALENT_NONZERO
    assert "is detectable" in verdict.sentence


def test_bounds_tell_the_verdict_at_every_margin():
    verdict = verdict_of(5.0)
    half = stats.t.ppf(0.95, 38)
    assert verdict.equivalent_from == pytest.approx(5.0 + half)
    assert verdict.different_up_to == pytest.approx(5.0 - half)
    for margin in (0.5, 3.3, 3.4, 6.6, 6.7, 9.0):
        again = verdict_of(5.0, margin=margin)
        assert verdict.at(margin) is again.label


def test_sentence_states_null_alternative_and_n():
    sentence = verdict_of(0.5).sentence
    assert sentence == (
        "EQUIVALENT: map12 of precision amp minus fp32 in all runs differs by +0.5 (90 % CI -1.19 to +2.19; Welch, "
        "n = 20 and 20). Null: the true difference is at least 3 in size; alternative: it is smaller; p = 0.0084, "
        "rejected at 0.05."
    )
    assert (
        "null: the true difference is at most 3 in size; alternative: it is larger" in verdict_of(9.0).sentence.lower()
    )


def test_inconclusive_says_how_many_seeds_would_decide():
    verdict = verdict_of(1.4)
    # se = sd sqrt(2 / 20): sd = sqrt(10)
    assert verdict.seeds == seeds_needed(np.sqrt(10.0), 3.0, 1.4)
    assert f"about {verdict.seeds} seeds an arm" in verdict.sentence
    assert "more than 100,000 seeds" in verdict_of(3.0).sentence


def test_too_few_results():
    verdict = undecided(1.0, 0.05, QUESTION)
    assert verdict.label is Label.INCONCLUSIVE
    assert "needs >= 2 seeds" in verdict.sentence
    assert verdict.p_equivalent == 1.0


def test_margin_and_alpha_are_checked():
    for margin, alpha in ((0.0, 0.05), (-1.0, 0.05), (1.0, 0.5), (1.0, 0.0), (float("nan"), 0.05)):
        with pytest.raises(ValueError, match="margin > 0"):
            classify(Estimate(0.0, 1.0, 5.0), margin, alpha)


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize(("difference", "kind"), [(0.0, "equivalent"), (0.4, "equivalent"), (1.6, "beyond")])
def test_power_equals_a_simulation(pair, difference, kind):
    n, margin, studies = 12, 0.9, 20_000
    rng = np.random.default_rng(11)
    if pair:
        x = rng.normal(size=(studies, n))
        estimate = paired(x, x + rng.normal(difference, 1.0, (studies, n)))
    else:
        estimate = welch(rng.normal(size=(studies, n)), rng.normal(difference, 1.0, (studies, n)))
    p = estimate.p_equivalent(margin) if kind == "equivalent" else estimate.p_beyond(margin)
    seen = np.mean(p < 0.05)
    power = equivalence_power if kind == "equivalent" else beyond_power
    # Four Monte Carlo errors and a little more, as Welch's df are a shade below the pooled ones of the formula.
    assert power(n, 1.0, margin, difference, paired=pair) == pytest.approx(seen, abs=4 * 0.5 / np.sqrt(studies) + 0.004)


def test_power_at_the_margin_is_the_level():
    # At a difference equal to the margin the power of each verdict is its size.
    assert beyond_power(20, 1.0, 0.9, 0.9) == pytest.approx(0.05, abs=1e-9)
    assert equivalence_power(400, 1.0, 0.9, 0.9) == pytest.approx(0.05, abs=1e-6)


def test_power_without_spread_and_with_too_few():
    assert equivalence_power(2, 0.0, 1.0, 0.5) == 1.0
    assert beyond_power(2, 0.0, 1.0, 1.5) == 1.0
    assert seeds_needed(0.0, 1.0) == 2
    with pytest.raises(ValueError, match="at least 2"):
        equivalence_power(1, 1.0, 1.0)
    with pytest.raises(ValueError, match="at least 2"):
        smallest_difference(1, 1.0)


def test_seeds_needed_is_the_first_number_with_the_power():
    for sd, margin, difference in ((1.0, 0.5, 0.0), (1.0, 0.5, 0.9), (2.0, 0.5, 0.1)):
        seeds = seeds_needed(sd, margin, difference)
        power = equivalence_power if difference < margin else beyond_power
        assert power(seeds, sd, margin, difference) >= 0.8 > power(seeds - 1, sd, margin, difference)

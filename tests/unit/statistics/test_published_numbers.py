"""Numbers of the reference study's tables, worked out from the published means and SDs (n = 20 an arm).

Expected values: computed beforehand with scipy 1.17 and statsmodels 0.15, rounded as written; three of them
(.618474 as .619, .012489 as .013, .084511 as .09) were rounded twice, hence the tolerance of 0.55 units.
"""

import numpy as np
import pandas as pd
import pytest

from seedstudy.reference import reference_path
from seedstudy.statistics.difference import hedges_g, welch_from_summaries
from seedstudy.statistics.factorial import FactorCell, fit_factorial
from seedstudy.statistics.failures import compare_failures, count_failures
from seedstudy.statistics.holm import adjust
from seedstudy.statistics.power import seeds_needed, smallest_difference, smallest_margin
from seedstudy.statistics.published import PublishedArm, adjust_published, compare_published, printed
from seedstudy.statistics.summary import sd_interval
from seedstudy.statistics.variance import variance_ratio
from seedstudy.statistics.verdict import Label

# architecture, GPUs, XLA: difference, t, p, Holm p, g, 95 % CI, p(F), TOST 1e-4, TOST 2e-4 (differences in 1e-5)
ROWS = [
    ("a100", 1, True, 3, 0.82, 0.419, 1, 0.25, -4.4, 10.4, 0.262, "0.032", "2e-05"),
    ("a100", 8, True, 6, 1.46, 0.154, 0.77, 0.45, -2.4, 14.4, 0.508, "0.169", "8e-04"),
    ("a100", 1, False, -2, -0.50, 0.619, 1, -0.16, -10.1, 6.1, 0.302, "0.026", "3e-05"),
    ("a100", 8, False, 2, 0.47, 0.644, 1, 0.14, -6.7, 10.7, 0.339, "0.035", "9e-05"),
    ("v100", 1, True, 6, 2.14, 0.041, 0.285, 0.66, 0.3, 11.7, 0.011, "0.082", "1e-05"),
    ("v100", 8, True, 8, 1.68, 0.101, 0.60, 0.52, -1.6, 17.6, 0.566, "0.338", "0.008"),
    ("v100", 1, False, 1, 0.27, 0.787, 1, 0.09, -6.4, 8.4, 0.262, "0.010", "4e-06"),
    ("v100", 8, False, 10, 2.63, 0.013, 0.100, 0.81, 2.3, 17.7, 0.473, "0.500", "0.006"),
]
PUBLISHED = pd.read_csv(reference_path("widedeep_amp_impact.csv"))


def row_of(architecture, gpus, xla):
    where = (PUBLISHED.architecture == architecture) & (PUBLISHED.gpus == gpus) & (PUBLISHED.xla == xla)
    (row,) = PUBLISHED[where].itertuples()
    return row


def estimate_of(row):
    return welch_from_summaries(row.mean_full, row.std_full, 20, row.mean_amp, row.std_amp, 20)


def as_written(p, written):
    """The p value in the digits of the table, one significant digit or three decimals."""
    return f"{p:.0e}" if "e" in written else f"{p:.{len(written) - 2}f}"


@pytest.mark.parametrize("expected", ROWS, ids=lambda row: f"{row[0]}-{row[1]}-{'xla' if row[2] else 'noxla'}")
def test_amp_against_full(expected):
    *cell, difference, t, p, _, g, low, high, p_f, tost_1e4, tost_2e4 = expected
    row = row_of(*cell)
    estimate = estimate_of(row)
    interval = estimate.interval(0.95)
    assert estimate.value == pytest.approx(difference * 1e-5, abs=1e-12)
    assert round(float(estimate.t), 2) == t
    assert estimate.p_difference == pytest.approx(p, abs=0.55e-3)
    assert hedges_g(float(estimate.value), row.std_full, 20, row.std_amp, 20) == pytest.approx(g, abs=0.55e-2)
    assert (round(interval.low * 1e5, 1), round(interval.high * 1e5, 1)) == (low, high)
    assert round(variance_ratio(row.std_full, 20, row.std_amp, 20).p_f, 3) == p_f
    assert as_written(float(estimate.p_equivalent(1e-4)), tost_1e4) == tost_1e4
    assert as_written(float(estimate.p_equivalent(2e-4)), tost_2e4) == tost_2e4


def test_holm_over_the_cells():
    p = [float(estimate_of(row_of(*expected[:3])).p_difference) for expected in ROWS]
    assert adjust(p) == pytest.approx([expected[6] for expected in ROWS], abs=0.005)


@pytest.mark.parametrize(
    ("margin", "difference", "seeds"),
    [(1e-4, 0, 26), (1e-4, 3e-5, 38), (1e-4, 5e-5, 72), (2e-4, 0, 7), (2e-4, 3e-5, 8), (2e-4, 5e-5, 9)],
)
def test_seeds_needed_at_the_published_sd(margin, difference, seeds):
    assert seeds_needed(1.2e-4, margin, difference) == seeds


def test_smallest_effects_in_sd_units():
    assert round(smallest_difference(20, 1.0), 2) == 0.91
    assert round(smallest_difference(20, 1.0, alpha=0.05 / 8), 2) == 1.19
    assert round(smallest_margin(20, 1.0), 2) == 0.94


def test_interval_of_an_sd():
    interval = sd_interval(1.0, 20)
    assert (round(interval.low, 3), round(interval.high, 3)) == (0.760, 1.461)


def test_no_failure_in_twenty_still_allows_one_in_six():
    none = count_failures(["ok"] * 20)
    assert round(100 * none.interval.high, 1) == 16.8
    assert compare_failures(none, none).p_fisher == 1.0
    assert np.isclose(none.interval.high, 1 - 0.025 ** (1 / 20))  # closed form at 0 failures


AXES = {"architecture": ("a100", "v100"), "gpus": ("1", "8"), "precision": ("full", "amp"), "xla": ("False", "True")}


@pytest.fixture(scope="module")
def published_model():
    table = pd.read_csv(reference_path("widedeep_stability.csv"))
    cells = [
        FactorCell(
            (row.architecture, str(row.gpus), "amp" if row.precision == "amp" else "full", str(row.xla)),
            row.n,
            row.mean,
            row.std,
        )
        for row in table.itertuples()
    ]
    return fit_factorial(cells, AXES, "map12", margin=2e-4)


# Contrast: estimate and 95 % interval in 1e-5 (None: not written), p, verdict at 2e-4.
CONTRASTS = [
    ("precision amp - full", 4.25, (1.5, 7.0), "0.0024", Label.EQUIVALENT_NONZERO),
    ("gpus 8 - 1", 19.0, (16.3, 21.7), "1e-33", Label.INCONCLUSIVE),
    ("xla True - False", None, None, "0.37", Label.EQUIVALENT),
    ("architecture v100 - a100", None, None, "0.86", Label.EQUIVALENT),
]


@pytest.mark.parametrize(("name", "value", "interval", "p", "label"), CONTRASTS, ids=lambda value: str(value))
def test_factorial_contrasts_of_the_published_table(published_model, name, value, interval, p, label):
    (effect,) = [effect for effect in published_model.effects if effect.name == name]
    assert round(float(effect.estimate.se) * 1e5, 2) == 1.39
    assert effect.estimate.df == 304
    if value is not None:
        assert float(effect.estimate.value) * 1e5 == pytest.approx(value, abs=1e-6)
        wide = effect.verdict.wide_interval
        assert (round(wide.low * 1e5, 1), round(wide.high * 1e5, 1)) == interval
    assert as_written(effect.verdict.p_difference, p) == p
    assert effect.verdict.label is label


def test_the_gpus_of_the_published_table_move_the_metric_by_about_the_margin(published_model):
    (effect,) = [effect for effect in published_model.effects if effect.name == "gpus 8 - 1"]
    assert effect.verdict.at(1e-4) is Label.DIFFERENT
    assert effect.verdict.at(2.2e-4) is Label.EQUIVALENT_NONZERO


def test_published_cells_all_lie_within_the_margin_and_some_beyond_the_strict_one():
    arms = [
        [
            PublishedArm(arm, 20, printed(f"{mean:.5f}"), printed(f"{sd:.5f}"))
            for arm, mean, sd in (("full", row.mean_full, row.std_full), ("amp", row.mean_amp, row.std_amp))
        ]
        for row in (row_of(*expected[:3]) for expected in ROWS)
    ]
    loose = adjust_published([compare_published({}, *pair, "map12", 2e-4) for pair in arms])
    assert all(cell.holm.label is Label.EQUIVALENT for cell in loose)
    assert [cell.holm.p_difference for cell in loose] == pytest.approx([row[6] for row in ROWS], abs=0.005)
    strict = [compare_published({}, *pair, "map12", 1e-4) for pair in arms]
    assert [cell.verdict.label for cell in strict] == [
        Label.EQUIVALENT if float(row[11]) < 0.05 else Label.INCONCLUSIVE for row in ROWS
    ]
    for cell in loose:
        for found, around in (
            (cell.verdict.p_difference, cell.p_difference),
            (cell.verdict.p_equivalent, cell.p_equivalent),
            (cell.variance.p_f, cell.p_f),
        ):
            assert 0.0 <= around.low <= found <= around.high <= 1.0
        assert cell.verdict.label.value in cell.labels

"""The factorial model against least squares, effects by seed against a t test; what rounding leaves open, by hand."""

from itertools import product
from math import exp, pi

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS

from seedstudy.errors import UserError
from seedstudy.statistics.difference import paired, welch
from seedstudy.statistics.factor_runs import fit_runs
from seedstudy.statistics.factorial import FactorCell, fit_factorial
from seedstudy.statistics.verdict import Label

AXES = {"precision": ("fp32", "amp"), "workers": ("1", "2", "8")}


def made(lost=()):
    rng = np.random.default_rng(3)
    base = rng.normal(0.65, 4e-3, 6)
    rows = [
        {
            "precision": precision,
            "workers": workers,
            "seed": seed,
            "status": "ok",
            "map12": base[seed] + 1e-3 * (precision == "amp") + rng.normal(0, 3e-4),
        }
        for precision in AXES["precision"]
        for workers in AXES["workers"]
        for seed in range(6)
    ]
    runs = pd.DataFrame(rows)
    runs.loc[list(lost), ["status", "map12"]] = ["failed", np.nan]
    return runs


def named(model, name):
    (effect,) = [effect for effect in model.effects if effect.name == name]
    return effect


@pytest.mark.parametrize("lost", [(), (0, 1, 9)])
def test_effects_equal_ordinary_least_squares(lost):
    runs = made(lost)
    model = fit_runs(runs, AXES, "map12", 2e-3).model
    # One coefficient a cell: every effect is then a contrast of coefficients.
    finished = runs[runs.status == "ok"]
    ols = OLS(finished.map12, pd.get_dummies(finished.precision + finished.workers, dtype=float)).fit()
    cells = list(ols.params.index)
    main = np.array([(1 if cell.startswith("amp") else -1) / 3 for cell in cells])
    both = np.array([{"amp8": 1, "amp1": -1, "fp328": -1, "fp321": 1}.get(cell, 0) for cell in cells])
    for name, weights in (("precision amp - fp32", main), ("precision amp - fp32 x workers 8 - 1", both)):
        ours, expected = named(model, name), ols.t_test(weights)
        assert float(ours.estimate.value) == pytest.approx(float(expected.effect[0]))
        assert float(ours.estimate.se) == pytest.approx(float(np.squeeze(expected.sd)))
        assert ours.verdict.p_difference == pytest.approx(float(expected.pvalue))
        low, high = np.squeeze(expected.conf_int(0.05))
        assert (ours.verdict.wide_interval.low, ours.verdict.wide_interval.high) == pytest.approx((low, high))
    assert model.residual_df == ols.df_resid
    assert model.residual_sd == pytest.approx(np.sqrt(ols.mse_resid))


def test_effects_by_seed_equal_a_t_test_of_each_seeds_contrast():
    runs = made()
    fit = fit_runs(runs, AXES, "map12", 2e-3, paired=True)
    wide = runs.pivot(index="seed", columns=["precision", "workers"], values="map12")
    ours = named(fit.model, "precision amp - fp32")
    expected = stats.ttest_1samp(wide["amp"].mean(axis=1) - wide["fp32"].mean(axis=1), 0.0)
    assert (ours.estimate.t, ours.verdict.p_difference) == pytest.approx((expected.statistic, expected.pvalue))
    assert fit.notes == ("Paired by seed over the 6 seed(s) with a result in every configuration.",)


def test_failures_and_other_levels_are_named():
    fit = fit_runs(made((0, 1, 9)), {"precision": ("fp32", "amp"), "workers": ("1", "2")}, "map12", 2e-3, paired=True)
    assert fit.notes == (
        "12 run(s) at other levels are not part of the model.",
        "Failures: fp32, 1 2 failed of 6; fp32, 2 1 failed of 6; the effects speak of the runs that finished only.",
        "Paired by seed over the 3 seed(s) with a result in every configuration.",
    )


def test_what_is_no_factorial_is_one_line():
    cells = [FactorCell((level,), 3, 0.5, 0.1) for level in ("a", "b", "b")]
    cases = [
        (cells, {"x": ("a", "b")}, "table.csv: x b stands twice"),
        (cells[:2], {"x": ("a", "a")}, "table.csv, axis x: needs 2 levels or more, each once, not a, a"),
        (cells[:1], {"x": ("a",)}, "table.csv, axis x: needs 2 levels or more"),
        (cells[:1], {"x": ("a", "b")}, "table.csv: no run with a result has x b"),
        (
            [FactorCell((level,), 1, 0.5, 0.0) for level in "ab"],
            {"x": ("a", "b")},
            "table.csv: no configuration has two",
        ),
    ]
    for given, axes, said in cases:
        with pytest.raises(UserError) as error:
            fit_factorial(given, axes, "map12", 1.0, source="table.csv")
        assert str(error.value).startswith(said)


TWO = {"precision": ("fp32", "amp"), "workers": ("1", "2")}


def table(values):
    """Runs of two by two configurations: (precision, workers) to the metric of seeds 0, 1, 2, ..."""
    return pd.DataFrame(
        [
            {"precision": precision, "workers": workers, "seed": seed, "status": "ok", "map12": value}
            for (precision, workers), metrics in values.items()
            for seed, value in enumerate(metrics)
        ]
    )


@pytest.mark.parametrize("pair", [False, True])
def test_a_step_without_spread_is_no_difference(pair):
    cells = {("fp32", "1"): 0.7, ("fp32", "2"): 0.7, ("amp", "1"): 0.8, ("amp", "2"): 0.8}
    runs = table({cell: [value] * 3 for cell, value in cells.items()})
    fit = fit_runs(runs, TWO, "map12", 0.05, paired=pair)
    main = named(fit.model, "precision amp - fp32")
    # Each mean may be half a step off, so that the two sides of the main effect may be equal, or 0.2 apart.
    assert main.estimate.se == 0.0
    assert (main.verdict.interval.low, main.verdict.interval.high) == pytest.approx((0.0, 0.2), abs=1e-6)
    assert main.verdict.p_difference == 1.0
    assert main.verdict.label is Label.INCONCLUSIVE
    # All four means enter an interaction in full: twice as much.
    both = named(fit.model, "precision amp - fp32 x workers 2 - 1")
    assert (both.verdict.interval.low, both.verdict.interval.high) == pytest.approx((-0.2, 0.2), abs=1e-6)
    assert fit.notes[0] == (
        "Coarse: values of amp, 1; amp, 2; fp32, 1; fp32, 2 have a resolution over SD/10; the intervals allow for it."
    )
    # Beyond that, a difference is one.
    apart = table({cell: [value + 0.4 * (cell[0] == "amp")] * 3 for cell, value in cells.items()})
    assert named(fit_runs(apart, TWO, "map12", 0.05, paired=pair).model, main.name).verdict.label is Label.DIFFERENT


def test_slack_of_coarse_values_by_hand():
    # Steps of 0.1; squares of the SDs: 0.0025, 0.01 / 3, 0, 0.0025.
    cells = {
        ("fp32", "1"): [0.5, 0.5, 0.5, 0.6],
        ("fp32", "2"): [0.5, 0.5, 0.6, 0.6],
        ("amp", "1"): [0.5, 0.5, 0.5, 0.5],
        ("amp", "2"): [0.6, 0.5, 0.5, 0.5],
    }
    bias = [0.05 * exp(-2.0 * pi**2 * max(square - 1.0 / 12.0, 0.0)) for square in (0.25, 1.0 / 3.0, 0.0, 0.25)]
    # Two runs of the eight of a side on the next step, and of the four of a cell.
    expected = {"precision amp - fp32": sum(bias) / 2.0 + 0.2 / 8.0}
    expected["precision amp - fp32 x workers 2 - 1"] = sum(bias) + 0.2 / 4.0
    model = fit_runs(table(cells), TWO, "map12", 0.05).model
    for name, slack in expected.items():
        assert float(named(model, name).estimate.slack) == pytest.approx(slack, rel=1e-9)
    # By seed the main effects are .05, 0, -.05 and -.1: they spread over more than their step of .05, the interactions
    # of .1, 0, -.1 and 0 over less than theirs of .1.
    expected["precision amp - fp32"] = sum(bias) / 2.0
    by_seed = fit_runs(table(cells), TWO, "map12", 0.05, paired=True).model
    for name, slack in expected.items():
        assert float(named(by_seed, name).estimate.slack) == pytest.approx(slack, rel=1e-9)


def test_a_factorial_of_two_cells_allows_for_what_a_comparison_allows():
    x, y = [0.65, 0.66, 0.65, 0.67, 0.65], [0.66, 0.66, 0.67, 0.66, 0.66]
    runs = table({("fp32", "1"): x, ("amp", "1"): y})
    axes = {"precision": TWO["precision"]}
    for pair, comparison in ((False, welch(x, y)), (True, paired(x, y))):
        (effect,) = fit_runs(runs, axes, "map12", 0.05, paired=pair).model.effects
        assert float(effect.estimate.value) == pytest.approx(float(comparison.value), rel=1e-12)
        assert float(effect.estimate.slack) == pytest.approx(float(comparison.slack), rel=1e-12)
        assert float(effect.estimate.slack) > 4e-4


def test_a_single_run_is_taken_to_spread_as_the_others():
    cells = [FactorCell(("a",), 1, 0.5, float("nan"), 0.01), FactorCell(("b",), 3, 0.6, 0.005, 0.01)]
    (effect,) = fit_factorial(cells, {"x": ("a", "b")}, "map12", 1.0).effects
    # Bias of both: half a step times exp(-2 pi^2 (1/4 - 1/12)); then two runs of the one: over the cap of a step.
    assert float(effect.estimate.slack) == pytest.approx(0.01)
    finer = [FactorCell(cell.levels, cell.n, cell.mean, cell.sd, 0.004) for cell in cells]
    (effect,) = fit_factorial(finer, {"x": ("a", "b")}, "map12", 1.0).effects
    assert float(effect.estimate.slack) == pytest.approx(0.004 * exp(-2.0 * pi**2 * (25.0 / 16.0 - 1.0 / 12.0)))


@pytest.mark.parametrize("pair", [False, True])
def test_effects_within_a_step_are_not_decided_too_often(pair):
    """A true effect of the margin, half a step, at SD 0.15 steps: the means of the arms look 0 or 1 step apart.

    EQUIVALENT and DIFFERENT are both wrong then; without the allowance most verdicts are one of them.
    """
    rng, wrong, studies = np.random.default_rng(1), 0, 40
    for _ in range(studies):
        place = rng.uniform()
        arms = {cell: place + 0.5 * (cell[0] == "amp") for cell in product(*TWO.values())}
        runs = table({cell: np.rint(rng.normal(mean, 0.15, 5)) + 10.0 for cell, mean in arms.items()})
        effect = named(fit_runs(runs, TWO, "map12", 0.5, order=1, paired=pair).model, "precision amp - fp32")
        wrong += effect.verdict.label is not Label.INCONCLUSIVE
    assert wrong / studies <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / studies)

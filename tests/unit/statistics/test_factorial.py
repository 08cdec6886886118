"""The factorial model against ordinary least squares, and effects by seed against a one-sample t test."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS

from seedstudy.errors import UserError
from seedstudy.statistics.factor_runs import fit_runs
from seedstudy.statistics.factorial import FactorCell, fit_factorial

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

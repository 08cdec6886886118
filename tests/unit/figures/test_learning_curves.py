"""Learning curves: every run, the mean of those that finished, and what is said of the others."""

import numpy as np
import pytest

from seedstudy.errors import UserError
from seedstudy.figures.learning_curves import learning_curves_figure, mean_curve
from seedstudy.imports.curves import Curve, read_curves
from tests.unit.figures.conftest import lose, made_up, panels_of, said


def curve(status, *values):
    return Curve(status, 10.0 * np.arange(1, len(values) + 1), np.array(values))


def thin(ax):
    return [line for line in ax.lines if line.get_linewidth() == 0.5]


def test_every_seed_is_a_thin_line_of_its_values(plan, runs):
    axes = panels_of(learning_curves_figure(plan, runs))
    assert list(axes) == [
        f"x86_64_{level}, {workers}" for level in ("v3", "v2") for workers in ("1 worker", "2 workers")
    ]
    ax = axes["x86_64_v2, 2 workers"]
    here = runs[(runs.architecture == "x86_64_v2") & (runs.workers == "2")]
    drawn = sorted(line.get_ydata().tolist() for line in thin(ax))
    assert drawn == sorted([float(value) for value in text.split()] for text in here.map12_curve)
    assert all(line.get_xdata().tolist() == [50, 100, 150] for line in thin(ax))
    assert len(ax.lines) == 24 + 4  # seeds of four configurations, and a mean each


def test_mean_is_that_of_the_finished_runs():
    curves = [curve("ok", 1.0, 2.0, 4.0), curve("ok", 2.0, 3.0, 7.0), curve("diverged", 9.0), curve("failed")]
    steps, means = mean_curve(curves)
    assert steps.tolist() == [10, 20, 30]
    assert means.tolist() == [1.5, 2.5, 5.5]


def test_mean_has_a_gap_rather_than_fewer_runs():
    steps, means = mean_curve([curve("ok", 1.0, np.nan, 4.0), curve("ok", 2.0, 3.0, 7.0), curve("ok")])
    assert steps.tolist() == [10, 30]
    assert means.tolist() == [1.5, 5.5]
    assert mean_curve([curve("diverged", 1.0)])[0].size == 0


def test_a_diverged_run_ends_in_a_cross(smoke):
    runs = made_up(smoke)
    where = (runs.precision == "amp") & (runs.workers == "2") & (runs.xla == "true") & (runs.seed == "101")
    runs = lose(runs, where, curve="0.5 0.75 nan")
    figure = learning_curves_figure(smoke, runs)
    ax = panels_of(figure)["x86_64_v3, 2 workers"]
    (cross,) = [line for line in ax.lines if line.get_marker() == "X"]
    assert (cross.get_xdata().tolist(), cross.get_ydata().tolist()) == ([100], [0.75])
    assert said(ax) == "amp, XLA on: 1 diverged of 6"
    low, high = ax.get_ylim()
    assert low < 0.5
    assert high > 0.75


def test_runs_without_a_curve_are_counted(smoke):
    runs = made_up(smoke)
    runs.loc[(runs.seed == "101") & (runs.precision == "fp32") & (runs.xla == "false"), "map12_curve"] = ""
    axes = panels_of(learning_curves_figure(smoke, runs))
    assert said(axes["x86_64_v3, 1 worker"]) == "fp32, XLA off: 1 of 6 without a curve"
    axes = panels_of(learning_curves_figure(smoke, runs.drop(columns=["map12_curve", "steps_per_epoch"])))
    assert said(axes["x86_64_v3, 1 worker"]).count("6 of 6 without a curve") == 4


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (
            "map12_curve",
            "0.5;0.6",
            "table of runs, x86_64_v3-fp32-xla-1w, seed 100, column map12_curve: holds something",
        ),
        (
            "steps_per_epoch",
            "",
            "table of runs, x86_64_v3-fp32-xla-1w, seed 100, column steps_per_epoch: '' is no number",
        ),
    ],
)
def test_a_damaged_curve_is_one_line(smoke, column, value, message):
    runs = made_up(smoke)
    runs.loc[0, column] = value
    with pytest.raises(UserError, match=message):
        read_curves(runs, "map12")


def test_one_epoch_shows_all_means(smoke):
    runs = made_up(smoke).assign(map12_curve=lambda table: table.map12.astype(str))
    ax = panels_of(learning_curves_figure(smoke, runs))["x86_64_v3, 1 worker"]
    means = [line for line in ax.lines if line.get_linewidth() > 0.5]
    assert [line.get_markevery()[0] for line in means] == [0, 0, 0, 0]

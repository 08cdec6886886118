"""Stability: every seed of every configuration, and the whole study beside them."""

import numpy as np
import pytest

from seedstudy.figures.stability import stability_figure
from seedstudy.figures.style import figure_style
from tests.unit.figures.conftest import lose, made_up, panels_of, plain, points, said


@pytest.fixture(scope="module")
def axes(plan, runs):
    """Panels of the default plan."""
    with figure_style():
        return panels_of(stability_figure(plan, runs))


def test_every_seed_is_a_point_of_its_configuration(axes, runs):
    ax = axes["x86_64_v3, 2 workers"]
    assert [plain(label.get_text()) for label in ax.get_xticklabels()] == [
        "fp32 XLA off",
        "fp32 XLA on",
        "amp XLA off",
        "amp XLA on",
        "all 16",
    ]
    here = runs[(runs.architecture == "x86_64_v3") & (runs.workers == "2")]
    expected = [
        here[(here.precision == precision) & (here.xla == xla)].map12.tolist()
        for precision in ("fp32", "amp")
        for xla in ("false", "true")
    ]
    assert points(ax) == expected


def test_a_seed_stands_at_the_same_offset_in_each_configuration(axes):
    ax = axes["x86_64_v3, 1 worker"]
    offsets = [collection.get_offsets()[:, 0] - place for place, collection in enumerate(ax.collections)]
    assert len(offsets) == 4
    assert np.ptp(np.array(offsets), axis=0) == pytest.approx(np.zeros(6), abs=1e-12)
    assert np.unique(offsets[0]).size == 6


def test_last_box_is_the_whole_study(axes, runs):
    for ax in axes.values():
        box = [line.get_ydata() for line in ax.lines if line.get_xdata()[0] > 3.7]
        heights = set(np.concatenate(box).round(12).tolist())
        assert set(np.quantile(runs.map12, [0.25, 0.5, 0.75]).round(12).tolist()) <= heights


def test_failures_are_named_and_limits_hold_the_rest(smoke):
    runs = made_up(smoke)
    runs.loc[3, "map12"] = 0.9
    runs = lose(runs, (runs.workers == "2") & (runs.precision == "amp") & (runs.seed == "100"), "failed")
    axes = panels_of(stability_figure(smoke, runs))
    assert said(axes["x86_64_v3, 2 workers"]) == "amp, XLA off: 1 failed of 6 amp, XLA on: 1 failed of 6"
    assert said(axes["x86_64_v3, 1 worker"]) == ""
    (limits,) = {ax.get_ylim() for ax in axes.values()}
    assert limits[0] < runs.map12.min()
    assert limits[1] > 0.9


def test_a_missing_configuration_leaves_its_panel_blank(plan, runs):
    some = runs[(runs.workers == "1") | (runs.architecture == "x86_64_v2")]
    axes = panels_of(stability_figure(plan, some))
    assert list(axes) == ["x86_64_v3, 1 worker", "x86_64_v2, 1 worker", "x86_64_v2, 2 workers"]
    left = [ax.get_ylabel() for ax in axes.values()]
    assert left == ["MAP@12, last epoch", "MAP@12, last epoch", ""]
    others = runs[(runs.workers == "2") | (runs.architecture == "x86_64_v2")]
    assert next(iter(panels_of(stability_figure(plan, others)).values())).get_ylabel() == "MAP@12, last epoch"


def test_a_study_without_any_result_is_drawn(smoke):
    runs = made_up(smoke)
    axes = panels_of(stability_figure(smoke, lose(runs, runs.seed != "")))
    assert all(said(ax).count("6 diverged of 6") == 4 for ax in axes.values())

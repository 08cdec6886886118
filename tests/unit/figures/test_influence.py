"""Influence of a family: seeds, pairs, the band, the interval and the words are those of the comparison."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from seedstudy.figures.influence import columns_for, influence_figure
from seedstudy.figures.style import figure_style
from seedstudy.statistics.comparison import compare_family
from tests.unit.figures.conftest import lose, made_up, panels_of, plain, points, said


def compared(runs, plan, name="amp", **changes):
    family = next(family for family in plan.families if family.name == name)
    arguments = {"metric": plan.metric, "margin": plan.margin.value, "paired": True, "resamples": 0} | changes
    return compare_family(runs, family, **arguments)


def pair_lines(ax):
    """Segments that join points: error bars are vertical, pairs are not."""
    segments = [s for c in ax.collections if isinstance(c, LineCollection) for s in c.get_segments()]
    return [segment for segment in segments if segment[0][0] != segment[1][0]]


@pytest.fixture(scope="module")
def drawn(plan, runs):
    """Each family of the default plan and its figure."""
    with figure_style():
        families = {family.name: compared(runs, plan, family.name) for family in plan.families}
        return {name: (family, influence_figure(plan, family)) for name, family in families.items()}


@pytest.mark.parametrize("name", ["amp", "xla", "workers", "architecture"])
def test_every_seed_is_a_point_in_its_arm(drawn, name):
    family, figure = drawn[name]
    axes = list(panels_of(figure).values())
    assert len(axes) == len(family.cells) == 8
    drawn = [values for ax in axes for values in points(ax)]
    expected = [arm.values.tolist() for cell in family.cells for arm in (cell.reference, cell.treatment)]
    assert sorted(drawn) == sorted(expected)


def test_panels_are_named_and_in_the_order_of_the_plan(drawn):
    titles = list(panels_of(drawn["amp"][1]))
    assert titles[:3] == [
        "x86_64_v3, 1 worker, XLA off",
        "x86_64_v3, 1 worker, XLA on",
        "x86_64_v3, 2 workers, XLA off",
    ]
    assert titles[4] == "x86_64_v2, 1 worker, XLA off"


def test_lines_join_the_same_seed(smoke):
    runs = made_up(smoke)
    figure = influence_figure(smoke, compared(runs, smoke))
    here = (runs.workers == "2") & (runs.xla == "true")
    pair = [runs[here & (runs.precision == arm)].set_index("seed").map12 for arm in ("fp32", "amp")]
    ends = [tuple(segment[:, 1]) for segment in pair_lines(panels_of(figure)["2 workers, XLA on"])]
    assert ends == [(pair[0][seed], pair[1][seed]) for seed in pair[0].index]


def test_no_lines_where_the_arms_hold_different_seeds(smoke):
    runs = made_up(smoke)
    runs.loc[runs.precision == "amp", "seed"] += "0"
    ax = next(iter(panels_of(influence_figure(smoke, compared(runs, smoke))).values()))
    assert pair_lines(ax) == []
    assert "not paired by seed" in said(ax)


def test_band_is_the_reference_mean_within_the_margin(smoke):
    runs = made_up(smoke)
    # Reference 0.61 ... 0.66: mean 0.635; the smoke plan's margin is 0.02.
    runs["map12"] = np.tile(np.arange(6) / 100 + 0.61, 8) + np.where(runs.precision == "amp", 0.005, 0.0)
    figure = influence_figure(smoke, compared(runs, smoke))
    for ax in panels_of(figure).values():
        (band,) = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
        assert band.get_bbox().intervaly == pytest.approx([0.615, 0.655], abs=1e-12)
    (legend,) = figure.legends
    assert "mean of fp32 ± margin (0.02)" in [text.get_text() for text in legend.get_texts()]


def test_interval_and_words_are_the_verdicts(smoke):
    family = compared(made_up(smoke), smoke)
    figure = influence_figure(smoke, family)
    for ax, cell in zip(panels_of(figure).values(), family.cells, strict=True):
        (bar,) = [container for container in ax.containers if hasattr(container, "lines")]
        mean, difference, interval = cell.reference.summary.mean, cell.estimate.value, cell.verdict.interval
        assert bar.lines[0].get_ydata() == pytest.approx([mean + difference], rel=1e-14)
        ends = bar.lines[2][0].get_segments()[0][:, 1]
        assert ends == pytest.approx([mean + interval.low, mean + interval.high], rel=1e-14)
        words = f"{difference:+.4f}, 90 % CI {interval.low:+.4f} to {interval.high:+.4f}".replace("-", "−")
        assert said(ax) == f"{cell.verdict.label.value} difference {words}"
    assert f"average over the cells: {family.average.label.value} (90 % CI" in plain(figure.get_suptitle())


def test_holms_verdict_is_named_where_it_is_another(plan):
    runs = made_up(plan)
    # A true difference just beyond the margin: DIFFERENT in single cells, not with Holm's adjustment in all of them.
    runs.loc[runs.xla == "true", "map12"] += plan.margin.value + 0.0004
    family = compared(runs, plan, "xla")
    other = [cell for cell in family.cells if cell.holm.label is not cell.verdict.label]
    assert other
    figure = influence_figure(plan, family)
    named = [ax for ax in panels_of(figure).values() if "with Holm: INCONCLUSIVE" in said(ax)]
    assert len(named) == len(other)
    several = sum(cell.holm.label == "DIFFERENT" for cell in family.cells)
    assert f"cells: DIFFERENT in {several} of 8 cells (Holm)" in figure.get_suptitle()


def test_failures_are_named_in_their_panel(smoke):
    runs = made_up(smoke)
    runs = lose(runs, (runs.precision == "amp") & (runs.workers == "2") & (runs.seed == "103"))
    runs = lose(runs, (runs.precision == "amp") & (runs.workers == "2") & (runs.seed == "104"), "failed")
    axes = panels_of(influence_figure(smoke, compared(runs, smoke)))
    assert said(axes["2 workers, XLA off"]).endswith("amp: 1 diverged + 1 failed of 6")
    assert "diverged" not in said(axes["1 worker, XLA off"])
    assert [len(values) for values in points(axes["2 workers, XLA off"])] == [6, 4]
    assert len(pair_lines(axes["2 workers, XLA off"])) == 4


def test_limits_hold_everything_drawn_and_are_shared(drawn, plan, runs):
    family, figure = drawn["amp"]
    (limits,) = {ax.get_ylim() for ax in panels_of(figure).values()}
    means = [cell.reference.summary.mean for cell in family.cells]
    assert limits[0] < min(runs.map12.min(), min(means) - plan.margin.value)
    assert limits[1] > max(runs.map12.max(), max(means) + plan.margin.value)


@pytest.mark.parametrize("arm", ["fp32", "amp"])
def test_an_arm_without_results_is_said_and_drawn(smoke, arm):
    runs = made_up(smoke)
    family = compared(lose(runs, runs.precision == arm), smoke)
    for ax in panels_of(influence_figure(smoke, family)).values():
        assert said(ax) == f"INCONCLUSIVE fewer than 2 results in an arm {arm}: 6 diverged of 6"
        assert [len(values) for values in points(ax)] == [6]


def test_columns():
    cells = [(a, b, c) for a in "12" for b in "12" for c in "12"]
    assert columns_for(cells) == 4
    # Full precision has another name on each architecture, so three values of the middle axis make no full product.
    assert columns_for([("a", p, x) for p in ("amp", "tf32") for x in "01"] + [("v", "fp32", x) for x in "0123"]) == 4
    assert columns_for([(a, b) for a in "12" for b in "123"]) == 3
    assert columns_for([(a, b, c) for a in "12" for b in "1234" for c in "12"]) == 4
    assert columns_for([(str(n),) for n in range(5)]) == 4
    assert columns_for([()]) == 1
    assert columns_for([("false",), ("true",)]) == 2

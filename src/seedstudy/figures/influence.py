"""One family of comparisons: the arms of each cell, the margin around the reference, and the verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from seedstudy.figures.layout import (
    BOLD,
    axis_name,
    axis_words,
    failure_line,
    finish,
    heading,
    level_words,
    metric_label,
    ordered,
    panel_inches,
    panels,
    wrapped,
)
from seedstudy.figures.marks import box_handle, draw_boxes, draw_seeds, seeds_handle, spread_out
from seedstudy.figures.style import REFERENCE, TITLE, TREATMENT
from seedstudy.statistics.cell_comparison import CellComparison
from seedstudy.statistics.comparison import FamilyComparison
from seedstudy.statistics.verdict import Verdict
from seedstudy.study import Plan
from seedstudy.tables.text import digits_for

MOST_COLUMNS = 4
_BAND = "0.86"
_BOXES, _POINTS, _SPREAD, _INTERVAL = (-0.2, 1.2), (0.12, 0.88), 0.2, 1.55


def plot_influence(ax: Axes, cell: CellComparison, axis: str, labels: tuple[str, str]) -> None:
    """Draw one cell: a box and all seeds of each arm, the reference's mean within its margin, and the difference.

    Parameters
    ----------
    ax : Axes
        The panel.
    cell : CellComparison
        Both arms and the verdict; nothing is computed here but the edges of the band.
    axis : str
        What the arms differ in, in words.
    labels : tuple of str
        Tick labels of the reference and of the treatment.
    """
    ax.set(xlabel=axis, ylabel=f"{metric_label(cell.metric)}, last epoch")
    reference = cell.reference.summary
    if reference is not None:
        mean, margin = reference.mean, cell.verdict.margin
        ax.axhspan(mean - margin, mean + margin, color=_BAND, linewidth=0, zorder=0)
        ax.axhline(mean, color="0.55", linewidth=0.8, zorder=0.5)
        if cell.estimate is not None:
            value, interval = float(cell.estimate.value), cell.verdict.interval
            ax.errorbar(
                [_INTERVAL],
                [mean + value],
                [[value - interval.low], [interval.high - value]],
                fmt="D",
                color="black",
                markersize=3,
                linewidth=1.2,
                capsize=3,
            )
    _draw_arms(ax, cell)
    ax.set_xticks([0, 1], labels)
    ax.set_xlim(-0.5, _INTERVAL + 0.25)


def _draw_arms(ax: Axes, cell: CellComparison) -> None:
    a, b = cell.reference, cell.treatment
    seeds = list(dict.fromkeys(a.all_seeds + b.all_seeds))
    left, right = (spread_out(seeds, position, _SPREAD) for position in _POINTS)
    if cell.method == "paired":
        of_b = dict(zip(b.seeds, b.values.tolist(), strict=True))
        pairs = [
            [(left[seed], value), (right[seed], of_b[seed])]
            for seed, value in zip(a.seeds, a.values.tolist(), strict=True)
            if seed in of_b
        ]
        ax.add_collection(LineCollection(pairs, colors="0.6", linewidths=0.5, zorder=1))
    draw_boxes(ax, [a.values, b.values], _BOXES, 0.252)
    for arm, style, places in ((a, REFERENCE, left), (b, TREATMENT, right)):
        draw_seeds(ax, arm, [places[seed] for seed in arm.seeds], style)


def verdict_lines(cell: CellComparison, digits: int, names: Sequence[str]) -> list[str]:
    """What a panel says of its cell: verdict, difference with its interval, Holm's verdict if another, failures.

    Parameters
    ----------
    cell : CellComparison
        The cell.
    digits : int
        Digits after the point of a difference.
    names : sequence of str
        Reference and treatment in words.

    Returns
    -------
    list of str
    """
    verdict = cell.verdict
    lines = [verdict.label.value]
    if cell.holm.label is not verdict.label:
        lines.append(f"with Holm: {cell.holm.label.value}")
    if cell.estimate is None:
        lines.append("fewer than 2 results in an arm")
    else:
        value = _signed(float(cell.estimate.value), digits)
        lines.append(f"difference\N{NO-BREAK SPACE}{value}, {_interval(verdict, digits)}")
    if cell.method == "welch":
        lines.append("not paired by seed")
    arms = zip(names, (cell.failures.reference, cell.failures.treatment), strict=True)
    return lines + [failure_line(name, failures) for name, failures in arms if failures.count]


def influence_figure(plan: Plan, family: FamilyComparison) -> Figure:
    """The cells of a family, a panel each.

    Parameters
    ----------
    plan : Plan
        Title, metric, margin, and what workers are called.
    family : FamilyComparison
        From `seedstudy.tables.study.compare_study`.

    Returns
    -------
    Figure
        Cells in their order, row by row; see `columns_for`.
    """
    cells, digits = _in_order(family.cells, plan), digits_for(plan.margin.value) + 1
    first = cells[0]
    columns = columns_for([list(cell.cell.where.values()) for cell in cells])
    rows = math.ceil(len(cells) / columns)
    figure, grid = panels(rows, columns)
    inches = panel_inches(columns)
    a, b = (wrapped(level_words(first.axis, arm.label), inches / 2.6) for arm in (first.reference, first.treatment))
    words = [axis_words(first.axis, arm.label, plan.worker_label) for arm in (first.reference, first.treatment)]
    for ax in grid.flat[len(cells) :]:
        ax.set_axis_off()
    axes: list[Axes] = list(grid.flat[: len(cells)])
    for ax, cell, title in zip(axes, cells, _titles(cells, plan, inches), strict=True):
        plot_influence(ax, cell, axis_name(first.axis, plan.worker_label), (a, b))
        heading(ax, title, verdict_lines(cell, digits, words))
    lines = [f"{plan.title}: {words[1]} against {words[0]}", *_overall(family, digits)]
    finish(figure, axes, lines, _handles(family, words, plan), 2, 2.3)
    return figure


def _in_order(cells: Sequence[CellComparison], plan: Plan) -> list[CellComparison]:
    """Cells in the order in which all figures show the values of an axis."""
    ranks = {axis: ordered(axis, [cell.cell.where[axis] for cell in cells], plan) for axis in cells[0].cell.where}
    return sorted(cells, key=lambda cell: [ranks[axis].index(value) for axis, value in cell.cell.where.items()])


def _titles(cells: Sequence[CellComparison], plan: Plan, inches: float) -> list[str]:
    """Names of the cells: all on one line, or all with the last axis on a line of its own."""
    parts = [[axis_words(axis, value, plan.worker_label) for axis, value in c.cell.where.items()] for c in cells]
    titles = [", ".join(words) or "all runs" for words in parts]
    if all("\n" not in wrapped(title, inches, BOLD * TITLE) for title in titles):
        return titles
    return [",\n".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0] for words in parts]


def columns_for(cells: Sequence[Sequence[str]]) -> int:
    """Columns of the grid: cells that share as few of the first axes as fit side by side stand in one row.

    Parameters
    ----------
    cells : sequence of sequence of str
        Values of the axes of each cell, sorted.

    Returns
    -------
    int
        From 1 to `MOST_COLUMNS`.
    """
    for shared in range(len(cells[0]) + 1):
        sizes = set(Counter(tuple(values[:shared]) for values in cells).values())
        if len(sizes) == 1 and 1 < max(sizes) <= MOST_COLUMNS:
            return min(len(cells), MOST_COLUMNS // max(sizes) * max(sizes))
    return min(len(cells), MOST_COLUMNS)


def _overall(family: FamilyComparison, digits: int) -> list[str]:
    """The family's own verdicts, where it has several cells."""
    if len(family.cells) == 1:
        return []
    average = family.average
    known = "" if math.isnan(average.interval.low) else f" ({_interval(average, digits)})"
    everywhere = family.everywhere_sentence.partition(":")[0]
    return [f"cells: {everywhere}; average over the cells: {average.label.value}{known}"]


def _handles(family: FamilyComparison, words: Sequence[str], plan: Plan) -> list[Artist]:
    level = f"{100 * family.average.interval.level:g} % CI"
    handles: list[Artist] = [
        Patch(color=_BAND, label=f"mean of {words[0]} ± margin ({plan.margin.value:g})"),
        Line2D(
            [], [], color="black", marker="D", markersize=3, linewidth=1.2, label=f"that mean + difference, {level}"
        ),
    ]
    handles += [seeds_handle(style, word) for style, word in zip((REFERENCE, TREATMENT), words, strict=True)]
    if any(cell.method == "paired" for cell in family.cells):
        handles.append(Line2D([], [], color="0.6", linewidth=0.5, label="the same seed in both arms (paired)"))
    return [*handles, box_handle()]


def _interval(verdict: Verdict, digits: int) -> str:
    """The interval of a verdict in words that stay on one line."""
    found = verdict.interval
    text = f"{100 * found.level:g} % CI {_signed(found.low, digits)} to {_signed(found.high, digits)}"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _signed(value: float, digits: int) -> str:
    return f"{value:+z.{digits}f}".replace("-", "\N{MINUS SIGN}")

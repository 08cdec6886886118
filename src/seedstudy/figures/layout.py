"""Grids of panels that share one axis, and the words on them."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from seedstudy.figures.style import HEAD, TITLE, WIDTH
from seedstudy.statistics.failures import FailureCount
from seedstudy.study import Plan

ONE_PANEL = 5.5
BOLD = 1.1
"""Width of bold letters against plain ones."""
_LINE = 9.3
_FIXED = "\N{NO-BREAK SPACE}"


def metric_label(metric: str) -> str:
    """Name of a metric as the field writes it: ``map12`` is MAP@12."""
    found = re.fullmatch(r"([a-z]+)(\d+)", metric)
    return f"{found[1].upper()}@{found[2]}" if found else metric


def axis_name(axis: str, worker_label: str) -> str:
    """Name of an axis on a figure; ``worker_label`` is what workers are, in the plural: ``workers`` or ``GPUs``."""
    return {"xla": "XLA", "workers": worker_label}.get(axis, axis)


def level_words(axis: str, level: str) -> str:
    """A value of an axis beside the axis' name, as in ``on`` and ``fp32/tf32``; a bar joins the values of an arm."""
    words = {"true": "on", "false": "off"} if axis == "xla" else {}
    return "/".join(words.get(part, part) for part in level.split("|"))


def axis_words(axis: str, level: str, worker_label: str) -> str:
    """A value of an axis on its own, as in ``XLA on``, ``1 GPU`` and ``fp32/tf32``; no line breaks within."""
    words, name = level_words(axis, level), axis_name(axis, worker_label)
    if axis == "workers":
        return f"{words}{_FIXED}{name.removesuffix('s') if words == '1' else name}"
    return f"{name}{_FIXED}{words}" if axis == "xla" else words


def ordered(axis: str, values: Iterable[str], plan: Plan) -> list[str]:
    """Values of an axis without repeats, in the order in which figures show them.

    Parameters
    ----------
    axis : str
        ``architecture``, ``precision``, ``xla``, ``workers`` or ``batch``.
    values : iterable of str
        As in the table of runs.
    plan : Plan
        Its order of the architectures; others follow.

    Returns
    -------
    list of str
        Numbers as numbers, full precision before AMP, XLA off before on.
    """
    found = sorted(set(values))
    if axis in ("workers", "batch") and all(value.isdecimal() for value in found):
        return sorted(found, key=int)
    known = {"architecture": list(plan.architectures), "precision": ["fp32", "tf32", "amp"]}.get(axis, [])
    return sorted(found, key=lambda value: known.index(value) if value in known else len(known))


def panels(rows: int, columns: int) -> tuple[Figure, npt.NDArray[np.object_]]:
    """A figure with a grid of panels that share one vertical axis; `finish` gives it its height.

    Parameters
    ----------
    rows, columns : int
        Size of the grid.

    Returns
    -------
    figure : Figure
    axes : numpy.ndarray
        Shape (rows, columns), of `matplotlib.axes.Axes`.
    """
    figure = Figure(figsize=(WIDTH if columns > 1 else ONE_PANEL, 3.0 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes: npt.NDArray[np.object_] = figure.subplots(rows, columns, sharey=True, squeeze=False)
    return figure, axes


def study_grid(plan: Plan, runs: pd.DataFrame, across: str = "workers") -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """A panel for each architecture (rows) and worker count (columns) that the runs hold.

    Parameters
    ----------
    plan : Plan
        Order of the architectures, and what workers are called.
    runs : pandas.DataFrame
        One row a run, the axes as text.
    across : str
        Axis of the columns, where it is another one.

    Returns
    -------
    figure : Figure
    axes : dict
        (architecture, workers) to its panel; combinations without a run are left blank.
    """
    rows = ordered("architecture", runs["architecture"], plan)
    columns = ordered(across, runs[across], plan)
    present = set(zip(runs["architecture"], runs[across], strict=True))
    figure, grid = panels(len(rows), len(columns))
    axes: dict[tuple[str, str], Axes] = {}
    for row, architecture in enumerate(rows):
        for column, level in enumerate(columns):
            if (architecture, level) in present:
                axes[architecture, level] = grid[row, column]
            else:
                grid[row, column].set_axis_off()
    return figure, axes


def heading(ax: Axes, title: str, lines: Sequence[str]) -> None:
    """Write a panel's title and, below it, plain lines; all above the panel, where no data can be.

    Parameters
    ----------
    ax : Axes
        A panel of `panels`.
    title : str
        May hold line breaks.
    lines : sequence of str
        Broken further where the panel is too narrow.
    """
    place = ax.get_subplotspec()
    inches = panel_inches(place.get_gridspec().ncols if place else 1)
    body = "\n".join(wrapped(line, inches) for line in lines)
    # A given y spares Matplotlib the search for a free place, which takes long with many panels.
    title = "\n".join(wrapped(line, inches, BOLD * TITLE) for line in title.split("\n"))
    ax.set_title(title, y=1.0, pad=6.0 + (_LINE * len(body.split("\n")) if body else 0.0))
    if body:
        ax.annotate(
            body,
            (0.5, 1.0),
            (0.0, 3.0),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            va="bottom",
            linespacing=1.1,
        )


def panel_inches(columns: int) -> float:
    """Width that a panel's text may take: its share of the figure, less the gap and its part of the axis labels."""
    return 0.92 * (WIDTH if columns > 1 else ONE_PANEL) / columns


def failure_line(name: str, failures: FailureCount) -> str:
    """Failures of an arm in words; a line may break before a plus, not between a number and what it counts."""
    return f"{name}: " + str(failures).replace(" ", _FIXED).replace(f"{_FIXED}+", " +")


def wrapped(text: str, inches: float, size: float = 8.0) -> str:
    """Text in lines that fit a width; a character of this font is at most 0.6 of its size wide on average."""
    return "\n".join(textwrap.wrap(text, max(8, int(inches * 72.0 / (0.6 * size)))))


def share_axis(axes: Sequence[Axes]) -> None:
    """Give all panels the same vertical axis, labelled at the first panel of each row.

    Parameters
    ----------
    axes : sequence of Axes
        The panels, row by row. The limits leave room beyond the lowest and the highest thing drawn in any.
    """
    labelled = set()
    for ax in axes:
        if _row(ax) in labelled:
            ax.set_ylabel("")
        ax.tick_params(labelleft=_row(ax) not in labelled)
        labelled.add(_row(ax))
    edges = np.array([ax.dataLim.intervaly for ax in axes])
    edges = edges[np.isfinite(edges)]
    if edges.size:
        low, high = float(edges.min()), float(edges.max())
        room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        # One call moves all panels, since they share the axis.
        axes[0].set_ylim(low - room, high + room)


def finish(
    figure: Figure, axes: Sequence[Axes], title: Sequence[str], handles: Sequence[Artist], columns: int, inches: float
) -> None:
    """Share the vertical axis, add title and legend, and make the figure as high as all of it needs.

    Parameters
    ----------
    figure : Figure
        With its headings written.
    axes : sequence of Axes
        The panels, row by row.
    title : sequence of str
        Lines above all panels, broken further where the figure is too narrow.
    handles : sequence of Artist
        Entries of the legend below them.
    columns : int
        Of the legend in a figure of full width.
    inches : float
        Height of a panel with its axis labels, without its heading.
    """
    share_axis(axes)
    head = "\n".join(wrapped(line, figure.get_figwidth(), HEAD) for line in title)
    figure.suptitle(head)
    columns = max(1, round(columns * figure.get_figwidth() / WIDTH))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)
    lines: dict[int, int] = {}
    for ax in axes:
        texts = [ax.get_title(), *(text.get_text() for text in ax.texts)]
        lines[_row(ax)] = max(lines.get(_row(ax), 0), sum(text.count("\n") + 1 for text in texts))
    outside = head.count("\n") + 2 + 1.3 * math.ceil(len(handles) / columns)
    figure.set_figheight(inches * len(lines) + _LINE / 72.0 * (1.15 * sum(lines.values()) + 1.3 * outside))


def _row(ax: Axes) -> int:
    place = ax.get_subplotspec()
    return place.rowspan.start if place else 0

"""Boxes, and seeds as points: drawn and named in the same way in every figure."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from seedstudy.figures.style import NEUTRAL, PointStyle
from seedstudy.statistics.cells import Arm
from seedstudy.statistics.values import FloatArray

_GOLDEN = (5**0.5 - 1) / 2


def draw_boxes(ax: Axes, groups: Sequence[FloatArray], positions: Sequence[float], width: float) -> None:
    """Draw a thin box a group; outliers have none of their own marks, since every seed is a point.

    Parameters
    ----------
    ax : Axes
        The panel.
    groups : sequence of numpy.ndarray
        Shape (n,) each, in units of the metric; one without values has no box.
    positions : sequence of float
        Where each box is centred.
    width : float
        Of a box, in units of the positions.
    """
    drawn = [(group, position) for group, position in zip(groups, positions, strict=True) if group.size]
    if not drawn:
        return
    line = {"color": NEUTRAL, "linewidth": 0.8}
    ax.boxplot(
        [group for group, _ in drawn],
        positions=[position for _, position in drawn],
        widths=width,
        capwidths=width / 2.0,
        showfliers=False,
        manage_ticks=False,
        boxprops=line,
        capprops=line,
        medianprops={**line, "solid_capstyle": "butt"},
        whiskerprops={**line, "solid_capstyle": "butt"},
    )


def draw_seeds(ax: Axes, arm: Arm, x: Sequence[float], style: PointStyle) -> None:
    """Draw each finished run of an arm as a point, at ``x`` in the order of its seeds."""
    if not arm.n:
        return
    ax.scatter(
        x, arm.values, s=14, color=style.colour, edgecolor="white", marker=style.marker, alpha=0.8, linewidth=0.2
    )


def spread_out(seeds: Sequence[str], position: float, width: float) -> dict[str, float]:
    """Place of each seed around a position, the same on every call.

    Multiples of the golden ratio modulo 1: neighbours in the order of the seeds never fall together.
    """
    return {seed: position + width * ((index * _GOLDEN) % 1.0 - 0.5) for index, seed in enumerate(seeds)}


def seeds_handle(style: PointStyle, label: str) -> Line2D:
    """Legend of the points of an arm."""
    return Line2D([], [], linestyle="", marker=style.marker, color=style.colour, label=f"{label}, one seed a point")


def box_handle() -> Line2D:
    """Legend of the boxes."""
    return Line2D([], [], color=NEUTRAL, linewidth=0.8, label="box: quartiles; whiskers: up to 1.5 IQR beyond")

"""How every figure looks: fonts, colours, markers and line styles, and files that repeat to the byte."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib.style
import seaborn as sns
from matplotlib.figure import Figure

from seedstudy.tables.frames import FULL_PRECISIONS

WIDTH = 9.0
"""Inches. Shown 900 pixels wide, as in a README, the smallest text of 8 pt is 11 pixels high."""
TITLE, HEAD = 8.5, 9.5
KINDS = ("svg", "png")
_COLOURS = sns.color_palette("colorblind").as_hex()
_STYLE = dict(sns.axes_style("ticks")) | {
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelsize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": TITLE,
    "axes.titleweight": "bold",
    "figure.titlesize": HEAD,
    # Comes with Matplotlib: the same letters, and so the same layout, on every machine.
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.handlelength": 3.0,
    "savefig.dpi": 200,
    "svg.hashsalt": "seedstudy",
    "xtick.labelsize": 8,
    "xtick.major.size": 3,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 8,
    "ytick.major.size": 3,
    "ytick.major.width": 0.6,
}


@dataclass(frozen=True)
class PointStyle:
    """Colour and marker of one arm: the marker tells the arms apart where the colour does not."""

    colour: str
    marker: str


REFERENCE = PointStyle(_COLOURS[0], "o")
TREATMENT = PointStyle(_COLOURS[1], "s")
NEUTRAL = "0.25"
DIVERGED = PointStyle(_COLOURS[3], "X")


def joined(precisions: Iterable[str]) -> dict[PointStyle, str]:
    """Style of each kind of precision, and the names that share it, as in ``fp32/tf32``."""
    names: dict[PointStyle, str] = {}
    for precision in precisions:
        style = precision_style(precision)
        names[style] = f"{names[style]}/{precision}" if style in names else precision
    return names


def precision_style(precision: str) -> PointStyle:
    """Style of a precision: full precision is what AMP is compared with, whatever its format."""
    return REFERENCE if precision in FULL_PRECISIONS else TREATMENT


@dataclass(frozen=True)
class CurveStyle:
    """Look of a mean curve: colour, marker and epoch of the first marker say the precision; dashes and face XLA."""

    colour: str
    face: str
    marker: str
    first: int
    dashed: bool
    width: float
    order: float


def curve_style(precision: str, xla: str) -> CurveStyle:
    """Style of a precision and a XLA setting.

    Means of configurations may differ by less than a line's width. So the upper line of two is the thinner one, gaps
    between dashes are white, and the markers of both precisions alternate from epoch to epoch.
    """
    point = precision_style(precision)
    amp = int(point is TREATMENT)
    if xla == "true":
        return CurveStyle(point.colour, point.colour, point.marker, amp, False, 2.8 - amp, 3.0 + 0.2 * amp)
    return CurveStyle(point.colour, "white", point.marker, amp, True, 1.4 - 0.4 * amp, 3.1 + 0.2 * amp)


def look(style: CurveStyle) -> dict[str, Any]:
    """A curve's style as the arguments of Matplotlib's ``plot``."""
    return ({"gapcolor": "white"} if style.dashed else {}) | {
        "color": style.colour,
        "linestyle": (0.0, (4.0, 3.0)) if style.dashed else "-",
        "linewidth": style.width,
        "marker": style.marker,
        "markersize": 3.5 if style.dashed else 6.0,
        "markerfacecolor": style.face,
        "markeredgewidth": 1.0,
    }


@contextmanager
def figure_style() -> Iterator[None]:
    """Style in which figures are made and saved; the user's own Matplotlib settings have no part in it."""
    with matplotlib.style.context(["default", _STYLE]):
        yield


def encode(figure: Figure, kind: str) -> bytes:
    """A figure as the bytes of a file, without dates and versions.

    Parameters
    ----------
    figure : Figure
        Drawn within `figure_style`.
    kind : str
        One of `KINDS`.

    Returns
    -------
    bytes
        The same for the same figure on every call.
    """
    metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[kind]
    engine = figure.get_layout_engine()
    if engine is not None:
        # Once for all kinds, so that they are the same figure; else each file would lay it out twice.
        engine.execute(figure)
        figure.set_layout_engine(None)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()

"""The metric against the training step: every seed, and the mean of those that finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from seedstudy.figures.layout import (
    axis_words,
    failure_line,
    finish,
    heading,
    metric_label,
    ordered,
    study_grid,
)
from seedstudy.figures.style import DIVERGED, NEUTRAL, CurveStyle, curve_style, joined, look
from seedstudy.imports.curves import Curve, read_curves
from seedstudy.imports.study import AXES
from seedstudy.statistics.failures import OK, count_failures
from seedstudy.statistics.values import FloatArray
from seedstudy.study import Plan

_DIVERGED: dict[str, Any] = {
    "linestyle": "",
    "marker": DIVERGED.marker,
    "color": DIVERGED.colour,
    "markersize": 8,
    "markeredgecolor": "white",
    "markeredgewidth": 0.8,
}


def mean_curve(curves: Sequence[Curve]) -> tuple[FloatArray, FloatArray]:
    """Mean over the finished runs, at the steps where each of them has a value.

    Parameters
    ----------
    curves : sequence of Curve
        Of one configuration. Runs that did not finish are left out of all steps: were they in the first ones only, the
        mean would jump where they end.

    Returns
    -------
    steps, means : numpy.ndarray
        Shape (n,); empty without a finished run that has a curve.
    """
    finished = [curve for curve in curves if curve.status == OK and np.isfinite(curve.values).any()]
    found: dict[float, list[float]] = {}
    for curve in finished:
        for step, value in zip(curve.steps.tolist(), curve.values.tolist(), strict=True):
            if np.isfinite(value):
                found.setdefault(step, []).append(value)
    steps = sorted(step for step, values in found.items() if len(values) == len(finished))
    return np.array(steps, dtype=np.float64), np.array([np.mean(found[step]) for step in steps], dtype=np.float64)


def plot_learning_curves(ax: Axes, curves: Sequence[Curve], style: CurveStyle) -> None:
    """Draw one configuration: every seed thin, the mean of the finished ones thick, a cross where one diverged.

    Parameters
    ----------
    ax : Axes
        The panel; several configurations may share it.
    curves : sequence of Curve
        Of the configuration.
    style : CurveStyle
        Of the configuration.
    """
    for curve in curves:
        thin = "--" if style.dashed else "-"
        ax.plot(curve.steps, curve.values, thin, color=style.colour, linewidth=0.5, alpha=0.4, marker=".", ms=1.5)
        known = np.flatnonzero(np.isfinite(curve.values))
        if curve.status != OK and known.size:
            end = known[-1]
            ax.plot(curve.steps[end], curve.values[end], **_DIVERGED, zorder=5)
    steps, means = mean_curve(curves)
    # With a single epoch there is no next one to put the other marker at.
    ax.plot(steps, means, markevery=(min(style.first, max(steps.size - 1, 0)), 2), **look(style), zorder=style.order)


def learning_curves_figure(plan: Plan, runs: pd.DataFrame) -> Figure:
    """Learning curves of the study.

    Parameters
    ----------
    plan : Plan
        Title, metric, and what workers are called.
    runs : pandas.DataFrame
        From `seedstudy.imports.study.read_study`.

    Returns
    -------
    Figure
        Rows are architectures and columns are worker counts. Runs that failed, and runs without a curve, are counted in
        words above the panel.

    Raises
    ------
    UserError
        As in `seedstudy.imports.curves.read_curves`.
    """
    curves = read_curves(runs, plan.metric)
    figure, axes = study_grid(plan, runs)
    points = [
        (precision, xla)
        for precision in ordered("precision", runs["precision"], plan)
        for xla in reversed(ordered("xla", runs["xla"], plan))
        if ((runs["precision"] == precision) & (runs["xla"] == xla)).any()
    ]
    keys = list(runs[list(AXES)].itertuples(index=False, name=None))
    for (architecture, workers), ax in axes.items():
        notes = []
        for point in points:
            here = [curve for key, curve in zip(keys, curves, strict=True) if key == (architecture, workers, *point)]
            if here:
                plot_learning_curves(ax, here, curve_style(*point))
                notes += _notes(_label(*point), here)
        heading(ax, f"{architecture}, {axis_words('workers', workers, plan.worker_label)}", notes)
        ax.set(xlabel="training step", ylabel=f"{metric_label(plan.metric)} after each epoch")
        ax.set_xlim(left=0.0)
    handles = _handles(points, any(curve.status != OK and np.isfinite(curve.values).any() for curve in curves))
    finish(figure, list(axes.values()), [f"{plan.title}: learning curves"], handles, 3, 2.7)
    return figure


def _label(precision: str, xla: str) -> str:
    return f"{precision}, {axis_words('xla', xla, '')}"


def _notes(label: str, curves: Sequence[Curve]) -> list[str]:
    """What a panel must say of a configuration in words."""
    failures = count_failures([curve.status for curve in curves])
    blank = sum(curve.status == OK and not np.isfinite(curve.values).any() for curve in curves)
    notes = [failure_line(label, failures)] if failures.count else []
    return notes + ([f"{label}: {blank} of {len(curves)} without a curve"] if blank else [])


def _handles(points: Sequence[tuple[str, str]], diverged: bool) -> list[Line2D]:
    handles = [
        Line2D([], [], **look(curve_style(names.split("/")[0], xla)), label=f"{_label(names, xla)}: mean")
        for names in joined(dict.fromkeys(precision for precision, _ in points)).values()
        for xla in dict.fromkeys(xla for _, xla in points)
    ]
    handles.append(Line2D([], [], color=NEUTRAL, linewidth=0.5, label="thin: one seed"))
    if diverged:
        handles.append(Line2D([], [], **_DIVERGED, label="last value of a run that did not finish"))
    return handles

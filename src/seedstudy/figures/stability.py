"""How far the seeds of each configuration spread, beside the spread of all configurations together."""

from __future__ import annotations

from collections.abc import Sequence

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
from seedstudy.figures.marks import box_handle, draw_boxes, draw_seeds, seeds_handle, spread_out
from seedstudy.figures.style import PointStyle, joined, precision_style
from seedstudy.imports.study import AXES
from seedstudy.statistics.cells import Arm, split_runs
from seedstudy.statistics.values import FloatArray
from seedstudy.study import Plan

_SPREAD = 0.4


def plot_stability(
    ax: Axes,
    arms: Sequence[Arm],
    labels: Sequence[str],
    styles: Sequence[PointStyle],
    every: FloatArray,
    name: str,
    metric: str,
) -> None:
    """Draw a box and all seeds of each configuration, and a box of the whole study to the right.

    Parameters
    ----------
    ax : Axes
        The panel.
    arms : sequence of Arm
        Runs of each configuration; their values are drawn unrounded.
    labels, styles : sequence
        Tick label and style of each.
    every : numpy.ndarray
        Shape (n,): the metric of every finished run of the study.
    name : str
        Tick label of the box of the whole study.
    metric : str
        Name of the metric.
    """
    last = len(arms) + 0.25
    ax.set(xlabel="precision and XLA", ylabel=f"{metric_label(metric)}, last epoch")
    draw_boxes(ax, [*(arm.values for arm in arms), every], [*range(len(arms)), last], 0.62)
    for position, (arm, style) in enumerate(zip(arms, styles, strict=True)):
        places = spread_out(arm.all_seeds, position, _SPREAD)
        draw_seeds(ax, arm, [places[seed] for seed in arm.seeds], style)
    ax.axvline(last - 0.6, color="0.8", linewidth=0.8)
    ax.set_xticks([*range(len(arms)), last], [*labels, name])
    ax.set_xlim(-0.6, last + 0.6)


def stability_figure(plan: Plan, runs: pd.DataFrame) -> Figure:
    """Distribution of the metric in each configuration.

    Parameters
    ----------
    plan : Plan
        Title, metric, and what workers are called.
    runs : pandas.DataFrame
        From `seedstudy.imports.study.read_study`.

    Returns
    -------
    Figure
        Rows are architectures and columns are worker counts; in a panel precision x XLA, then all configurations of
        the study. Runs that failed are counted in words above the panel.

    Raises
    ------
    UserError
        As in `seedstudy.statistics.cells.split_runs`.
    """
    found = {tuple(where.values()): arm for where, arm in split_runs(runs, AXES, plan.metric)}
    every = np.concatenate([arm.values for arm in found.values()])
    figure, axes = study_grid(plan, runs)
    precisions = ordered("precision", runs["precision"], plan)
    points = [(precision, xla) for precision in precisions for xla in ordered("xla", runs["xla"], plan)]
    name = f"all {len(found)}"
    for (architecture, workers), ax in axes.items():
        here = {point: found[key] for point in points if (key := (architecture, workers, *point)) in found}
        labels = [f"{precision}\n{axis_words('xla', xla, '')}" for precision, xla in here]
        styles = [precision_style(precision) for precision, _ in here]
        plot_stability(ax, list(here.values()), labels, styles, every, name, plan.metric)
        failures = [
            failure_line(label.replace("\n", ", "), arm.failures)
            for label, arm in zip(labels, here.values(), strict=True)
            if arm.failures.count
        ]
        heading(ax, f"{architecture}, {axis_words('workers', workers, plan.worker_label)}", failures)
        if len({workers for _, workers in axes}) > 3:
            ax.tick_params(axis="x", labelrotation=90)
    handles = [seeds_handle(style, names) for style, names in joined(precisions).items()] + [box_handle()]
    handles.append(Line2D([], [], linestyle="", label=f"{name}: all configurations of the study together"))
    finish(figure, list(axes.values()), [f"{plan.title}: spread over the seeds"], handles, 2, 2.5)
    return figure

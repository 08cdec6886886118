"""Speed of a study's configurations: throughput against batch, and speed-up against workers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from seedstudy.errors import UserError
from seedstudy.figures.layout import axis_words, finish, heading, ordered, study_grid
from seedstudy.figures.study import save_figures
from seedstudy.figures.style import NEUTRAL, curve_style, joined, look
from seedstudy.imports.benchmarks import read_benchmarks
from seedstudy.study import Plan, load_plan
from seedstudy.tables.benchmarks import throughput_table
from seedstudy.tables.frames import arm_label

_AXES = ("architecture", "workers", "precision", "xla", "batch")


def write_benchmark_figures(benchmarks_path: Path, plan_path: Path, output: Path) -> list[Path]:
    """Write ``benchmark_throughput`` and ``benchmark_scaling``, each as SVG and PNG.

    Parameters
    ----------
    benchmarks_path, plan_path : Path
        Table of benchmarks and plan.
    output : Path
        Folder, made when missing.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    UserError
        Bad benchmarks or plan, no training among the benchmarks, or a folder that cannot be written.
    """
    plan, rows = load_plan(plan_path), read_benchmarks(benchmarks_path)
    training = rows[rows["kind"] == "training"]
    if training.empty:
        raise UserError(benchmarks_path, "holds no row of training to draw; measure the plan's training batches")
    figures = {
        "benchmark_throughput": partial(throughput_figure, plan, training),
        "benchmark_scaling": partial(scaling_figure, plan, training),
    }
    return save_figures(figures, output)


def throughput_figure(plan: Plan, rows: pd.DataFrame) -> Figure:
    """Samples a second against the global batch.

    Parameters
    ----------
    plan : Plan
        Title, and what workers are called.
    rows : pandas.DataFrame
        Of training, from `seedstudy.imports.benchmarks.read_benchmarks`; at least one.

    Returns
    -------
    Figure
        Rows are architectures and columns are worker counts; in a panel a line for each precision x XLA, the median
        over the repeats with bars from the lowest to the highest.
    """
    rows = _as_text(rows)
    figure, axes = study_grid(plan, rows)
    batches = ordered("batch", rows["batch"], plan)
    for (architecture, workers), ax in axes.items():
        here = rows[(rows["architecture"] == architecture) & (rows["workers"] == workers)]
        points = _points(plan, here)
        for place, (precision, xla) in enumerate(points):
            line = here[(here["precision"] == precision) & (here["xla"] == xla)]
            line = line.set_index("batch").loc[ordered("batch", line["batch"], plan)]
            middle = line["samples_per_second"]
            style = curve_style(precision, xla)
            ax.errorbar(
                # Side by side, so that bars of one batch do not cover each other.
                [int(batch) * 1.05 ** (place - (len(points) - 1) / 2) for batch in line.index],
                middle,
                yerr=[middle - line["samples_per_second_low"], line["samples_per_second_high"] - middle],
                elinewidth=0.8,
                capsize=2.0,
                zorder=style.order,
                **look(style),
            )
        heading(ax, f"{architecture}, {axis_words('workers', workers, plan.worker_label)}", [])
        ax.set(xlabel="global batch", ylabel="training samples a second")
        _ticks(ax, batches)
        ax.yaxis.set_major_formatter("{x:,.0f}")
    bars = Line2D([], [], color=NEUTRAL, linestyle="", marker="|", markersize=9, label="lowest to highest repeat")
    handles = [*_handles(plan, rows), bars]
    finish(figure, list(axes.values()), [f"{plan.title}: training throughput"], handles, 3, 2.5)
    next(iter(axes.values())).set_ylim(bottom=0.0)
    return figure


def scaling_figure(plan: Plan, rows: pd.DataFrame) -> Figure:
    """Speed-up against the number of workers, at the same global batch.

    Parameters
    ----------
    plan, rows
        As in `throughput_figure`.

    Returns
    -------
    Figure
        Rows are architectures and columns are global batches; in a panel a line for each precision x XLA, and the
        line of a speed-up that is the number of workers.
    """
    speed_up = throughput_table(rows)
    text = _as_text(rows)
    figure, axes = study_grid(plan, text, "batch")
    for (architecture, batch), ax in axes.items():
        here = text[(text["architecture"] == architecture) & (text["batch"] == batch)]
        table = speed_up[(speed_up["architecture"] == architecture) & (speed_up["batch"] == int(batch))]
        counts = sorted(set(table["workers"]))
        ax.plot(counts, [count / counts[0] for count in counts], color=NEUTRAL, linewidth=0.8, linestyle=":")
        for precision, xla in _points(plan, here):
            line = table[table["xla"] == xla]
            style = curve_style(precision, xla)
            values = line[f"strong_scaling_{arm_label('precision', precision)}"]
            ax.plot(line["workers"], values, zorder=style.order, **look(style))
        heading(ax, f"{architecture}, batch {int(batch):,}", [])
        ax.set(xlabel=plan.worker_label, ylabel="speed-up")
        _ticks(ax, ordered("workers", text["workers"], plan))
    handles = [*_handles(plan, text), Line2D([], [], color=NEUTRAL, linewidth=0.8, linestyle=":", label="ideal")]
    title = f"{plan.title}: training speed-up by {plan.worker_label}, at the same global batch"
    finish(figure, list(axes.values()), [title], handles, 3, 2.5)
    return figure


def _as_text(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.astype(dict.fromkeys(_AXES, str))


def _points(plan: Plan, rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Precisions and XLA settings that the rows hold, in the order of legends."""
    present = set(zip(rows["precision"], rows["xla"], strict=True))
    every = [
        (precision, xla)
        for precision in ordered("precision", rows["precision"], plan)
        for xla in reversed(ordered("xla", rows["xla"], plan))
    ]
    return [point for point in every if point in present]


def _ticks(ax: Axes, values: Sequence[str]) -> None:
    """A tick at each measured number, on an axis of doublings."""
    ax.set_xscale("log", base=2)
    numbers = [int(value) for value in values]
    ax.set_xticks(numbers, [f"{number:,}" for number in numbers])
    ax.minorticks_off()
    ax.set_xlim(numbers[0] / 1.3, numbers[-1] * 1.3)


def _handles(plan: Plan, rows: pd.DataFrame) -> list[Line2D]:
    points = _points(plan, rows)
    return [
        Line2D([], [], **look(curve_style(names.split("/")[0], xla)), label=f"{names}, {axis_words('xla', xla, '')}")
        for names in joined(dict.fromkeys(precision for precision, _ in points)).values()
        for xla in dict.fromkeys(xla for _, xla in points)
    ]

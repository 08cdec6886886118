"""Speed of a study's configurations: throughput of training and inference, latency, and time to train."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from seedstudy.errors import UserError
from seedstudy.imports.benchmarks import read_benchmarks
from seedstudy.imports.curves import read_curves
from seedstudy.imports.study import read_study
from seedstudy.statistics.failures import OK
from seedstudy.statistics.values import FloatArray
from seedstudy.study import Plan
from seedstudy.tables.frames import NAN, arm_label
from seedstudy.tables.study import save_tables
from seedstudy.tables.text import digits_for, fixed, markdown

LEVELS = ("full", "amp")
POINT = ("architecture", "workers", "xla")
LATENCIES = ("mean", "p50", "p90", "p95", "p99")
_SPEED = {
    "samples_per_second": "samples_per_s",
    "samples_per_second_low": "samples_per_s_low",
    "samples_per_second_high": "samples_per_s_high",
    "share_of_limit": "share_of_limit",
}


def throughput_table(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a point of architecture, workers, XLA and batch.

    Parameters
    ----------
    rows : pandas.DataFrame
        Of one kind, from `seedstudy.imports.benchmarks.read_benchmarks`.

    Returns
    -------
    pandas.DataFrame
        The point; of both precisions samples a second (median, smallest, largest) and share of the limit; ratio of
        the medians of AMP and full precision; strong scaling: ratio to the median of the fewest workers that the table
        has at the same global batch. Unrounded, NaN where an arm was not measured.
    """
    table = _by_level(rows.rename(columns=_SPEED), [*POINT, "batch"], list(_SPEED.values()))
    table["amp_speedup"] = table["samples_per_s_amp"] / table["samples_per_s_full"]
    beside = ["architecture", "xla", "batch"]
    fewest = table["workers"] == table.groupby(beside)["workers"].transform("min")
    for level in LEVELS:
        column = f"samples_per_s_{level}"
        base = table[column].where(fewest).groupby([table[name] for name in beside]).transform("max")
        table[f"strong_scaling_{level}"] = table[column] / base
    return table


def latency_table(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a configuration and batch: mean and percentiles of the time of a call, in milliseconds, unrounded."""
    keys = [*POINT, "precision", "batch"]
    table = _in_order(rows[keys + [f"latency_{name}" for name in LATENCIES]], keys)
    for name in LATENCIES:
        table[f"latency_{name}_ms"] = 1e3 * table.pop(f"latency_{name}").astype(float)
    return table


def time_table(runs: pd.DataFrame, metric: str, target: float | None = None) -> pd.DataFrame:
    """One row a point of architecture, workers and XLA, from a table of runs.

    Parameters
    ----------
    runs : pandas.DataFrame
        From `seedstudy.imports.study.read_study`; runs that did not finish are left out.
    metric : str
        Column of the metric.
    target : float, optional
        Value of the metric to which time is counted too.

    Returns
    -------
    pandas.DataFrame
        The point; of both precisions the number of runs, mean of the metric, seconds of training to the last epoch
        (median, smallest, largest), to the best (the first, of equal ones) and to the first that reaches the target
        (medians; infinite where half of the runs never do), and seconds of evaluation (median); ratio of the median
        seconds of full precision and AMP. Unrounded.

    Notes
    -----
    A run's training time is taken to be spread evenly over its epochs.

    Raises
    ------
    UserError
        A time is no number.
    """
    finished = runs[runs["status"] == OK]
    finished = finished.assign(**{name: _seconds(finished, name) for name in ("train_seconds", "evaluation_seconds")})
    finished["workers"] = finished["workers"].astype(int)
    finished[["to_best", "to_target"]] = _seconds_to(finished, metric, target)
    found = finished.groupby([*POINT, "precision"], sort=False).agg(
        runs=(metric, "count"),
        metric=(metric, "mean"),
        train_seconds=("train_seconds", "median"),
        train_seconds_low=("train_seconds", "min"),
        train_seconds_high=("train_seconds", "max"),
        best_seconds=("to_best", "median"),
        target_seconds=("to_target", "median"),
        evaluation_seconds=("evaluation_seconds", "median"),
    )
    values = list(found.columns)
    table = _by_level(found.reset_index(), list(POINT), values)
    table["amp_speedup"] = table["train_seconds_full"] / table["train_seconds_amp"]
    counts = [f"runs_{level}" for level in LEVELS]
    table[counts] = table[counts].astype("Int64")
    return table.rename(columns={f"metric_{level}": f"{metric}_{level}" for level in LEVELS})


def write_benchmark_tables(benchmarks_path: Path, runs_path: Path, plan_path: Path, output: Path) -> list[Path]:
    """Write throughput of training and evaluation, latency and time to train, each as CSV and Markdown.

    Parameters
    ----------
    benchmarks_path, runs_path, plan_path : Path
        Table of benchmarks, table of runs, and plan.
    output : Path
        Folder, made when missing.

    Returns
    -------
    list of Path
        ``benchmark_training``, ``benchmark_evaluation``, ``benchmark_latency`` and ``time_to_train``, ``.csv`` and
        ``.md``.

    Raises
    ------
    UserError
        Bad benchmarks, runs or plan, or a folder that cannot be written.
    """
    plan, runs = read_study(runs_path, plan_path)
    rows = read_benchmarks(benchmarks_path)
    training, inference = (rows[rows["kind"] == kind] for kind in ("training", "inference"))
    trained, evaluated = throughput_table(training), throughput_table(inference)
    # Inference exchanges nothing between workers.
    evaluated = evaluated.drop(columns=[f"strong_scaling_{level}" for level in LEVELS])
    latency, times = latency_table(inference), time_table(runs, plan.metric, plan.target)
    texts = {
        "benchmark_training": (trained, _page(plan, training, "training", _throughput_cells(trained))),
        "benchmark_evaluation": (evaluated, _page(plan, inference, "inference", _throughput_cells(evaluated))),
        "benchmark_latency": (latency, _page(plan, inference, "latency of a call", _latency_cells(latency))),
        "time_to_train": (times, _time_page(plan, runs, times)),
    }
    return save_tables(texts, plan, output)


def _by_level(frame: pd.DataFrame, keys: list[str], values: list[str]) -> pd.DataFrame:
    """One row for each value of the keys, and a column ``<value>_<level>`` for each level, measured or not."""
    frame = frame.assign(level=[arm_label("precision", precision) for precision in frame["precision"]])
    wide = frame.pivot(index=keys, columns="level", values=values)
    wide = wide.reindex(columns=pd.MultiIndex.from_product([values, LEVELS])).astype(float)
    wide.columns = pd.Index([f"{value}_{level}" for value in values for level in LEVELS])
    return _in_order(wide.reset_index(), keys, list(dict.fromkeys(frame["architecture"])))


def _in_order(table: pd.DataFrame, keys: list[str], architectures: Sequence[str] = ()) -> pd.DataFrame:
    """Architectures as measured, workers, XLA on before off, full precision before AMP, batches."""
    order = {name: place for place, name in enumerate(architectures or dict.fromkeys(table["architecture"]))}

    def rank(column: pd.Series[Any]) -> pd.Series[Any]:
        if column.name == "architecture":
            return column.map(order)
        return column.isin({"false", "amp"}) if column.name in ("xla", "precision") else column

    return table.sort_values(keys, key=rank, ignore_index=True)


def _seconds(runs: pd.DataFrame, column: str) -> pd.Series[float]:
    """Times of a table of runs, NaN where it has none."""
    if column not in runs:
        return pd.Series(NAN, index=runs.index)
    numbers = pd.to_numeric(runs[column].replace("", None), errors="coerce").astype(float)
    bad = (numbers.isna() & (runs[column] != "")) | (numbers < 0) | np.isinf(numbers)
    if bad.any():
        where = f"{runs.attrs.get('source', 'table of runs')}, {runs['configuration'][bad].iloc[0]}"
        seed, value = runs["seed"][bad].iloc[0], runs[column][bad].iloc[0]
        raise UserError(
            f"{where}, seed {seed}, column {column}", f"{value!r} is no number of seconds; mend or empty it"
        )
    return numbers


def _seconds_to(runs: pd.DataFrame, metric: str, target: float | None) -> FloatArray:
    """Seconds of training to the best epoch and to the first at the target, shape (runs, 2); NaN without a curve."""
    found = np.full((len(runs), 2), np.nan)
    for place, (curve, seconds) in enumerate(zip(read_curves(runs, metric), runs["train_seconds"], strict=True)):
        if not np.isfinite(curve.values).any():
            continue
        an_epoch = seconds / len(curve.values)
        found[place, 0] = an_epoch * (1 + np.nanargmax(curve.values))
        if target is not None:
            reached = np.flatnonzero(curve.values >= target)
            found[place, 1] = an_epoch * (1 + reached[0]) if reached.size else np.inf
    return found


def _page(plan: Plan, rows: pd.DataFrame, what: str, cells: list[dict[str, str]]) -> str:
    head = f"{plan.title}: {what}, by global batch."
    if rows.empty:
        return f"{head} Not measured.\n"
    repeats, steps = (_joined(rows[name].astype(str)) for name in ("repeats", "steps"))
    unit = "steps" if what == "training" else "calls"
    method = (
        f"Samples a second: median of {repeats} repeats of {steps} {unit} (lowest to highest); ratios are of medians."
    )
    if "latency" in what:
        method = f"Milliseconds, over {repeats} repeats of {steps} calls."
    return f"{head} {method} {_provenance(rows)}\n\n{_markdown(cells, plan)}"


def _time_page(plan: Plan, runs: pd.DataFrame, times: pd.DataFrame) -> str:
    target = "" if plan.target is None else f", and to {plan.metric} {plan.target:g}"
    head = (
        f"{plan.title}: seconds of training and of evaluation at a global batch of {plan.training.global_batch}, "
        f"median over the seeds (lowest to highest), beside the mean of {plan.metric} after the last epoch. Training "
        f"is timed to the last epoch, to the best{target}, its time taken as spread evenly over the epochs. Ratios are "
        f"of medians. Timed in the study itself: other configurations may have run beside, and a job's first seed "
        f"includes compilation."
    )
    return f"{head} {_provenance(runs)}\n\n{_markdown(_time_cells(times, plan), plan)}"


def _provenance(rows: pd.DataFrame) -> str:
    """Commit, machine and date of measured rows, as far as the table names them."""
    named = [name for name in ("commit", "machine", "date") if name in rows]
    return "Measured: " + "; ".join(f"{name} {_joined(rows[name])}" for name in named) + "." if named else ""


def _joined(values: pd.Series[str]) -> str:
    return " and ".join(dict.fromkeys(value for value in values if value)) or "-"


def _throughput_cells(table: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {
            **{name: str(row[name]) for name in (*POINT, "batch")},
            **{f"samples/s {level}": _range(row, "samples_per_s", level, 0) for level in LEVELS},
            "AMP speed-up": fixed(row["amp_speedup"], 2),
            **{
                f"strong scaling {level}": fixed(row[f"strong_scaling_{level}"], 2)
                for level in LEVELS
                if f"strong_scaling_{level}" in row
            },
            **{f"share of limit {level}": _percent(row[f"share_of_limit_{level}"]) for level in LEVELS},
        }
        for row in table.to_dict("records")
    ]


def _latency_cells(table: pd.DataFrame) -> list[dict[str, str]]:
    heads = {"mean": "avg"}
    return [
        {name: str(row[name]) for name in (*POINT, "precision", "batch")}
        | {f"{heads.get(name, name)} ms": fixed(row[f"latency_{name}_ms"], 3) for name in LATENCIES}
        for row in table.to_dict("records")
    ]


def _time_cells(table: pd.DataFrame, plan: Plan) -> list[dict[str, str]]:
    digits = digits_for(plan.margin.value)
    return [
        {
            **{name: str(row[name]) for name in POINT},
            **{
                f"runs {level}": "-" if pd.isna(row[f"runs_{level}"]) else str(row[f"runs_{level}"]) for level in LEVELS
            },
            **{f"{plan.metric} {level}": fixed(row[f"{plan.metric}_{level}"], digits) for level in LEVELS},
            **{f"training s {level}": _range(row, "train_seconds", level, 2) for level in LEVELS},
            **{f"to best {level}": fixed(row[f"best_seconds_{level}"], 2) for level in LEVELS},
            **(
                {} if plan.target is None else {f"to {plan.target:g} {level}": _reached(row, level) for level in LEVELS}
            ),
            "AMP speed-up": fixed(row["amp_speedup"], 2),
            **{f"evaluation s {level}": fixed(row[f"evaluation_seconds_{level}"], 2) for level in LEVELS},
        }
        for row in table.to_dict("records")
    ]


def _range(row: Mapping[Any, Any], name: str, level: str, digits: int) -> str:
    middle, low, high = (row[f"{name}{part}_{level}"] for part in ("", "_low", "_high"))
    return "-" if math.isnan(middle) else f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def _reached(row: Mapping[Any, Any], level: str) -> str:
    seconds = row[f"target_seconds_{level}"]
    return "not reached" if math.isinf(seconds) else fixed(seconds, 2)


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f} %"


def _markdown(cells: list[dict[str, str]], plan: Plan) -> str:
    if not cells:
        return "No run finished.\n"
    heading = [plan.worker_label if name == "workers" else name for name in cells[0]]
    return markdown(heading, [list(row.values()) for row in cells])

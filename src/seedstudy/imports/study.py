"""A study's own table of runs, beside the plan that says how it is read."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from seedstudy.errors import UserError
from seedstudy.imports.rawtable import RawTable, read_raw
from seedstudy.imports.tidy import Layout, checked_runs
from seedstudy.study import Plan, load_plan

_FORMS = {
    "seed": ("[0-9]{1,19}", "a seed, a whole number from 0"),
    "precision": ("fp32|tf32|amp", "one of fp32, tf32 and amp"),
    "xla": ("true|false", "true or false"),
    "workers": ("[1-9][0-9]{0,8}", "a whole number from 1"),
}
"""What `seedstudy collect` writes in these columns."""

AXES = ("architecture", "workers", "precision", "xla")


def read_study(runs_path: Path, plan_path: Path) -> tuple[Plan, pd.DataFrame]:
    """Read a plan and the runs that were made under it.

    Says in one line on standard error when the runs are those of another plan, or not all of them.

    Parameters
    ----------
    runs_path : Path
        Table that `seedstudy collect` wrote.
    plan_path : Path
        The plan: names the metric.

    Returns
    -------
    plan : Plan
    runs : pandas.DataFrame
        One row a run, as `seedstudy.imports.tidy.read_table` gives it: ``seed``, ``configuration`` and `AXES` as text,
        ``status``, the metric (float64, NaN unless ok), all else as it stands in the file.

    Raises
    ------
    UserError
        Names file, line and column of the first fault of the table, or file and key of that of the plan.
    """
    plan = load_plan(plan_path)
    raw = _as_text(read_raw(runs_path), plan.metric)
    runs = checked_runs(raw, Layout(plan.metric, ("configuration", *AXES)))
    if "plan_digest" not in runs:
        raise UserError(runs_path, "has no column 'plan_digest'; it is no table of `seedstudy collect`")
    for column, (form, needed) in _FORMS.items():
        bad = ~runs[column].str.fullmatch(form).to_numpy(bool)
        if bad.any():
            row = int(np.argmax(bad))
            problem = f"{runs[column].iloc[row]!r} is not {needed}; mend it, or collect the runs again"
            raise UserError(f"{runs_path}, {raw.place(row)}, column {column}", problem)
    _warn_of_another_plan(runs, plan, runs_path)
    return plan, runs


def _as_text(raw: RawTable, metric: str) -> RawTable:
    """All columns but the metric as the text that CSV would hold, whatever types a Parquet file gives them."""
    columns = dict(raw.columns)
    for name, column in raw.columns.items():
        if name != metric and not pa.types.is_string(column.type):
            try:
                columns[name] = pa.compute.fill_null(column.cast(pa.string()), "")
            except pa.ArrowException as error:
                problem = f"holds {column.type}, not one value a run; write it as text"
                raise UserError(f"{raw.source}, column {name}", problem) from error
    return replace(raw, columns=columns)


def _warn_of_another_plan(runs: pd.DataFrame, plan: Plan, path: Path) -> None:
    wanted = {(configuration.id, str(seed)) for configuration in plan.configurations for seed in plan.seeds}
    missing = len(wanted - set(zip(runs["configuration"], runs["seed"], strict=True)))
    parts = []
    if set(runs["plan_digest"]) != {plan.plan_digest}:
        parts.append(f"made under another plan than {plan.path} is now (digest {plan.plan_digest})")
    if missing:
        parts.append(f"{missing} of the {len(wanted)} planned runs are missing")
    if parts:
        print(f"{path}: {'; '.join(parts)}", file=sys.stderr)

"""A study's own table of runs, beside the plan that says how it is read."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from seedstudy.errors import UserError
from seedstudy.imports.tidy import Layout, read_table
from seedstudy.study import Plan, load_plan

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
    runs = read_table(runs_path, Layout(plan.metric, ("configuration", *AXES)))
    if "plan_digest" not in runs:
        raise UserError(runs_path, "has no column 'plan_digest'; it is no table of `seedstudy collect`")
    _warn_of_another_plan(runs, plan, runs_path)
    return plan, runs


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

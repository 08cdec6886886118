"""One summary a configuration: what each trained to, how far its seeds spread, and which runs failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from seedstudy.errors import UserError
from seedstudy.statistics.cells import axis_text
from seedstudy.statistics.failures import OK, FailureCount, count_failures
from seedstudy.statistics.summary import Summary, summarise


@dataclass(frozen=True)
class ConfigurationSummary:
    """Results and failures of one configuration; ``summary`` is None when no run has a result."""

    where: dict[str, str]
    failures: FailureCount
    summary: Summary | None


def summarise_configurations(runs: pd.DataFrame, axes: Sequence[str], metric: str) -> list[ConfigurationSummary]:
    """Summarise each combination of the axes.

    Parameters
    ----------
    runs : pandas.DataFrame
        One row a run: ``seed``, ``status``, the axes and the metric, as
        `seedstudy.statistics.cells.split_cells` takes it.
    axes : sequence of str
        Columns whose combinations are the configurations; none for all runs together.
    metric : str
        Column of the metric.

    Returns
    -------
    list of ConfigurationSummary
        In order of first appearance.

    Raises
    ------
    UserError
        A column is missing, or a seed stands twice in a configuration.
    """
    source = runs.attrs.get("source", "table of runs")
    for column in (*axes, "seed", "status", metric):
        if column not in runs.columns:
            raise UserError(source, f"has no column {column!r}; it has {', '.join(map(str, runs.columns))}")
    frame = pd.DataFrame({axis: axis_text(runs[axis]) for axis in axes}, index=runs.index)
    seeds = axis_text(runs["seed"])
    twice = frame.assign(**{"seed ": seeds}).duplicated().to_numpy()
    if twice.any():
        row = int(np.argmax(twice))
        where = ", ".join(f"{axis} {frame[axis].iloc[row]}" for axis in axes) or "the table"
        raise UserError(
            source,
            f"seed {seeds.iloc[row]} stands twice in {where}; remove the repeated run or name the column that tells "
            f"them apart among the axes",
        )
    keys = frame.groupby(list(axes), sort=False).ngroup().to_numpy() if axes else np.zeros(len(runs), dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    values, statuses = runs[metric].to_numpy(np.float64), runs["status"].astype(str).to_numpy()
    result = []
    for rows in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        found = values[rows][statuses[rows] == OK]
        where_axes = {axis: str(frame[axis].iloc[rows[0]]) for axis in axes}
        failures = count_failures(statuses[rows].tolist())
        result.append(ConfigurationSummary(where_axes, failures, summarise(found) if found.size else None))
    return result

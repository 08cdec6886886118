"""One summary a configuration: what each trained to, how far its seeds spread, and which runs failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from seedstudy.statistics.cells import split_runs
from seedstudy.statistics.failures import FailureCount
from seedstudy.statistics.summary import Summary


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
        One row a run, as `seedstudy.statistics.cells.split_runs` takes it.
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
        As in `seedstudy.statistics.cells.split_runs`.
    """
    return [ConfigurationSummary(where, arm.failures, arm.summary) for where, arm in split_runs(runs, axes, metric)]

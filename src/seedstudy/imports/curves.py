"""Learning curves of a table of runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from seedstudy.errors import UserError
from seedstudy.runs import CURVE_SUFFIX
from seedstudy.statistics.values import FloatArray


@dataclass(frozen=True)
class Curve:
    """One run's metric (``values``, NaN where there was none) after each epoch, which ends at ``steps``."""

    status: str
    steps: FloatArray
    values: FloatArray


def read_curves(runs: pd.DataFrame, metric: str) -> list[Curve]:
    """Learning curves of a table of runs.

    Parameters
    ----------
    runs : pandas.DataFrame
        One row a run, with ``<metric>_curve`` (values after each epoch, separated by blanks) and ``steps_per_epoch``.
    metric : str
        Name of the metric.

    Returns
    -------
    list of Curve
        In the order of the rows; empty where a run has no curve, or the table has no such column.

    Raises
    ------
    UserError
        A curve holds something else than numbers, or its steps are not known.
    """
    column = metric + CURVE_SUFFIX
    texts = runs[column] if column in runs else pd.Series("", index=runs.index)
    lengths = runs["steps_per_epoch"] if "steps_per_epoch" in runs else pd.Series("", index=runs.index)
    curves = []
    for configuration, seed, status, text, length in zip(
        runs["configuration"], runs["seed"], runs["status"], texts, lengths, strict=True
    ):
        where = f"{runs.attrs.get('source', 'table of runs')}, {configuration}, seed {seed}"
        try:
            values = np.array(text.split(), dtype=np.float64)
        except ValueError as error:
            problem = "holds something else than numbers and blanks; mend or empty it"
            raise UserError(f"{where}, column {column}", problem) from error
        if values.size and not re.fullmatch("[1-9][0-9]{0,17}", length):
            problem = f"{length!r} is no number of steps for its curve; mend it, or empty both"
            raise UserError(f"{where}, column steps_per_epoch", problem)
        steps = np.arange(1, values.size + 1, dtype=np.float64) * (int(length) if values.size else 1)
        curves.append(Curve(status, steps, values))
    return curves

"""The factorial model fitted to a table of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from seedstudy.errors import UserError
from seedstudy.statistics.cells import Arm, axis_text, split_runs
from seedstudy.statistics.factorial import FactorCell, FactorialModel, fit_factorial, fit_factorial_by_seed


@dataclass(frozen=True)
class FactorFit:
    """The model, and what must be said beside it: failed runs, unpaired seeds."""

    model: FactorialModel
    notes: tuple[str, ...]


def fit_runs(
    runs: pd.DataFrame,
    axes: Mapping[str, Sequence[str]],
    metric: str,
    margin: float,
    alpha: float = 0.05,
    order: int = 2,
    paired: bool = False,
) -> FactorFit:
    """Fit the factorial model over all axes to a table of runs.

    Parameters
    ----------
    runs : pandas.DataFrame
        One row a run, as `seedstudy.statistics.cells.split_cells` takes it.
    axes : mapping
        Axis to its levels, the reference first; a level may join values by ``|``. Runs at other values are not part of
        the model, and counted in a note.
    metric : str
        Column of the metric.
    margin : float
        Margin of each effect, in units of the metric.
    alpha : float
        Level.
    order : int
        Most axes in one interaction.
    paired : bool
        Whether a seed fixes the same random streams in every configuration: effects are then worked out by seed, over
        the seeds with a result in every configuration.

    Returns
    -------
    FactorFit

    Raises
    ------
    UserError
        A column or a combination is missing, a seed stands twice in a configuration, or there are too few runs.

    Notes
    -----
    Nulls, alternatives and assumptions as in `seedstudy.statistics.factorial.fit_factorial` and
    `seedstudy.statistics.factorial.fit_factorial_by_seed`.
    """
    source = runs.attrs.get("source", "table of runs")
    for axis in axes:
        if axis not in runs.columns:
            raise UserError(source, f"has no column {axis!r}; it has {', '.join(map(str, runs.columns))}")
        members = [value for level in axes[axis] for value in level.split("|")]
        if len(set(members)) < len(members):
            named = ", ".join(axes[axis])
            raise UserError(f"{source}, column {axis}", f"the levels {named} share runs; name them apart")
    joined = runs.copy()
    inside = np.ones(len(runs), dtype=bool)
    for axis, levels in axes.items():
        names = {value: level for level in levels for value in level.split("|")}
        joined[axis] = axis_text(runs[axis]).map(names)
        inside &= joined[axis].notna().to_numpy()
    arms = {tuple(where.values()): arm for where, arm in split_runs(joined[inside], tuple(axes), metric)}
    notes = (
        [f"{np.count_nonzero(~inside)} run(s) at other levels are not part of the model."] if not inside.all() else []
    )
    lost = [f"{', '.join(levels)} {arm.failures}" for levels, arm in sorted(arms.items()) if arm.failures.count]
    if lost:
        notes.append(f"Failures: {'; '.join(lost)}; the effects speak of the runs that finished only.")
    coarse = [", ".join(levels) for levels, arm in sorted(arms.items()) if arm.summary and arm.summary.coarse]
    if coarse:
        notes.append(f"Coarse: values of {'; '.join(coarse)} have a resolution over SD/10; the intervals allow for it.")
    finished = {levels: arm for levels, arm in arms.items() if arm.n}
    if paired:
        common = [seed for seed in _first_seeds(finished) if all(seed in set(arm.seeds) for arm in finished.values())]
        if len(common) >= 2:
            values = {levels: arm.only(set(common)).values for levels, arm in finished.items()}
            notes.append(f"Paired by seed over the {len(common)} seed(s) with a result in every configuration.")
            return FactorFit(fit_factorial_by_seed(values, axes, metric, margin, alpha, order, source), tuple(notes))
        notes.append("Not paired: fewer than 2 seeds have a result in every configuration.")
    cells = [
        FactorCell(levels, arm.n, arm.summary.mean, arm.summary.sd, arm.summary.resolution)
        for levels, arm in finished.items()
        if arm.summary is not None
    ]
    return FactorFit(fit_factorial(cells, axes, metric, margin, alpha, order, source), tuple(notes))


def _first_seeds(arms: Mapping[tuple[str, ...], Arm]) -> tuple[str, ...]:
    return next(iter(arms.values())).seeds if arms else ()

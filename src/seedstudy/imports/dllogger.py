"""DLLogger files: lines of ``DLLL`` and a JSON object."""

from __future__ import annotations

from pathlib import Path

from seedstudy.documents import lines_of
from seedstudy.errors import UserError
from seedstudy.imports.rawtable import decoded, json_object
from seedstudy.imports.runlog import RunLog, number

PREFIX = "DLLL "


def read_dllogger(path: Path) -> RunLog:
    """Read one DLLogger file of one run.

    Parameters
    ----------
    path : Path
        The file; other lines between the records, as a terminal's output has, are no records.

    Returns
    -------
    RunLog
        A curve a quantity, one value a step. The record of the empty step is the run's summary: it repeats the last
        evaluation and so enters no curve, only the final values that no step has. ``fields`` are the parameters.

    Raises
    ------
    UserError
        No record, a damaged one, a value that is no number, or steps that start again (two runs in one file).
    """
    curves: dict[str, list[float]] = {}
    last_step: dict[str, tuple[float, ...]] = {}
    summary: dict[str, float] = {}
    fields: dict[str, str] = {}
    records = 0
    for line_number, line in enumerate(lines_of(decoded(path)), start=1):
        if not line.startswith(PREFIX):
            continue
        where = f"{path}, line {line_number}"
        records += 1
        record = json_object(line[len(PREFIX) :], where)
        kind, step, data = record.get("type"), record.get("step"), record.get("data")
        if kind == "METADATA":
            continue
        if kind != "LOG" or not isinstance(data, dict):
            raise UserError(where, "is neither a LOG record with data nor METADATA")
        if step == "PARAMETER":
            fields |= {name: str(value) for name, value in data.items()}
            continue
        # A summary may hold null, such as the first epoch that reached a target when none did.
        values = {name: number(value, where, name) for name, value in data.items() if value is not None}
        if step == []:
            summary |= values
            continue
        at = _step(step, where)
        for name, value in values.items():
            if at <= last_step.get(name, (float("-inf"),)):
                raise UserError(where, f"repeats or precedes an earlier step of {name}; the file holds two runs")
            last_step[name] = at
            curves.setdefault(name, []).append(value)
    if not records:
        raise UserError(path, "holds no DLLogger record (a line that starts with DLLL)")
    final = summary | {name: values[-1] for name, values in curves.items()}
    return RunLog(path, {name: tuple(values) for name, values in curves.items()}, final, fields)


def _step(step: object, where: str) -> tuple[float, ...]:
    """A step as the numbers to order it by: ``[epoch]`` or ``[step, steps]`` or a bare number."""
    parts = step if isinstance(step, list) else [step]
    return tuple(number(part, where, "step") for part in parts)

"""MLPerf logs: lines that hold ``:::MLLOG`` and a JSON object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seedstudy.documents import lines_of
from seedstudy.errors import UserError
from seedstudy.imports.rawtable import decoded, json_object
from seedstudy.imports.runlog import RunLog, number
from seedstudy.statistics.failures import FAILED, OK

MARK = ":::MLLOG"
ENDINGS = {"success": OK, "aborted": FAILED}


def read_mllog(path: Path) -> RunLog:
    """Read one MLPerf training log of one run.

    Parameters
    ----------
    path : Path
        The file; text before the mark, such as a rank's number, and lines without it are no records.

    Returns
    -------
    RunLog
        A curve a numeric key (``eval_accuracy`` and others); the last value is final. The status is that of
        ``run_stop``; ``fields`` hold ``seed`` and, from start and stop, ``train_seconds``.

    Raises
    ------
    UserError
        No record, a damaged one, an unknown ending, or two runs in one file.
    """
    curves: dict[str, list[float]] = {}
    fields: dict[str, str] = {}
    status, started, records = None, None, 0
    for line_number, line in enumerate(lines_of(decoded(path)), start=1):
        at = line.find(MARK)
        if at < 0:
            continue
        where = f"{path}, line {line_number}"
        records += 1
        record = json_object(line[at + len(MARK) :], where)
        key, value = record.get("key"), record.get("value")
        if not isinstance(key, str):
            raise UserError(where, "has no key")
        if key == "run_start":
            if started is not None:
                raise UserError(where, "starts a second run; give one file a run")
            started = number(record.get("time_ms"), where, "time_ms")
        elif key == "run_stop":
            status = _ending(record, where)
            if started is not None:
                fields["train_seconds"] = repr((number(record.get("time_ms"), where, "time_ms") - started) / 1000.0)
        elif key == "seed":
            if fields.get("seed", str(value)) != str(value):
                raise UserError(where, f"gives seed {value} after seed {fields['seed']}; give one file a run")
            fields["seed"] = str(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            curves.setdefault(key, []).append(number(value, where, key))
    if not records:
        raise UserError(path, f"holds no MLPerf record (a line with {MARK})")
    return RunLog(
        path,
        {key: tuple(values) for key, values in curves.items()},
        {key: values[-1] for key, values in curves.items()},
        fields,
        status,
    )


def _ending(record: dict[str, Any], where: str) -> str:
    metadata = record.get("metadata")
    ending = metadata.get("status") if isinstance(metadata, dict) else None
    if ending not in ENDINGS:
        raise UserError(f"{where}, field metadata.status", f"{ending!r} is none of {', '.join(ENDINGS)}")
    return ENDINGS[ending]

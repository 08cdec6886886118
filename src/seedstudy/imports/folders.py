"""One log or folder a run: axes and seed from the path or from an arguments file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

import pandas as pd

from seedstudy.documents import read_yaml
from seedstudy.errors import UserError
from seedstudy.imports.dllogger import read_dllogger
from seedstudy.imports.events import read_events
from seedstudy.imports.mllog import read_mllog
from seedstudy.imports.rawtable import RawTable, text_column
from seedstudy.imports.runlog import RunLog
from seedstudy.imports.tidy import Layout, checked_runs


class LogFormat(StrEnum):
    """Kinds of training logs."""

    DLLOGGER = "dllogger"
    MLLOG = "mllog"
    TENSORBOARD = "tensorboard"


READERS: dict[LogFormat, Callable[[Path], RunLog]] = {
    LogFormat.DLLOGGER: read_dllogger,
    LogFormat.MLLOG: read_mllog,
    LogFormat.TENSORBOARD: read_events,
}


def import_logs(
    root: Path, pattern: str, kind: LogFormat, layout: Layout, arguments: str | None = None
) -> pd.DataFrame:
    """Gather the runs of a folder.

    Parameters
    ----------
    root : Path
        Folder that holds the logs.
    pattern : str
        Path of a log below ``root`` with fields in braces, as ``{precision}/gpus{gpus}/seed{seed}/log.json``. A field
        matches within one part of the path; ``*`` matches any text there.
    kind : LogFormat
        Format of the logs; a TensorBoard log may be a folder.
    layout : Layout
        Metric, axes, seed and status, as for a tidy table. The columns are the fields of the path, then the keys of the
        arguments file, then the fields of the log.
    arguments : str, optional
        JSON or YAML file of a run's arguments, relative to the folder of its log (to the log, where that is a folder).

    Returns
    -------
    pandas.DataFrame
        As `seedstudy.imports.tidy.read_table` returns it, with the columns ``log`` and ``<metric>_curve`` besides.

    Raises
    ------
    UserError
        No log matches or none holds the metric, a log or arguments file is damaged, two sources contradict each other,
        or the table of runs is bad; names the log.
    """
    expression = _compiled(pattern, root)
    candidates = sorted(path for path in root.rglob("*") if expression.fullmatch(path.relative_to(root).as_posix()))
    paths = [path for path in candidates if path.is_file() or (kind is LogFormat.TENSORBOARD and path.is_dir())]
    if not paths:
        raise UserError(root, f"holds no log that matches {pattern!r}")
    logs = [READERS[kind](path) for path in paths]
    held = dict.fromkeys(name for log in logs for name in log.final)
    if held and layout.metric not in held:
        raise UserError(root, f"no log holds the metric {layout.metric!r}; they hold {', '.join(held)}")
    rows = [_row(log, root, expression, layout, arguments) for log in logs]
    if layout.status is None and any(log.status for log in logs):
        _end_all(logs, rows, layout)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: text_column(root, name, [row.get(name, "") for row in rows]) for name in names}
    raw = RawTable(root, columns, len(rows), lambda row: str(paths[row].relative_to(root)))
    return checked_runs(raw, layout)


def _compiled(pattern: str, root: Path) -> re.Pattern[str]:
    """Pattern of a path as a regular expression with one group a field."""
    parts = re.split(r"(\{[^{}]*\}|\*)", pattern)
    if "{" in "".join(parts[::2]):
        raise UserError(root, f"pattern {pattern!r} has an open brace")
    fields = [part[1:-1] for part in parts if part.startswith("{")]
    for name in fields:
        if not name.isidentifier() or fields.count(name) > 1:
            raise UserError(root, f"pattern {pattern!r}: {{{name}}} is no field name, or stands twice")
    return re.compile(
        "".join(
            f"(?P<{part[1:-1]}>[^/]+?)" if part.startswith("{") else "[^/]*" if part == "*" else re.escape(part)
            for part in parts
        )
    )


def _row(log: RunLog, root: Path, expression: re.Pattern[str], layout: Layout, arguments: str | None) -> dict[str, str]:
    path = log.source
    match = expression.fullmatch(path.relative_to(root).as_posix())
    assert match is not None
    sources: list[tuple[str, dict[str, str]]] = [("its path", match.groupdict())]
    if arguments is not None:
        sources.append((arguments, _arguments((path if path.is_dir() else path.parent) / arguments)))
    sources.append(("the log", dict(log.fields)))
    row: dict[str, str] = {}
    for name, found in sources:
        _merge(row, found, path, name, (layout.seed, *layout.axes))
    final = log.final.get(layout.metric)
    row[layout.metric] = "" if final is None else repr(final)
    row[f"{layout.metric}_curve"] = " ".join(repr(value) for value in log.curves.get(layout.metric, ()))
    if log.status is not None and layout.status is None:
        row.setdefault("status", log.status)
    row["log"] = str(path)
    return row


def _end_all(logs: Sequence[RunLog], rows: Sequence[dict[str, str]], layout: Layout) -> None:
    """A run whose log stops without an ending, where the others have one, is missing whatever it logged until then."""
    for log, row in zip(logs, rows, strict=True):
        if not row.get("status"):
            if layout.missing == "refuse":
                raise UserError(log.source, "does not say how the run ended; count such runs by --missing failed")
            row["status"] = layout.missing


def _merge(row: dict[str, str], found: dict[str, str], path: Path, name: str, needed: Sequence[str]) -> None:
    """Add what a source states; earlier sources keep their word, but an axis or seed stated otherwise is refused."""
    for key, value in found.items():
        if key in needed and row.get(key, value) != value:
            raise UserError(path, f"{key} is {row[key]!r} by an earlier source but {value!r} by {name}; mend one")
        row.setdefault(key, value)


def _arguments(path: Path) -> dict[str, str]:
    """Top-level values of an arguments file; JSON is YAML."""
    found = read_yaml(path)
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in found.items()
        if isinstance(value, str | int | float | bool)
    }

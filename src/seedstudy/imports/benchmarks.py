"""The table of benchmarks: what a configuration's measurement holds, the merged CSV file, and that file read again.

The rows are the contract between the halves of the house: measuring ends in them, tables and figures start from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from seedstudy.documents import read_text, refused, validate, write_atomically
from seedstudy.errors import UserError
from seedstudy.imports.rawtable import read_raw

_Text = Annotated[str, Field(min_length=1)]
_Count = Annotated[int, Field(ge=1)]
_Measured = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Part = Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class BenchmarkRow(BaseModel):
    """One configuration timed at one batch size.

    Attributes
    ----------
    batch : int
        Global: rows of a step, or of a call, over all workers.
    steps : int
        Timed steps a repeat, or calls.
    samples_per_second, samples_per_second_low, samples_per_second_high : float
        Median, smallest and largest over the repeats.
    step_seconds : float
        Median.
    latency_mean, latency_p50, latency_p90, latency_p95, latency_p99 : float or None
        Seconds of a call; None for training.
    limit_seconds, share_of_limit : float or None
        Shortest step that the machine's own speed allows, the sum of ``products_seconds`` and ``memory_seconds``, and
        how much of the step that is.
    exchange_seconds : float or None
        Of the gradients; None for one worker.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    configuration: _Text
    architecture: _Text
    precision: Literal["fp32", "tf32", "amp"]
    xla: bool
    workers: _Count
    kind: Literal["training", "inference"]
    batch: _Count
    steps: _Count
    repeats: _Count
    samples_per_second: _Measured
    samples_per_second_low: _Measured
    samples_per_second_high: _Measured
    step_seconds: _Measured
    latency_mean: _Part = None
    latency_p50: _Part = None
    latency_p90: _Part = None
    latency_p95: _Part = None
    latency_p99: _Part = None
    products_seconds: _Part = None
    memory_seconds: _Part = None
    limit_seconds: _Part = None
    share_of_limit: _Part = None
    exchange_seconds: _Part = None
    commit: _Text
    machine: _Text
    date: _Text

    @model_validator(mode="after")
    def _median_within_range(self) -> Self:
        if not self.samples_per_second_low <= self.samples_per_second <= self.samples_per_second_high:
            raise ValueError("samples_per_second lies outside its own range from _low to _high; measure again")
        return self


def merge_benchmarks(files: Sequence[Path], output: Path) -> int:
    """Write the rows of measured configurations as one table, unrounded, in the given order.

    Parameters
    ----------
    files : sequence of Path
        JSON files, each a list of rows.
    output : Path
        The CSV file; published whole.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    UserError
        Names file, row and key of what is no row or stands twice; or the output cannot be written.
    """
    placed = [(f"{path}, row {number}", row) for path in files for number, row in enumerate(_read_json(path), start=1)]
    table = _table(placed)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(output, table.to_csv(index=False, lineterminator="\n"))
    except OSError as error:
        raise UserError(output, f"cannot be written: {error.strerror}") from error
    return len(table)


def read_benchmarks(path: Path) -> pd.DataFrame:
    """Read and check a table of benchmarks.

    Parameters
    ----------
    path : Path
        CSV file that `merge_benchmarks` wrote.

    Returns
    -------
    pandas.DataFrame
        Columns of `BenchmarkRow`; ``xla`` as the text ``true`` or ``false``, NaN where a number is empty.

    Raises
    ------
    UserError
        Names file, line and column of the first value that is not what its column needs.
    """
    raw = read_raw(path)
    columns = {name: column.to_pylist() for name, column in raw.columns.items()}
    placed = []
    for number in range(raw.rows):
        fields = {name: values[number] for name, values in columns.items() if values[number] != ""}
        try:
            row = BenchmarkRow.model_validate_strings(fields)
        except ValidationError as error:
            raise refused(error, f"{path}, {raw.place(number)}, column ") from error
        placed.append((f"{path}, {raw.place(number)}", row))
    if not placed:
        raise UserError(path, "holds a header only; make it again by `seedstudy benchmark-collect`")
    return _table(placed)


def _read_json(path: Path) -> list[BenchmarkRow]:
    try:
        content = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}, line {error.lineno}", "is no JSON; measure this configuration again") from error
    if not isinstance(content, list) or not content:
        raise UserError(path, "is no list of measured rows; measure this configuration again")
    return [validate(row, BenchmarkRow, f"{path}, row {number}") for number, row in enumerate(content, start=1)]


def _table(placed: Iterable[tuple[str, BenchmarkRow]]) -> pd.DataFrame:
    first: dict[tuple[object, ...], str] = {}
    rows = []
    for place, row in placed:
        # Tables have one place for full precision and one for AMP.
        key = (row.architecture, row.precision == "amp", row.xla, row.workers, row.kind, row.batch)
        if key in first:
            raise UserError(
                place, f"repeats {row.kind} of {row.configuration} at batch {row.batch}, as {first[key]}; remove one"
            )
        first[key] = place
        rows.append(row.model_dump() | {"xla": str(row.xla).lower()})
    return pd.DataFrame(rows, columns=list(BenchmarkRow.model_fields))

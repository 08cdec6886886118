"""The table of benchmarks: the rows of measured configurations merged into a CSV file, and that file read again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from seedstudy.benchmarks import BenchmarkRow
from seedstudy.documents import read_json, validate, write_atomically
from seedstudy.errors import UserError
from seedstudy.imports.rows import read_rows


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
    write_atomically(output, table.to_csv(index=False, lineterminator="\n"))
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
    return _table(read_rows(path, BenchmarkRow, "make it again by `seedstudy benchmark-collect`"))


def _read_json(path: Path) -> list[BenchmarkRow]:
    content = read_json(path, "measure this configuration again")
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

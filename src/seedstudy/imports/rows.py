"""Rows that seedstudy itself wrote as CSV, each checked against its schema."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from seedstudy.documents import refused
from seedstudy.errors import UserError
from seedstudy.imports.rawtable import read_raw

Row = TypeVar("Row", bound=BaseModel)


def read_rows(path: Path, schema: type[Row], remedy: str) -> list[tuple[str, Row]]:
    """Read and check a table.

    Parameters
    ----------
    path : Path
        CSV file.
    schema : type of pydantic model
        Of a row; an empty field counts as absent.
    remedy : str
        How to make the file again.

    Returns
    -------
    list of (str, Row)
        File and line of each row, and the row.

    Raises
    ------
    UserError
        Names file, line and column of the first value that is not what its column needs, or what is missing.
    """
    raw = read_raw(path)
    for name in schema.model_fields:
        if name not in raw.columns:
            raise UserError(path, f"has no column {name!r}; {remedy}")
    columns = {name: column.to_pylist() for name, column in raw.columns.items()}
    placed = []
    for number in range(raw.rows):
        place = f"{path}, {raw.place(number)}"
        fields = {name: values[number] for name, values in columns.items() if values[number] != ""}
        try:
            placed.append((place, schema.model_validate_strings(fields)))
        except ValidationError as error:
            raise refused(error, f"{place}, column ") from error
    if not placed:
        raise UserError(path, f"holds a header only; {remedy}")
    return placed

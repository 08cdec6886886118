"""Tables as they stand in a file: columns of text (or of the file's own types), and where each row came from."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from seedstudy.documents import RepeatedKey, lines_of, parse_json
from seedstudy.errors import UserError

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class RawTable:
    """Columns of one file. ``place(row)`` says in words where row 0, 1, ... stands in it."""

    source: Path
    columns: dict[str, pa.ChunkedArray]
    rows: int
    place: Callable[[int], str]


def read_raw(path: Path, separator: str | None = None) -> RawTable:
    """Read a CSV, TSV, JSON lines or Parquet file without interpreting its values.

    Parameters
    ----------
    path : Path
        The suffix decides the format: .csv, .tsv, .tab, .jsonl, .ndjson, .parquet, .pq.
    separator : str, optional
        One character between fields, where it is not the one of the suffix.

    Returns
    -------
    RawTable
        Text columns, surrounding blanks removed; those of Parquet keep their types.

    Raises
    ------
    UserError
        The file is missing, empty, damaged, of an unknown kind or encoding, or ragged; names the line.
    """
    suffix = path.suffix.lower()
    try:
        if not path.is_file():
            raise UserError(path, "is no file; give a table of runs")
        if suffix in PARQUET:
            return _read_parquet(path)
        if suffix in JSON_LINES:
            return _read_json_lines(path)
        if suffix in SEPARATORS or separator is not None:
            return _read_separated(path, separator or SEPARATORS[suffix])
    except OSError as error:
        raise UserError(path, f"cannot be read: {error.strerror or error}") from error
    known = ", ".join((*SEPARATORS, *JSON_LINES, *PARQUET))
    raise UserError(path, f"has an unknown suffix {suffix!r}; use one of {known} or name the separator")


def decoded(path: Path) -> str:
    """Text of a file: UTF-8, or whatever its byte order mark declares.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str

    Raises
    ------
    UserError
        The file cannot be read, or its bytes are not text in that encoding.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(path, f"cannot be read: {error.strerror or error}") from error
    encoding = next((name for bom, name in _BOMS.items() if content.startswith(bom)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise UserError(path, f"is not {encoding} text (byte {error.start}); save it as UTF-8") from error
    if "\0" in text:
        line = len(lines_of(text[: text.index("\0")]))
        raise UserError(f"{path}, line {line}", "holds a NUL character; it is binary or UTF-16 without a mark")
    return text


def text_column(source: Path, name: str, values: list[str]) -> pa.ChunkedArray:
    """Column of text.

    Parameters
    ----------
    source : Path
        File, for the error.
    name : str
        Of the column.
    values : list of str
        One a row.

    Returns
    -------
    pyarrow.ChunkedArray

    Raises
    ------
    UserError
        The name or a value is no Unicode text, as a lone surrogate of JSON or of a path.
    """
    try:
        name.encode()
        return pa.chunked_array([pa.array(values, pa.string())])
    except UnicodeEncodeError as error:
        raise UserError(f"{source}, column {name!a}", "holds a character that is no Unicode text") from error


def _read_separated(path: Path, separator: str) -> RawTable:
    if len(separator) != 1 or not separator.isascii() or separator in '\r\n"':
        raise UserError(path, f"separator {separator!r} is not one character between fields")
    text = decoded(path)
    if not text.strip():
        raise UserError(path, "is empty; give a header line and one line a run")
    try:
        table = pa.csv.read_csv(
            io.BytesIO(f"{text}\n".encode()),
            read_options=pa.csv.ReadOptions(use_threads=False, autogenerate_column_names=True),
            parse_options=pa.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(default_column_type=pa.string(), strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        raise _ragged(path, text, str(error)) from error
    header = [str(column[0]).strip() for column in table.columns]
    for other, name in ((";", "a semicolon"), ("\t", "a tab"), (",", "a comma"), ("|", "a bar")):
        if len(header) == 1 and other in header[0]:
            option = "\\t" if other == "\t" else other
            raise UserError(f"{path}, line 1", f"its fields seem to be separated by {name}; use --separator '{option}'")
    _refuse_repeated(f"{path}, line 1", header)
    lines = _line_numbers(text)
    # A quote that is never closed swallows all rows after it into one value.
    if text.count('"') % 2 and "\n" in (table.columns[-1][-1].as_py() or ""):
        raise UserError(f"{path}, line {lines()[table.num_rows - 1]}", "opens a quote that nothing closes; close it")
    columns = {
        name: pa.compute.utf8_trim_whitespace(column[1:]) for name, column in zip(header, table.columns, strict=True)
    }
    columns.pop("", None)
    return RawTable(path, columns, table.num_rows - 1, lambda row: f"line {lines()[row + 1]}")


def _line_numbers(text: str) -> Callable[[], list[int]]:
    """Numbers of the lines on which rows start, found when asked for: empty lines hold no row."""

    def find() -> list[int]:
        numbers, inside = [], False
        for number, line in enumerate(lines_of(text), start=1):
            if not inside and line:
                numbers.append(number)
            inside ^= line.count('"') % 2 == 1
        return numbers

    return find


def _ragged(path: Path, text: str, message: str) -> UserError:
    found = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if not found:
        return UserError(path, f"is no table of runs: {message.splitlines()[0]}")
    row, expected, got = (int(number) for number in found.groups())
    numbers = _line_numbers(text)()
    line = numbers[row - 1] if row <= len(numbers) else row
    return UserError(f"{path}, line {line}", f"has {got} field(s) where the header has {expected}; complete the line")


def _refuse_repeated(where: object, header: list[str]) -> None:
    for name in header:
        if name and header.count(name) > 1:
            raise UserError(where, f"names the column {name!r} twice; rename one")


def _read_json_lines(path: Path) -> RawTable:
    rows, numbers = [], []
    for number, line in enumerate(lines_of(decoded(path)), start=1):
        if not line.strip():
            continue
        rows.append(json_object(line, f"{path}, line {number}"))
        numbers.append(number)
    if not rows:
        raise UserError(path, "is empty; write one object a run and line")
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: text_column(path, name, [_text(row.get(name)) for row in rows]) for name in names}
    return RawTable(path, columns, len(rows), lambda row: f"line {numbers[row]}")


def json_object(text: str, where: str) -> dict[str, Any]:
    """One JSON object; ``NaN`` and ``Infinity`` are numbers, a repeated key is none.

    Parameters
    ----------
    text : str
        The object.
    where : str
        File and line, for the error.

    Returns
    -------
    dict

    Raises
    ------
    UserError
        The text is no JSON object or names a key twice.
    """
    try:
        found = parse_json(text)
    except RepeatedKey as error:
        raise UserError(where, str(error)) from error
    except ValueError as error:
        raise UserError(where, "is no JSON; it is cut off or damaged") from error
    if not isinstance(found, dict):
        raise UserError(where, "is no JSON object")
    return found


def _text(value: object) -> str:
    """JSON value as the text that a CSV file would hold."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value.strip() if isinstance(value, str) else repr(value)


def _read_parquet(path: Path) -> RawTable:
    try:
        # Without partitioning: a folder named axis=value is no column of the file.
        file = pa.parquet.ParquetFile(path)
        _refuse_repeated(path, file.schema_arrow.names)
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise UserError(path, "is no readable Parquet file; it is damaged, truncated or of another kind") from error
    columns = dict(zip(table.column_names, table.columns, strict=True))
    return RawTable(path, columns, table.num_rows, lambda row: f"row {row + 1}")

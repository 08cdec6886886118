"""From a Parquet file to rows of words, block by block, each value checked against the feature specification."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedstudy.data.spec import FeatureSpec
from seedstudy.errors import UserError

BLOCK_WORDS = 1 << 22
"""Words that are decoded at once: enough for threads to share, small beside the data."""

TILE_ROWS = 2048
"""Rows transposed at once, so that they stay in a core's cache."""


@dataclass(frozen=True)
class _Column:
    """A column of a file, in a block that starts at row `first` of the whole file."""

    path: Path
    name: str
    first: int

    def wrong(self, problem: str) -> UserError:
        return UserError(f"{self.path}: column {self.name}", problem)

    def refuse(self, bad: NDArray[np.bool_], problem: str, values: NDArray[Any] | None = None) -> None:
        """Raise for the first bad row, if any."""
        if bad.any():
            row = int(np.argmax(bad))
            shown = "" if values is None else f" ({np.squeeze(values[row]).tolist()})"
            raise UserError(f"{self.path}: column {self.name}, row {self.first + row}", f"{problem}{shown}")


def open_rows(path: Path, spec: FeatureSpec) -> pq.ParquetFile:
    """Open a Parquet file, to be closed by the caller.

    Raises
    ------
    UserError
        It is no whole Parquet, has no rows, or not each column of the specification once.
    """
    with _refusing(path):
        # Buffering ahead would hold the whole file beside its rows.
        file = pq.ParquetFile(path, pre_buffer=False)
    if file.metadata.num_rows == 0:
        raise UserError(path, "has no rows")
    names = file.schema_arrow.names
    for column in spec.columns:
        if names.count(column) != 1:
            raise UserError(f"{path}: column {column}", "missing" if column not in names else "is there more than once")
    return file


def blocks(
    file: pq.ParquetFile, path: Path, spec: FeatureSpec
) -> Iterator[tuple[int, NDArray[np.int32], NDArray[np.int64]]]:
    """Read all rows: number of a block's first row, its words and its groups.

    Raises
    ------
    UserError
        The first block with a mistake: its first column in the order of the specification, and there the first row.
    """
    # A block is checked while pyarrow's threads decode the next and the caller keeps the one before.
    with _refusing(path), ThreadPoolExecutor(1) as checker:
        pending: Future[tuple[int, NDArray[np.int32], NDArray[np.int64]]] | None = None
        first = 0
        for batch in file.iter_batches(max(1, BLOCK_WORDS // spec.width), columns=list(spec.columns)):
            checked = checker.submit(_block, batch, path, spec, first)
            if pending is not None:
                yield pending.result()
            pending = checked
            first += batch.num_rows
        if pending is not None:
            yield pending.result()


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise UserError(path, f"not a readable Parquet file ({error})") from None


def _block(
    batch: pa.RecordBatch, path: Path, spec: FeatureSpec, first: int
) -> tuple[int, NDArray[np.int32], NDArray[np.int64]]:
    def read(name: str) -> tuple[pa.Array, _Column]:
        column, array = _Column(path, name, first), batch.column(name)
        if array.null_count:
            column.refuse(array.is_null().to_numpy(zero_copy_only=False), "is null; fill it in")
        return array, column

    group = np.ascontiguousarray(_integers(*read(spec.group)), np.int64)
    array, column = read(spec.label)
    label = _numbers(array, column)
    column.refuse((label != 0) & (label != 1), "is not 0 or 1", label)
    parts = [label, *(_numbers(*read(name)) for name in spec.numeric)]
    columns = [part.view(np.int32) for part in parts]
    for name, cardinality, hotness in _categorical_columns(spec):
        array, column = read(name)
        ids = _ids(array, column, hotness)
        if ids.min() < 0 or ids.max() >= cardinality:
            outside = np.asarray(np.any((ids < 0) | (ids >= cardinality), axis=1))
            column.refuse(outside, f"has an id outside 0..{cardinality - 1}", ids)
        columns.extend(ids.T)
    words = np.empty((batch.num_rows, len(columns)), np.int32)
    for start in range(0, len(words), TILE_ROWS):
        tile = words[start : start + TILE_ROWS]
        for index, values in enumerate(columns):
            tile[:, index] = values[start : start + TILE_ROWS]
    return first, words, group


def _categorical_columns(spec: FeatureSpec) -> Iterator[tuple[str, int, int | None]]:
    for column, cardinality in spec.onehot.items():
        yield column, cardinality, None
    for column, multihot in spec.multihot.items():
        yield column, multihot.cardinality, multihot.hotness


def _ids(array: pa.Array, column: _Column, hotness: int | None) -> NDArray[np.integer]:
    """Return the ids of a one-hot (``hotness`` None) or multi-hot column, shape (rows, ids a row)."""
    if hotness is None:
        return _integers(array, column)[:, None]
    if not pa.types.is_fixed_size_list(array.type) or array.type.list_size != hotness:
        raise column.wrong(f"is {array.type}, must be a fixed-size list of {hotness} integers")
    values = array.flatten()
    if values.null_count:
        nulls = values.is_null().to_numpy(zero_copy_only=False).reshape(-1, hotness).any(axis=1)
        column.refuse(nulls, "has a null in its list; pad with 0")
    return _integers(values, column).reshape(-1, hotness)


def _integers(array: pa.Array, column: _Column) -> NDArray[np.integer]:
    if not pa.types.is_integer(array.type):
        raise column.wrong(f"is {array.type}, must be an integer type")
    values: NDArray[np.integer] = array.to_numpy(zero_copy_only=False)
    if values.dtype == np.uint64:
        column.refuse(values > np.uint64(np.iinfo(np.int64).max), "is above the largest int64", values)
    return values


def _numbers(array: pa.Array, column: _Column) -> NDArray[np.float32]:
    kind = array.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise column.wrong(f"is {kind}, must be a number type")
    values = array.to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        numbers = np.asarray(values, np.float32)
    column.refuse(~np.isfinite(numbers), "is not finite in float32", values)
    return numbers

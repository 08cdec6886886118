"""A prepared data set in memory, checked against its feature specification."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedstudy.data.spec import FeatureSpec, SplitName
from seedstudy.documents import load_document, sha256_file
from seedstudy.errors import UserError


@dataclass(frozen=True)
class Split:
    """One split, row by row.

    Parameters
    ----------
    numeric : float32 array, shape (rows, numeric columns)
    categorical : int32 array, shape (rows, one-hot columns + sum of hotness)
        One-hot columns, then each multi-hot column's list, in the order of the specification.
    label : float32 array, shape (rows,)
        0 or 1.
    group : int64 array, shape (rows,)
        The slate that a row belongs to; a slate's rows need not be adjacent, nor contain a positive.
    """

    numeric: NDArray[np.float32]
    categorical: NDArray[np.int32]
    label: NDArray[np.float32]
    group: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.label)

    def content_sha256(self) -> str:
        """Hash the values (not the file's bytes, which change with the Parquet writer)."""
        digest = hashlib.sha256()
        for array in (self.group, self.label, self.numeric, self.categorical):
            little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            digest.update(f"{little.dtype.str}{little.shape}".encode())
            digest.update(little.data)
        return digest.hexdigest()


@dataclass(frozen=True)
class Dataset:
    """A whole data set.

    Parameters
    ----------
    spec : FeatureSpec
    train, valid : Split
    """

    spec: FeatureSpec
    train: Split
    valid: Split

    def content_sha256(self) -> str:
        """Hash the names and cardinalities of the columns and the values of both splits."""
        spec = self.spec.model_dump_json(exclude={"splits", "name"})
        parts = (spec, self.train.content_sha256(), self.valid.content_sha256())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def load(folder: Path) -> Dataset:
    """Load a prepared data set, checking every value.

    Parameters
    ----------
    folder : Path
        What ``seedstudy data prepare`` made: ``spec.yaml`` and the Parquet files that it names.

    Returns
    -------
    Dataset

    Raises
    ------
    UserError
        One line with file and column (and the first bad row, from 0), if the files are not what the specification says.
    """
    return load_described(folder / "spec.yaml")


def load_described(path: Path) -> Dataset:
    """Load the data set of a feature specification; see `read_dataset`."""
    return read_dataset(load_document(path, FeatureSpec), path)


def read_dataset(spec: FeatureSpec, path: Path) -> Dataset:
    """Load a data set that is described.

    Parameters
    ----------
    spec : FeatureSpec
        File names in it are relative to the folder of ``path``. A file's SHA-256 is checked where declared.
    path : Path
        Where the specification is from.

    Returns
    -------
    Dataset

    Raises
    ------
    UserError
        As `load`.
    """
    return Dataset(spec, _load_split(path, spec, "train"), _load_split(path, spec, "valid"))


def _load_split(spec_path: Path, spec: FeatureSpec, split: SplitName) -> Split:
    declared = spec.splits[split]
    path = spec_path.parent / declared.file
    found = sha256_file(path)
    if declared.sha256 not in (None, found):
        raise UserError(path, f"its SHA-256 is not the one in {spec_path}; prepare or describe the data set again")
    try:
        # Pages are decoded a column at a time, so that the table never stands in memory beside its arrays.
        with pq.ParquetFile(path) as file:
            return _read(file, path, spec)
    except (pa.ArrowException, OSError) as error:
        raise UserError(path, f"not a readable Parquet file ({error})") from None


def _read(file: pq.ParquetFile, path: Path, spec: FeatureSpec) -> Split:
    rows = file.metadata.num_rows
    if rows == 0:
        raise UserError(path, "has no rows")
    names = file.schema_arrow.names
    for column in spec.columns:
        if names.count(column) != 1:
            raise UserError(f"{path}: column {column}", "missing" if column not in names else "is there more than once")

    def read(column: str) -> pa.Array:
        chunks = file.read([column]).column(column)
        array = chunks.combine_chunks() if chunks.num_chunks != 1 else chunks.chunk(0)
        _refuse(array.is_null().to_numpy(zero_copy_only=False), path, column, "is null; fill it in", None)
        return array

    group = _integers(read(spec.group), path, spec.group, np.int64)
    label = _numbers(read(spec.label), path, spec.label)
    _refuse((label != 0) & (label != 1), path, spec.label, "is not 0 or 1", label)
    numeric = np.empty((rows, len(spec.numeric)), np.float32)
    for index, column in enumerate(spec.numeric):
        numeric[:, index] = _numbers(read(column), path, column)
    width = len(spec.onehot) + sum(column.hotness for column in spec.multihot.values())
    categorical = np.empty((rows, width), np.int32)
    at = 0
    for column, cardinality, hotness in _categorical_columns(spec):
        ids = _ids(read(column), path, column, hotness)
        outside = np.any((ids < 0) | (ids >= cardinality), axis=1)
        _refuse(np.asarray(outside), path, column, f"has an id outside 0..{cardinality - 1}", ids)
        categorical[:, at : at + ids.shape[1]] = ids
        at += ids.shape[1]
    return Split(numeric, categorical, label, group)


def _categorical_columns(spec: FeatureSpec) -> Iterator[tuple[str, int, int | None]]:
    for column, cardinality in spec.onehot.items():
        yield column, cardinality, None
    for column, multihot in spec.multihot.items():
        yield column, multihot.cardinality, multihot.hotness


def _ids(array: pa.Array, path: Path, column: str, hotness: int | None) -> NDArray[Any]:
    """Return the ids of a one-hot (``hotness`` None) or multi-hot column, shape (rows, ids a row)."""
    if hotness is None:
        return _integers(array, path, column, np.int64)[:, None]
    if not pa.types.is_fixed_size_list(array.type) or array.type.list_size != hotness:
        raise UserError(f"{path}: column {column}", f"is {array.type}, must be a fixed-size list of {hotness} integers")
    values = array.flatten()
    nulls = values.is_null().to_numpy(zero_copy_only=False).reshape(-1, hotness).any(axis=1)
    _refuse(nulls, path, column, "has a null in its list; pad with 0", None)
    return _integers(values, path, column, np.int64).reshape(-1, hotness)


def _integers(array: pa.Array, path: Path, column: str, dtype: type[np.int64]) -> NDArray[np.int64]:
    if not pa.types.is_integer(array.type):
        raise UserError(f"{path}: column {column}", f"is {array.type}, must be an integer type")
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype == np.uint64:
        _refuse(values > np.uint64(np.iinfo(dtype).max), path, column, "is above the largest int64", values)
    return np.asarray(values, dtype)


def _numbers(array: pa.Array, path: Path, column: str) -> NDArray[np.float32]:
    kind = array.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise UserError(f"{path}: column {column}", f"is {kind}, must be a number type")
    values = array.to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        numbers = np.asarray(values, np.float32)
    _refuse(~np.isfinite(numbers), path, column, "is not finite in float32", values)
    return numbers


def _refuse(bad: NDArray[np.bool_], path: Path, column: str, problem: str, values: NDArray[Any] | None) -> None:
    """Raise for the first bad row, if any."""
    if bad.any():
        row = int(np.argmax(bad))
        shown = "" if values is None else f" ({np.squeeze(values[row]).tolist()})"
        raise UserError(f"{path}: column {column}, row {row}", f"{problem}{shown}")

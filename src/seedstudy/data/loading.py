"""A prepared data set in memory: one matrix of words a split, that all processes of a machine map from one file.

Beside each Parquet file of a prepared data set lies a copy of its rows as they stand in memory: the words of all rows,
the groups, and a footer that says of which file they are. It is made when absent or of other files, so that training
neither decodes Parquet nor holds a row twice.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from seedstudy.data.spec import FeatureSpec, SplitName
from seedstudy.documents import load_document, reading, sha256_file, writing
from seedstudy.errors import UserError

COPY_VERSION = 1
"""Raised with the layout of the copies, so that an older one is made anew."""

_FOOTER = struct.Struct("<32sq")  # what the rows are of, and their number
_HASHED_ROWS = 1 << 16


@dataclass(frozen=True)
class Split:
    """One split, row by row.

    Parameters
    ----------
    words : int32 array, shape (rows, 1 + numeric columns + one-hot columns + sum of hotness)
        Of each row the label (0 or 1) and the numbers, as the bits of float32, and the ids: one-hot columns, then each
        multi-hot column's list, in the order of the specification. Begins at a page of memory.
    group : int64 array, shape (rows,)
        The slate that a row belongs to; a slate's rows need not be adjacent, nor contain a positive.
    numbers : int
        How many numeric columns there are.
    """

    words: NDArray[np.int32]
    group: NDArray[np.int64]
    numbers: int

    @classmethod
    def of(
        cls,
        numeric: NDArray[np.float32],
        categorical: NDArray[np.int32],
        label: NDArray[np.float32],
        group: NDArray[np.int64],
    ) -> Split:
        """Lay columns out as a split."""
        parts = [label[:, None].view(np.int32), numeric.view(np.int32), categorical]
        shape = len(label), sum(part.shape[1] for part in parts)
        memory = mmap.mmap(-1, 4 * shape[0] * shape[1])
        words = np.concatenate(parts, axis=1, out=np.frombuffer(memory, np.int32).reshape(shape))
        return cls(words, group, numeric.shape[1])

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.words)

    @property
    def numeric(self) -> NDArray[np.float32]:
        """Numbers, shape (rows, numeric columns)."""
        return self._floats[:, 1 : 1 + self.numbers]

    @property
    def categorical(self) -> NDArray[np.int32]:
        """Ids, shape (rows, one-hot columns + sum of hotness)."""
        return self.words[:, 1 + self.numbers :]

    @cached_property
    def label(self) -> NDArray[np.float32]:
        """0 or 1, shape (rows,); side by side, since every evaluation reads them all."""
        return np.ascontiguousarray(self._floats[:, 0])

    @property
    def _floats(self) -> NDArray[np.float32]:
        return self.words.view(np.float32)

    def content_sha256(self) -> str:
        """Hash the values (not the file's bytes, which change with the Parquet writer)."""
        digest = hashlib.sha256()
        array: NDArray[Any]
        for array in (self.group, self._floats[:, 0], self.numeric, self.categorical):
            kind = array.dtype.newbyteorder("<")
            digest.update(f"{kind.str}{array.shape}".encode())
            for start in range(0, self.rows, _HASHED_ROWS):
                digest.update(np.ascontiguousarray(array[start : start + _HASHED_ROWS], kind).data)
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
        parts = (_columns(self.spec), self.train.content_sha256(), self.valid.content_sha256())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def load(folder: Path) -> Dataset:
    """Map a prepared data set from the copies of its rows; they are made, and every value checked, where needed.

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
        One line with file and column (and the first bad row, from 0), if the files are not what the specification
        says; or a copy is needed and cannot be written.
    """
    if not folder.is_dir():
        raise UserError(folder, "is no folder; make it with `seedstudy data prepare`")
    path = folder / "spec.yaml"
    spec = load_document(path, FeatureSpec)
    return Dataset(spec, _map_copy(path, spec, "train"), _map_copy(path, spec, "valid"))


def load_described(path: Path) -> Dataset:
    """Read the data set of a feature specification; see `read_dataset`."""
    return read_dataset(load_document(path, FeatureSpec), path)


def read_dataset(spec: FeatureSpec, path: Path) -> Dataset:
    """Read a data set that is described into memory, checking every value.

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
    return Dataset(spec, _read(path, spec, "train"), _read(path, spec, "valid"))


def copy_name(split: SplitName) -> str:
    """Name of the copy of a split's rows, in the folder of the prepared data set."""
    return f"{split}.words"


def _read(spec_path: Path, spec: FeatureSpec, split: SplitName) -> Split:
    with open(os.memfd_create(split), "w+b") as memory:
        _write(memory, spec_path, spec, split)
        return _map(memory, spec)


def _map_copy(spec_path: Path, spec: FeatureSpec, split: SplitName) -> Split:
    path = spec_path.parent / copy_name(split)
    wanted = _source_of(spec_path, spec, split)
    try:
        with path.open("rb") as file:
            if _is_of(file, spec, wanted):
                return _map(file, spec)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UserError(path, f"cannot be read: {error.strerror}; remove it") from error
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        problem = f"needed beside the Parquet files and cannot be written: {error.strerror}"
        raise UserError(path, f"{problem}; make the folder writable, or prepare the data into another") from error
    try:
        with open(handle, "w+b") as file:
            with writing(path):
                _write(file, spec_path, spec, split)
                os.fchmod(file.fileno(), 0o644)
                # Renamed whole: of two that write at once, either's is good, and maps of the other stay valid.
                os.replace(temporary, path)
            return _map(file, spec)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _write(target: BinaryIO, spec_path: Path, spec: FeatureSpec, split: SplitName) -> None:
    """Write a copy: words, groups, footer."""
    # Imported here: who finds the copies does without.
    from seedstudy.data.parquet import blocks, open_rows

    declared = spec.splits[split]
    path = spec_path.parent / declared.file
    source = _source_of(spec_path, spec, split)
    if declared.sha256 not in (None, sha256_file(path)):
        raise UserError(path, f"its SHA-256 is not the one in {spec_path}; prepare or describe the data set again")
    with open_rows(path, spec) as file:
        rows: int = file.metadata.num_rows
        groups_at = _groups_at(spec, rows)
        for first, words, group in blocks(file, path, spec):
            target.seek(first * 4 * spec.width)
            target.write(words.data)
            target.seek(groups_at + 8 * first)
            target.write(group.data)
    target.seek(groups_at + 8 * rows)
    target.write(_FOOTER.pack(source, rows))
    target.flush()


def _map(file: BinaryIO, spec: FeatureSpec) -> Split:
    _, rows = _footer(file)
    # Private and never written to: one copy in the page cache serves all processes. Read-only maps have no way to a
    # tensor without a copy.
    memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    words = np.frombuffer(memory, np.int32, rows * spec.width).reshape(rows, spec.width)
    return Split(words, np.frombuffer(memory, np.int64, rows, _groups_at(spec, rows)), len(spec.numeric))


def _is_of(file: BinaryIO, spec: FeatureSpec, source: bytes) -> bool:
    """Whether a copy is whole and of this source."""
    size = os.fstat(file.fileno()).st_size
    if size < _FOOTER.size:
        return False
    found, rows = _footer(file)
    return found == source and size == _groups_at(spec, rows) + 8 * rows + _FOOTER.size


def _footer(file: BinaryIO) -> tuple[bytes, int]:
    file.seek(-_FOOTER.size, os.SEEK_END)
    source, rows = _FOOTER.unpack(file.read(_FOOTER.size))
    return source, rows


def _groups_at(spec: FeatureSpec, rows: int) -> int:
    """Byte at which the groups begin: after the words, at a multiple of 8."""
    return -(-4 * rows * spec.width // 8) * 8


def _source_of(spec_path: Path, spec: FeatureSpec, split: SplitName) -> bytes:
    """Digest of what a copy is made from: layout, columns, and the Parquet file by sum, size and time of change.

    The last two without reading the file: one that was exchanged since is looked at again, and refused for its sum.
    """
    declared = spec.splits[split]
    path = spec_path.parent / declared.file
    with reading(path):
        status = path.stat()
    parts = (COPY_VERSION, _columns(spec), declared.sha256, status.st_size, status.st_mtime_ns)
    return hashlib.sha256("\n".join(map(str, parts)).encode()).digest()


def _columns(spec: FeatureSpec) -> str:
    return spec.model_dump_json(exclude={"splits", "name"})

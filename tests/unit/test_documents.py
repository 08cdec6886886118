"""Whole writes, and what is said of those that fail."""

import errno
import os

import pytest

from seedstudy import documents
from seedstudy.documents import write_atomically, write_files, writing
from seedstudy.errors import UserError

FULL = "cannot be written: No space left on device; make room on its disk, and start again"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device"),  # PyArrow
        OSError("No space left on device (os error 28)"),  # Polars
    ],
)
def test_a_full_disk_is_said_alike_whoever_notices(error):
    with pytest.raises(UserError) as said, writing("results/runs.csv"):
        raise error
    assert str(said.value) == f"results/runs.csv: {FULL}"


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_write_that_fails_leaves_the_earlier_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "runs.csv"
    write_atomically(path, "earlier")

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(documents.os, step, full)
    with pytest.raises(UserError, match=FULL):
        write_atomically(path, "later")
    assert [found.name for found in tmp_path.iterdir()] == ["runs.csv"]
    assert path.read_text() == "earlier"


def test_folders_are_made_and_one_that_cannot_be_is_named(tmp_path):
    write_atomically(tmp_path / "new" / "deep" / "file", b"\0")
    assert (tmp_path / "new" / "deep" / "file").read_bytes() == b"\0"
    place = tmp_path / "new" / "deep" / "file" / "tables"
    with pytest.raises(UserError) as said:
        write_files(place, iter(()))
    assert str(said.value) == f"{place}: cannot be written: Not a directory; make it writable, or name another place"

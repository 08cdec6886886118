"""The copies of the rows beside the Parquet files: mapped, made anew when not of these files, never half there."""

import mmap
import os
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedstudy.data import loading, parquet
from seedstudy.data.loading import load, load_described
from seedstudy.errors import UserError

from .conftest import small_columns


@pytest.fixture
def folder(small):
    """A data set whose copies are made."""
    folder = small().parent
    load(folder)
    return folder


def inode(folder):
    return (folder / "train.words").stat().st_ino


def test_a_copy_is_made_once_and_holds_what_the_parquet_file_does(folder):
    first = inode(folder)
    mapped, read = load(folder), load_described(folder / "spec.yaml")
    assert inode(folder) == first
    assert mapped.content_sha256() == read.content_sha256()
    for split in (mapped.train, read.train):
        assert (split.words.dtype, split.words.shape) == (np.int32, (4, 5))
        assert split.words.ctypes.data % mmap.PAGESIZE == 0
        assert split.group.ctypes.data % 8 == 0
    assert {path.name for path in folder.iterdir()} == {
        "spec.yaml",
        *(f"{split}.{kind}" for split in ("train", "valid") for kind in ("parquet", "words")),
    }


def test_mapped_rows_are_loaded_without_pyarrow(folder):
    code = (
        "import sys; from pathlib import Path; from seedstudy.data.loading import load;"
        "print(load(Path(sys.argv[1])).train.rows, 'pyarrow' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert found.stdout == "4 False\n"


def test_writing_to_mapped_rows_changes_no_file(folder):
    load(folder).train.words[:] = 7
    assert load(folder).content_sha256() == load_described(folder / "spec.yaml").content_sha256()


@pytest.mark.parametrize("damage", ["cut", "longer", "empty", "another layout"])
def test_a_copy_that_is_not_whole_is_made_anew(folder, monkeypatch, damage):
    path, expected = folder / "train.words", load_described(folder / "spec.yaml").content_sha256()
    content = path.read_bytes()
    if damage == "another layout":
        monkeypatch.setattr(loading, "COPY_VERSION", 99)
    path.write_bytes(
        {"cut": content[:-60], "longer": content[:8] + content, "empty": b"", "another layout": b"\0" + content[1:]}[
            damage
        ]
    )
    assert load(folder).content_sha256() == expected
    assert load_described(folder / "spec.yaml").content_sha256() == expected


def test_a_copy_of_another_file_or_specification_is_made_anew(folder, small):
    price = pa.array([9.0, 8.0, 7.0, 6.0])
    small(price=price)
    assert load(folder).valid.numeric[:, 0].tolist() == price.to_pylist()
    first = inode(folder)
    small({"shop: 4": "shop: 9"})
    load(folder)
    assert inode(folder) != first


def test_a_file_exchanged_after_its_copy_was_made_is_refused(command, folder):
    assert command("data", "describe", folder / "spec.yaml")[0] == 0
    load(folder)
    pq.write_table(pa.table(small_columns() | {"price": pa.array([9.0, 9.0, 9.0, 9.0])}), folder / "train.parquet")
    with pytest.raises(UserError, match=r"train\.parquet: its SHA-256 is not the one in"):
        load(folder)
    (folder / "train.parquet").unlink()
    with pytest.raises(UserError, match=r"train\.parquet: cannot be read: No such file"):
        load(folder)


def test_bad_rows_leave_no_copy(small):
    folder = small(shop=pa.array([0, 1, 9, 2])).parent
    with pytest.raises(UserError, match="column shop, row 2: has an id outside"):
        load(folder)
    assert not list(folder.glob("*valid.words*"))


def refusal(*arguments, **settings):
    raise PermissionError(13, "Permission denied")


def test_a_folder_that_cannot_be_written_needs_its_copies(folder, monkeypatch):
    # By a refused call, since root may write anywhere.
    monkeypatch.setattr(loading.tempfile, "mkstemp", refusal)
    assert load(folder).train.rows == 4
    (folder / "train.words").unlink()
    with pytest.raises(UserError) as error:
        load(folder)
    problem = "needed beside the Parquet files and cannot be written: Permission denied"
    remedy = "make the folder writable, or prepare the data into another"
    assert str(error.value) == f"{folder / 'train.words'}: {problem}; {remedy}"


def test_a_full_disk_is_one_line_and_leaves_nothing(small, monkeypatch):
    folder = small().parent

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(loading, "_write", full)
    with pytest.raises(UserError, match=r"train\.words: cannot be written: No space left on device"):
        load(folder)
    assert {path.name for path in folder.iterdir()} == {"spec.yaml", "train.parquet", "valid.parquet"}


def test_two_writers_at_once_leave_one_good_copy(small, monkeypatch):
    folder, both, found = small().parent, threading.Barrier(2), []
    write = loading._write

    def together(*arguments):
        both.wait(timeout=30)
        write(*arguments)
        both.wait(timeout=30)

    monkeypatch.setattr(loading, "_write", together)
    threads = [threading.Thread(target=lambda: found.append(load(folder).content_sha256())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.setattr(loading, "_write", write)
    assert found == [load_described(folder / "spec.yaml").content_sha256()] * 2
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("row_group", [1, 7, 1000])
def test_rows_of_many_blocks_and_their_mistakes_keep_their_places(tmp_path, small, monkeypatch, row_group):
    spec, rows = small(), 1000
    monkeypatch.setattr(parquet, "BLOCK_WORDS", 5 * 64)
    monkeypatch.setattr(parquet, "TILE_ROWS", 10)
    rng = np.random.default_rng(5)
    values = {
        "slate": np.arange(rows) // 5,
        "liked": rng.integers(0, 2, rows),
        "price": rng.normal(size=rows).astype(np.float32),
        "shop": rng.integers(0, 4, rows),
    }
    tags = rng.integers(0, 5, (rows, 2))

    def write(**changed):
        columns = {name: pa.array(column) for name, column in (values | changed).items()}
        columns["tags"] = pa.FixedSizeListArray.from_arrays(pa.array(tags.ravel()), 2)
        pq.write_table(pa.table(columns), tmp_path / "valid.parquet", row_group_size=row_group)

    write()
    valid = load_described(spec).valid
    assert (valid.group == values["slate"]).all()
    assert (valid.label == values["liked"]).all()
    assert (valid.numeric[:, 0] == values["price"]).all()
    assert (valid.categorical == np.column_stack([values["shop"], tags])).all()
    shop = values["shop"].copy()
    shop[[777, 901]] = 4
    write(shop=shop)
    with pytest.raises(UserError, match=r"column shop, row 777: has an id outside 0\.\.3 \(4\)"):
        load_described(spec)


def test_a_data_set_is_replaced_with_what_a_killed_writer_left(command, tmp_path):
    from seedstudy.study import ROOT

    arguments = ("data", "prepare", "--plan", ROOT / "config" / "smoke.yaml", "--output", tmp_path / "data")
    assert command(*arguments)[0] == 0
    (tmp_path / "data" / ".train.words.abc").write_bytes(b"half")
    assert command(*arguments)[0] == 0
    assert not list((tmp_path / "data").glob(".*"))
    assert os.listdir(tmp_path) == ["data"]

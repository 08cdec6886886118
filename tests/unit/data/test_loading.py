"""Any Parquet by its specification: what is read, and each mistake as one line with file and column."""

import hashlib
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedstudy.data.loading import load, load_described
from seedstudy.data.prepare import prepare
from seedstudy.data.source import ParquetData
from seedstudy.data.spec import FeatureSpec, save_spec
from seedstudy.documents import load_document
from seedstudy.errors import UserError

from .conftest import pairs, quiet, small_columns


def test_values_come_back_in_the_order_of_the_specification(small):
    train = load_described(small()).train
    assert train.rows == 4
    assert (train.numeric.dtype, train.categorical.dtype, train.label.dtype) == (np.float32, np.int32, np.float32)
    assert train.numeric.tolist() == [[0.5], [1.5], [-2.0], [0.0]]
    assert train.categorical.tolist() == [[0, 1, 4], [3, 2, 0], [1, 0, 0], [2, 3, 3]]
    assert train.label.tolist() == [1, 0, 0, 1]
    assert train.group.tolist() == [7, 7, 8, 8]


@pytest.mark.parametrize(
    "column",
    [
        {"liked": pa.array([True, False, False, True])},
        {"liked": pa.array([1.0, 0.0, 0.0, 1.0])},
        {"price": pa.array(np.array([0.5, 1.5, -2, 0], np.float16))},
        {"shop": pa.array([0, 3, 1, 2], pa.uint64())},
        {"tags": pairs([[1, 4], [2, 0], [0, 0], [3, 3]], pa.int64())},
        {"slate": pa.chunked_array([[7, 7], [8, 8]])},
    ],
    ids=lambda column: "".join(f"{name} as {values.type}" for name, values in column.items()),
)
def test_values_and_their_hash_do_not_depend_on_how_the_file_stores_them(small, column):
    assert load_described(small(**column)).valid.content_sha256() == load_described(small()).valid.content_sha256()


def test_hash_of_the_content_changes_with_any_value_and_no_file_name(small):
    first = load_described(small()).content_sha256()
    assert load_described(small({"name: small": "name: other"})).content_sha256() == first
    assert load_described(small({"shop: 4": "shop: 5"})).content_sha256() != first
    for name, values in small_columns().items():
        swapped = values.take(pa.array([1, 0, 2, 3] if name != "slate" else [2, 1, 0, 3]))
        assert load_described(small(**{name: swapped})).content_sha256() != first


def test_hash_of_a_split_is_over_little_endian_values(small):
    """Type, shape and bytes of group, label, numbers and ids, one after the other."""
    expected = hashlib.sha256()
    for kind, rows in (
        ("<i8", [7, 7, 8, 8]),
        ("<f4", [1, 0, 0, 1]),
        ("<f4", [[0.5], [1.5], [-2], [0]]),
        ("<i4", [[0, 1, 4], [3, 2, 0], [1, 0, 0], [2, 3, 3]]),
    ):
        array = np.array(rows, kind)
        expected.update(f"{kind}{array.shape}".encode() + array.tobytes())
    assert load_described(small()).train.content_sha256() == expected.hexdigest()


COLUMNS = {
    "missing": ({"price": None}, "column price: missing"),
    "group is text": ({"slate": pa.array(list("aabb"))}, "column slate: is string, must be an integer type"),
    "group is a float": ({"slate": pa.array([1.0, 1, 2, 2])}, "column slate: is double, must be an integer type"),
    "group beyond int64": (
        {"slate": pa.array([1, 2**63, 2, 2], pa.uint64())},
        "column slate, row 1: is above the largest int64 (9223372036854775808)",
    ),
    "group is null": ({"slate": pa.array([7, 7, None, 8])}, "column slate, row 2: is null; fill it in"),
    "label is 2": ({"liked": pa.array([1, 0, 0, 2])}, "column liked, row 3: is not 0 or 1 (2.0)"),
    "label is a half": ({"liked": pa.array([1, 0.5, 0, 1])}, "column liked, row 1: is not 0 or 1 (0.5)"),
    "label is null": ({"liked": pa.array([None, 0, 0, 1])}, "column liked, row 0: is null; fill it in"),
    "label is text": ({"liked": pa.array(list("1001"))}, "column liked: is string, must be a number type"),
    "number is NaN": (
        {"price": pa.array([0.0, 1.0, math.nan, 2.0])},
        "column price, row 2: is not finite in float32 (nan)",
    ),
    "number beyond float32": (
        {"price": pa.array([0.0, 1e39, 0.0, 2.0])},
        "column price, row 1: is not finite in float32 (1e+39)",
    ),
    "number is null": ({"price": pa.array([0.5, None, 1.0, 2.0])}, "column price, row 1: is null; fill it in"),
    "number is a date": (
        {"price": pa.array([1, 2, 3, 4], pa.date32())},
        "column price: is date32[day], must be a number type",
    ),
    "id too large": ({"shop": pa.array([0, 1, 4, 2])}, "column shop, row 2: has an id outside 0..3 (4)"),
    "id negative": ({"shop": pa.array([-1, 1, 2, 2])}, "column shop, row 0: has an id outside 0..3 (-1)"),
    "id is a float": ({"shop": pa.array([0.0, 1, 2, 3])}, "column shop: is double, must be an integer type"),
    "id is null": ({"shop": pa.array([0, 1, 2, None])}, "column shop, row 3: is null; fill it in"),
    "wrong hotness": (
        {"tags": pa.array([[1, 2, 3]] * 4, pa.list_(pa.int32(), 3))},
        "column tags: is fixed_size_list<element: int32>[3], must be a fixed-size list of 2 integers",
    ),
    "lists of any length": (
        {"tags": pa.array([[1, 2]] * 4, pa.list_(pa.int32()))},
        "column tags: is list<element: int32>, must be a fixed-size list of 2 integers",
    ),
    "no list": ({"tags": pa.array([1, 2, 3, 4])}, "column tags: is int64, must be a fixed-size list of 2 integers"),
    "list of floats": ({"tags": pairs([[1, 2]] * 4, pa.float32())}, "column tags: is float, must be an integer type"),
    "id too large in a list": (
        {"tags": pairs([[1, 2], [0, 0], [0, 5], [1, 1]])},
        "column tags, row 2: has an id outside 0..4 ([0, 5])",
    ),
    "null in a list": (
        {"tags": pairs([[1, 2], [0, None], [0, 0], [1, 1]])},
        "column tags, row 1: has a null in its list; pad with 0",
    ),
    "null for a list": ({"tags": pairs([[1, 2], [0, 0], None, [1, 1]])}, "column tags, row 2: is null; fill it in"),
    "no row": ({name: values[:0] for name, values in small_columns().items()}, "has no rows"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_a_file_that_is_not_as_described_is_one_line(small, tmp_path, case):
    columns, problem = COLUMNS[case]
    with pytest.raises(UserError) as error:
        load_described(small(**columns))
    assert str(error.value) == f"{tmp_path / 'valid.parquet'}: {problem}"


def test_a_column_that_is_there_twice_is_refused(small, tmp_path):
    spec, columns = small(), small_columns()
    names = [*columns, "price"]
    pq.write_table(pa.Table.from_arrays([*columns.values(), columns["price"]], names=names), tmp_path / "valid.parquet")
    with pytest.raises(UserError, match=r"valid\.parquet: column price: is there more than once"):
        load_described(spec)


@pytest.mark.parametrize("damage", ["text", "cut", "overwritten"])
def test_a_file_that_is_no_whole_parquet_is_one_line(small, tmp_path, damage):
    spec, path = small(), tmp_path / "train.parquet"
    content = path.read_bytes()
    overwritten = content[:10] + b"\xff" * 40 + content[50:]
    path.write_bytes({"text": b"a,b\n1,2\n", "cut": content[: len(content) // 2], "overwritten": overwritten}[damage])
    with pytest.raises(UserError, match=r"train\.parquet: not a readable Parquet file \(") as error:
        load_described(spec)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_one_line(small, tmp_path):
    with pytest.raises(UserError, match=r"absent\.parquet: cannot be read: No such file"):
        load_described(small({"valid.parquet": "absent.parquet"}))


def test_another_sum_than_the_declared_one_is_refused(small):
    spec = small({"file: valid.parquet": f"file: valid.parquet, sha256: {'f' * 64}"})
    with pytest.raises(UserError, match=r"valid\.parquet: its SHA-256 is not the one in .*spec\.yaml; prepare or desc"):
        load_described(spec)


SPECIFICATIONS = {
    "unknown key": ({"group:": "colour: 1\ngroup:"}, "colour: unknown key; remove it or correct its spelling"),
    "no label": ({"label: liked\n": ""}, "label: is missing; add it"),
    "one column for two": ({"[price]": "[price, shop]"}, "the document: column 'shop' is named twice"),
    "no valid": ({", valid: {file: valid.parquet}": ""}, "the document: splits.valid is missing"),
    "third split": ({"valid: {": "test: {file: x}, valid: {"}, "splits.test.[key]: Input should be 'train' or 'valid'"),
    "cardinality 1": ({"shop: 4": "shop: 1"}, "onehot.shop: Input should be greater than or equal to 2"),
    "cardinality is text": ({"shop: 4": 'shop: "4"'}, "onehot.shop: Input should be a valid integer"),
    "hotness 0": ({"hotness: 2": "hotness: 0"}, "multihot.tags.hotness: Input should be greater than or equal to 1"),
    "no hotness": ({", hotness: 2": ""}, "multihot.tags.hotness: is missing; add it"),
    "columns as text": ({"[price]": "price"}, "numeric: Input should be a valid array"),
    "bad sum": ({"train.parquet": "train.parquet, sha256: abc"}, "splits.train.sha256: String should match pattern"),
    "name with a space": ({"name: small": "name: a b"}, "name: String should match pattern"),
}


@pytest.mark.parametrize("case", SPECIFICATIONS)
def test_a_bad_specification_is_one_line_with_its_key(small, tmp_path, case):
    text, problem = SPECIFICATIONS[case]
    with pytest.raises(UserError) as error:
        load_described(small(text))
    assert str(error.value).startswith(f"{tmp_path / 'spec.yaml'}: {problem}")
    assert "\n" not in str(error.value)


def test_a_specification_without_a_feature_is_refused(small):
    features = {
        "numeric: [price]\n": "",
        "onehot: {shop: 4}\n": "",
        "multihot: {tags: {cardinality: 5, hotness: 2}}\n": "",
    }
    with pytest.raises(UserError, match="no feature: name at least one column in numeric, onehot or multihot"):
        load_described(small(features))


def test_a_repeated_key_is_refused(small):
    with pytest.raises(UserError, match=r"spec\.yaml, line 4: key 'label' is given twice"):
        load_described(small({"label: liked\n": "label: liked\nlabel: price\n"}))


def test_a_saved_specification_reads_back_the_same(small, tmp_path):
    spec = load_document(small(), FeatureSpec)
    save_spec(spec, tmp_path / "again.yaml")
    assert load_document(tmp_path / "again.yaml", FeatureSpec) == spec
    assert spec.columns == ("slate", "liked", "price", "shop", "tags")


def declare_sums(spec):
    """Write the sums of both files into a specification."""
    text = spec.read_text()
    for name in ("train.parquet", "valid.parquet"):
        text = text.replace(name, f"{name}, sha256: {hashlib.sha256((spec.parent / name).read_bytes()).hexdigest()}")
    spec.write_text(text)
    return spec


def test_preparing_a_parquet_source_keeps_every_value(small, tmp_path):
    spec = declare_sums(small())
    manifest = prepare(ParquetData(source="parquet", spec=spec), tmp_path / "out", progress=quiet)
    assert manifest["data_hash"] == load_described(spec).content_sha256() == load(tmp_path / "out").content_sha256()
    # Two slates of two rows with one positive each: random order has AP 1 or 1/2.
    assert manifest["baselines_map12"] == {"random order": 0.75}
    assert manifest["recipe"]["files"]["train"] == hashlib.sha256((tmp_path / "train.parquet").read_bytes()).hexdigest()


def test_preparing_a_parquet_source_without_sums_is_refused(small, tmp_path):
    with pytest.raises(
        UserError, match=r"spec\.yaml: splits\.train\.sha256: missing; `seedstudy data describe .*` fills"
    ):
        prepare(ParquetData(source="parquet", spec=small()), tmp_path / "out", progress=quiet)
    assert not (tmp_path / "out").exists()


def test_a_validation_split_without_a_positive_cannot_be_prepared(small, tmp_path):
    spec = declare_sums(small(liked=pa.array([0, 0, 0, 0])))
    with pytest.raises(UserError, match="small: column liked: no row of the validation split is 1"):
        prepare(ParquetData(source="parquet", spec=spec), tmp_path / "out", progress=quiet)
    assert not (tmp_path / "out").exists()

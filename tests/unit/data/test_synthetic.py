"""Random rows have the shapes that the plan gives, and are the same each time."""

import numpy as np
from pydantic import TypeAdapter

from seedstudy.data.loading import load
from seedstudy.data.prepare import prepare
from seedstudy.data.source import DataSource

SOURCE = TypeAdapter(DataSource).validate_python(
    {
        "source": "synthetic",
        "rows": 1003,
        "valid_rows": 50,
        "numeric": 2,
        "onehot": {"a": 4, "b": 1000},
        "multihot": {"c": {"cardinality": 10, "hotness": 3}},
        "seed": 7,
    }
)


def test_rows_have_the_shapes_asked_for_and_repeat(tmp_path):
    first = prepare(SOURCE, tmp_path / "first", progress=lambda line: None)
    again = prepare(SOURCE, tmp_path / "again", progress=lambda line: None)
    assert first["data_hash"] == again["data_hash"]
    data = load(tmp_path / "first")
    assert (data.train.rows, data.valid.rows) == (1003, 50)
    assert data.spec.onehot == {"a": 4, "b": 1000}
    assert data.train.categorical.shape == (1003, 5)
    # Five rows a slate, the first its positive.
    assert data.valid.label.sum() == 10
    assert np.unique(data.valid.group).tolist() == list(range(10))


def test_half_of_the_lookups_go_to_an_eighth_of_the_rows(tmp_path):
    prepare(SOURCE, tmp_path / "data", progress=lambda line: None)
    b = load(tmp_path / "data").train.categorical[:, 1]
    # 0.5 ** 3 = 1 / 8; three standard errors of a share of 1,003 are 0.05.
    assert abs((b < 125).mean() - 0.5) < 0.05

"""A tiny data set in memory, and the environment that a rank gets from its launcher."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

import numpy as np
import pytest

from seedstudy.data.loading import Dataset, Split
from seedstudy.data.spec import FeatureSpec, Multihot, SplitFile

ROWS, VALID_ROWS = 300, 90


def split(rows: int, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(rows, 2)).astype(np.float32)
    categorical = np.stack([rng.integers(0, size, rows) for size in (5, 7, 4, 4)], axis=1).astype(np.int32)
    label = (numeric[:, 0] + rng.normal(size=rows) > 0.5).astype(np.float32)
    return Split.of(numeric, categorical, label, np.arange(rows) // 5)


@pytest.fixture(scope="session")
def dataset() -> Dataset:
    spec = FeatureSpec(
        name="tiny",
        group="display",
        label="clicked",
        numeric=("a", "b"),
        onehot={"c": 5, "d": 7},
        multihot={"e": Multihot(cardinality=4, hotness=2)},
        splits={name: SplitFile(file=f"{name}.parquet") for name in ("train", "valid")},
    )
    return Dataset(spec, split(ROWS, 1), split(VALID_ROWS, 2))

"""Random rows of given shapes, to time a model of any size without its data."""

from __future__ import annotations

import numpy as np
import polars as pl

from seedstudy.data.prepare import Prepared
from seedstudy.data.source import Synthetic

ROWS_PER_SLATE = 5


def prepare(source: Synthetic) -> Prepared:
    """Draw both splits.

    Ids are skewed as real ones are (the cardinality times the cube of a uniform number: half of the lookups go to an
    eighth of the rows), numbers uniform; the first row of each slate is its positive.

    Parameters
    ----------
    source : Synthetic

    Returns
    -------
    Prepared
    """
    rng = np.random.default_rng(source.seed)

    def ids(cardinality: int, *shape: int) -> np.ndarray:
        return (cardinality * rng.random(shape) ** 3).astype(np.int32)

    def split(rows: int) -> pl.DataFrame:
        slate = np.arange(rows) // ROWS_PER_SLATE
        columns = {source.group: slate, source.label: (np.arange(rows) % ROWS_PER_SLATE == 0).astype(np.int8)}
        columns |= {name: rng.random(rows, np.float32) for name in source.numbers}
        columns |= {name: ids(cardinality, rows) for name, cardinality in source.onehot.items()}
        columns |= {name: ids(column.cardinality, rows, column.hotness) for name, column in source.multihot.items()}
        return pl.DataFrame(columns)

    return Prepared(
        name="synthetic",
        group=source.group,
        label=source.label,
        numeric=source.numbers,
        onehot=source.onehot,
        multihot=source.multihot,
        train=split(source.rows),
        valid=split(source.valid_rows),
        baselines={},
        terms="Random numbers.",
    )

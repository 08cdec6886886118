"""The Wide & Deep network: parameters and forward pass.

Embedding tables of one width are one array, so that a batch costs one gather a width and not one a feature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from seedstudy.data.loading import Split
from seedstudy.data.spec import FeatureSpec
from seedstudy.metrics import area_under_curve, log_loss, mean_average_precision
from seedstudy.models.network import Draw, Dropout, Optimizer, Parameter
from seedstudy.models.wide_deep import DeepOptimizer, EmbeddingWidths, Settings

CUTOFF = 12


@dataclass(frozen=True)
class _Feature:
    """A categorical feature: its columns in the data, its ids, and the width of its embedding."""

    columns: range
    rows: int
    width: int


@dataclass(frozen=True)
class _Lookup:
    """Features of one width and one number of ids, found by one gather.

    Attributes
    ----------
    table : str
        Parameter that holds the embeddings.
    width, hotness : int
        Width of an embedding; ids of a feature.
    columns : slice
        Place in the batch's rows; the first id of each feature, then the second of each.
    first : int
        Row of the wide vector with which the table starts.
    """

    table: str
    width: int
    hotness: int
    columns: slice
    first: int


class WideDeep:
    """Wide & Deep bound to the features of a data set.

    Parameters
    ----------
    config : Settings
        Widths, dropout, optimisers.
    spec : FeatureSpec
        Columns and cardinalities.
    """

    def __init__(self, config: Settings, spec: FeatureSpec) -> None:
        self.config = config
        self.examples_per_row = 1
        self.dropout_rate = config.dropout
        self.dropout_widths = config.hidden
        self._numbers = len(spec.numeric)
        self._order: list[int] = []  # columns of the data, as the lookups want them
        self._starts: list[int] = []  # and where the ids of each start in the wide vector
        self._shares: list[float] = []  # and what each adds to its feature's mean
        self._lookups: list[_Lookup] = []
        self._tables: dict[int, int] = {}  # width of a table: its rows
        self._lay_out(_features(spec, config.embedding_widths))
        self.parameters = tuple(self._parameters(self._numbers))

    def _lay_out(self, features: list[_Feature]) -> None:
        """Place features of one width in one table, and those of one number of ids there side by side."""
        total = 0
        for width in sorted({feature.width for feature in features}, reverse=True):
            first = total
            of_width = [feature for feature in features if feature.width == width]
            for hotness in sorted({len(feature.columns) for feature in of_width}):
                members = [feature for feature in of_width if len(feature.columns) == hotness]
                start = len(self._order)
                starts = [total + sum(member.rows for member in members[:place]) for place in range(len(members))]
                for position in range(hotness):
                    self._order += [member.columns[position] for member in members]
                    self._starts += starts
                    self._shares += [1 / hotness] * len(members)
                columns = slice(start, len(self._order))
                self._lookups.append(_Lookup(f"deep/embedding_{width}", width, hotness, columns, first))
                total += sum(member.rows for member in members)
            self._tables[width] = total - first

    def _parameters(self, numeric: int) -> list[Parameter]:
        deep = []
        for width, rows in self._tables.items():
            # At a scale of 1 a looked-up row has unit length, as TensorFlow's embedding columns start.
            scale = self.config.embedding_scale * width**-0.5
            name = f"deep/embedding_{width}"
            lookups = sum(
                lookup.columns.stop - lookup.columns.start for lookup in self._lookups if lookup.table == name
            )
            deep.append(Parameter(name, (rows, width), "deep", "normal", scale, lookups))
        width = numeric + sum(_features_of(lookup) * lookup.width for lookup in self._lookups)
        for layer, units in enumerate((*self.config.hidden, 1)):
            limit = float(np.sqrt(6 / (width + units)))  # Glorot and Bengio, AISTATS 2010
            deep.append(Parameter(f"deep/kernel_{layer}", (width, units), "deep", "uniform", limit))
            deep.append(Parameter(f"deep/bias_{layer}", (units,), "deep", "zeros"))
            width = units
        wide = [Parameter("wide/categorical", (sum(self._tables.values()),), "wide", "zeros")]
        if numeric:
            wide.append(Parameter("wide/numeric", (numeric,), "wide", "zeros"))
        return [*deep, *wide]

    def sampled(self, words: Any, copy: Any, draw: Draw) -> Any:
        """The rows as they are: displays come with the ads that were not clicked."""
        return words

    def unpack(self, words: Any) -> dict[str, Any]:
        """Numeric features, rows of the wide vector in the order of the lookups, and the label."""
        first_id = 1 + self._numbers
        ids = tf.bitcast(words[:, first_id:], tf.int32)
        # Columns change places as whole rows of memory: a gather along the other axis goes id by id.
        rows = tf.transpose(tf.gather(tf.transpose(ids), self._order)) + tf.constant(self._starts)
        return {"numeric": words[:, 1:first_id], "rows": rows, "label": words[:, 0]}

    def logits(self, values: Mapping[str, Any], batch: Mapping[str, Any], compute: Any, dropout: Dropout | None) -> Any:
        """Forward pass: deep part in `compute`, its head and the wide part in float32 (products, so TF32 rounds them).

        A multi-hot feature is the mean over its fixed number of ids, in which 0 stands for none.
        """
        numeric, rows = batch["numeric"], batch["rows"]
        parts = [tf.cast(numeric, compute)]
        for lookup in self._lookups:
            found = tf.gather(values[lookup.table], rows[:, lookup.columns] - lookup.first)
            width = _features_of(lookup) * lookup.width
            if lookup.hotness > 1:
                # Summed over whole rows of memory, which ids of a feature that lie side by side would not be.
                found = tf.reduce_mean(tf.reshape(found, [-1, lookup.hotness, width]), axis=1)
            parts.append(tf.cast(tf.reshape(found, [-1, width]), compute))
        hidden = tf.concat(parts, axis=1)
        for layer in range(len(self.config.hidden)):
            kernel = tf.cast(values[f"deep/kernel_{layer}"], compute)
            bias = tf.cast(values[f"deep/bias_{layer}"], compute)
            hidden = tf.nn.relu(tf.matmul(hidden, kernel) + bias)
            if dropout is not None:
                hidden = dropout(hidden, layer)
        head = len(self.config.hidden)
        # The last product stays in float32: in half precision, scores tie and the metric measures row order.
        deep = tf.matmul(tf.cast(hidden, tf.float32), values[f"deep/kernel_{head}"]) + values[f"deep/bias_{head}"]
        wide = tf.linalg.matvec(tf.gather(values["wide/categorical"], rows), tf.constant(self._shares, tf.float32))
        if "wide/numeric" in values:
            wide += tf.linalg.matvec(numeric, values["wide/numeric"])
        return deep[:, 0] + wide

    def loss(self, logits: Any, batch: Mapping[str, Any]) -> Any:
        """Mean binary cross-entropy."""
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(batch["label"], logits))

    def optimizers(self, epochs: int, steps_per_epoch: int) -> dict[str, Optimizer]:
        """RMSprop for the deep part, FTRL for the wide one."""
        deep, wide = self.config.deep, self.config.wide
        steps = epochs * steps_per_epoch
        rmsprop = keras.optimizers.RMSprop(rho=deep.rho, epsilon=deep.epsilon)
        ftrl = keras.optimizers.Ftrl()
        return {
            "deep": Optimizer(rmsprop, deep_rates(deep, epochs, steps_per_epoch)),
            "wide": Optimizer(ftrl, np.full(steps, wide.learning_rate, np.float32)),
        }

    def metrics(self, logits: NDArray[np.float64], split: Split) -> dict[str, float]:
        """MAP@12, its share of tied displays, loss and AUC over the whole evaluation set."""
        ranking = mean_average_precision(logits, split.label, split.group, CUTOFF)
        return {
            "map12": ranking.value,
            "loss": log_loss(logits, split.label),
            "auc": area_under_curve(logits, split.label),
            "tied_share": ranking.tied_share,
        }


def deep_rates(deep: DeepOptimizer, epochs: int, steps_per_epoch: int) -> NDArray[np.float32]:
    """Learning rate of the deep part at each step: warm-up, a quarter, an eighth.

    Parameters
    ----------
    deep : DeepOptimizer
        Rate and length of the warm-up.
    epochs, steps_per_epoch : int
        Length of the training.

    Returns
    -------
    array of float32, shape (epochs * steps_per_epoch,)
    """
    epoch = np.arange(epochs * steps_per_epoch) / steps_per_epoch
    halved = deep.warmup_epochs + (epochs - deep.warmup_epochs) / 2
    warm = (epoch + 1 / steps_per_epoch) / deep.warmup_epochs if deep.warmup_epochs else np.ones_like(epoch)
    factor = np.where(epoch < deep.warmup_epochs, np.minimum(warm, 1), np.where(epoch < halved, 1 / 4, 1 / 8))
    return (deep.learning_rate * factor).astype(np.float32)


def _features(spec: FeatureSpec, widths: EmbeddingWidths) -> list[_Feature]:
    """Categorical features in the order in which `Split.categorical` holds their columns."""
    sizes = [(name, 1, cardinality) for name, cardinality in spec.onehot.items()]
    sizes += [(name, column.hotness, column.cardinality) for name, column in spec.multihot.items()]
    features, start = [], 0
    for name, hotness, cardinality in sizes:
        features.append(_Feature(range(start, start + hotness), cardinality, widths.of(name)))
        start += hotness
    return features


def _features_of(lookup: _Lookup) -> int:
    return (lookup.columns.stop - lookup.columns.start) // lookup.hotness

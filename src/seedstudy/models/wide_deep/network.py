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
from seedstudy.models.network import Dropout, Optimizer, Parameter
from seedstudy.models.wide_deep import DeepOptimizer, WideDeepConfig

CUTOFF = 12


@dataclass(frozen=True)
class _Feature:
    """Place of a categorical feature: its columns in the batch, its rows in the fused tables."""

    name: str
    columns: slice
    rows: int


@dataclass(frozen=True)
class _Table:
    """The fused embedding table of one width: batch columns, first row of each, hotness of each feature."""

    width: int
    columns: tuple[int, ...]
    offsets: tuple[int, ...]
    hotness: tuple[int, ...]
    rows: int


class WideDeep:
    """Wide & Deep bound to the features of a data set.

    Parameters
    ----------
    config : WideDeepConfig
        Widths, dropout, optimisers.
    spec : FeatureSpec
        Columns and cardinalities.
    """

    def __init__(self, config: WideDeepConfig, spec: FeatureSpec) -> None:
        self.config = config
        self.dropout_rate = config.dropout
        self.dropout_widths = config.hidden
        features = _features(spec)
        widths = {feature.name: config.embedding_widths.of(feature.name) for feature in features}
        self._tables = tuple(
            _fuse(width, [feature for feature in features if widths[feature.name] == width])
            for width in sorted(set(widths.values()), reverse=True)
        )
        self._linear = _fuse(1, features)
        self.parameters = tuple(self._parameters(len(spec.numeric)))

    def _parameters(self, numeric: int) -> list[Parameter]:
        deep = []
        width = numeric
        for table in self._tables:
            # At a scale of 1 a looked-up row has unit length, as TensorFlow's embedding columns start.
            shape, scale = (table.rows, table.width), self.config.embedding_scale * table.width**-0.5
            deep.append(Parameter(f"deep/embedding_{table.width}", shape, "deep", "normal", scale))
            width += table.width * len(table.hotness)
        for layer, units in enumerate((*self.config.hidden, 1)):
            limit = float(np.sqrt(6 / (width + units)))  # Glorot and Bengio, AISTATS 2010
            deep.append(Parameter(f"deep/kernel_{layer}", (width, units), "deep", "uniform", limit))
            deep.append(Parameter(f"deep/bias_{layer}", (units,), "deep", "zeros"))
            width = units
        wide = [Parameter("wide/categorical", (self._linear.rows,), "wide", "zeros")]
        if numeric:
            wide.append(Parameter("wide/numeric", (numeric,), "wide", "zeros"))
        return [*deep, *wide]

    def inputs(self, split: Split) -> dict[str, NDArray[Any]]:
        """Arrays that stay on the device: numeric and categorical features and the label."""
        return {"numeric": split.numeric, "categorical": split.categorical, "label": split.label}

    def logits(self, values: Mapping[str, Any], batch: Mapping[str, Any], compute: Any, dropout: Dropout | None) -> Any:
        """Forward pass: deep part in `compute`, its head and the wide part in float32.

        A multi-hot feature is the mean over its fixed number of ids, in which 0 stands for none.
        """
        numeric, categorical = batch["numeric"], batch["categorical"]
        parts = [tf.cast(numeric, compute)]
        for table in self._tables:
            looked_up = tf.gather(values[f"deep/embedding_{table.width}"], _rows(table, categorical))
            parts += [tf.cast(part, compute) for part in _pool(table, looked_up)]
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
        weights = tf.gather(values["wide/categorical"], _rows(self._linear, categorical))
        share = tf.constant(np.repeat([1 / h for h in self._linear.hotness], self._linear.hotness), tf.float32)
        wide = tf.reduce_sum(weights * share, axis=1)
        if "wide/numeric" in values:
            wide += tf.reduce_sum(numeric * values["wide/numeric"], axis=1)
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


def _features(spec: FeatureSpec) -> list[_Feature]:
    """Categorical features in the order in which `Split.categorical` holds their columns."""
    sizes = [(name, 1, cardinality) for name, cardinality in spec.onehot.items()]
    sizes += [(name, column.hotness, column.cardinality) for name, column in spec.multihot.items()]
    features, start = [], 0
    for name, hotness, cardinality in sizes:
        features.append(_Feature(name, slice(start, start + hotness), cardinality))
        start += hotness
    return features


def _fuse(width: int, features: list[_Feature]) -> _Table:
    columns: list[int] = []
    offsets: list[int] = []
    hotness: list[int] = []
    rows = 0
    for feature in sorted(features, key=lambda feature: feature.columns.stop - feature.columns.start > 1):
        count = feature.columns.stop - feature.columns.start
        columns += range(feature.columns.start, feature.columns.stop)
        offsets += [rows] * count
        hotness.append(count)
        rows += feature.rows
    return _Table(width, tuple(columns), tuple(offsets), tuple(hotness), rows)


def _rows(table: _Table, categorical: Any) -> Any:
    """Rows of the fused table that a batch looks up, shape (batch, columns)."""
    chosen = tf.gather(categorical, tf.constant(table.columns, tf.int32), axis=1)
    return chosen + tf.constant(table.offsets, tf.int32)


def _pool(table: _Table, looked_up: Any) -> list[Any]:
    """Mean over the ids of each feature, shape (batch, width) each; neighbouring one-hot features in one piece."""
    # `_fuse` puts features of one id first.
    onehot = sum(hotness == 1 for hotness in table.hotness)
    parts = [tf.reshape(looked_up[:, :onehot], [looked_up.shape[0], onehot * table.width])] if onehot else []
    start = onehot
    for hotness in table.hotness[onehot:]:
        parts.append(tf.reduce_mean(looked_up[:, start : start + hotness], axis=1))
        start += hotness
    return parts

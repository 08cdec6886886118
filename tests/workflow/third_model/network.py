"""The network of the third model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from seedstudy.models.third_model import Settings

from seedstudy.data.loading import Split
from seedstudy.data.spec import FeatureSpec
from seedstudy.metrics import area_under_curve, log_loss
from seedstudy.models.network import Draw, Dropout, Optimizer, Parameter

WIDTH = 8


class Small:
    """A layer on the numbers, and one weight for each id of a one-hot column."""

    def __init__(self, settings: Settings, spec: FeatureSpec) -> None:
        self.settings = settings
        self.examples_per_row = 1
        self.dropout_rate, self.dropout_widths = 0.0, ()
        self._numbers, sizes = len(spec.numeric), list(spec.onehot.values())
        self._starts = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
        self.parameters = (
            Parameter("hidden", (self._numbers, WIDTH), "all", "uniform", 0.1),
            Parameter("head", (WIDTH, 1), "all", "uniform", 0.1),
            Parameter("ids", (sum(sizes),), "all", "zeros"),
            Parameter("bias", (1,), "all", "zeros"),
        )

    def sampled(self, words: Any, copy: Any, draw: Draw) -> Any:
        return words

    def unpack(self, words: Any) -> dict[str, Any]:
        first = 1 + self._numbers
        ids = tf.bitcast(words[:, first : first + len(self._starts)], tf.int32)
        return {"label": words[:, 0], "numbers": words[:, 1:first], "ids": ids + self._starts}

    def logits(self, values: Mapping[str, Any], batch: Mapping[str, Any], compute: Any, dropout: Dropout | None) -> Any:
        hidden = tf.nn.relu(tf.matmul(tf.cast(batch["numbers"], compute), tf.cast(values["hidden"], compute)))
        head = tf.matmul(tf.cast(hidden, tf.float32), values["head"])[:, 0]
        return head + tf.reduce_sum(tf.gather(values["ids"], batch["ids"]), axis=1) + values["bias"]

    def loss(self, logits: Any, batch: Mapping[str, Any]) -> Any:
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(batch["label"], logits))

    def optimizers(self, epochs: int, steps_per_epoch: int) -> dict[str, Optimizer]:
        rates = np.full(epochs * steps_per_epoch, self.settings.learning_rate, np.float32)
        return {"all": Optimizer(keras.optimizers.SGD(), rates)}

    def metrics(self, logits: NDArray[np.float64], split: Split) -> dict[str, float]:
        return {"auc": area_under_curve(logits, split.label), "loss": log_loss(logits, split.label)}

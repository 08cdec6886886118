"""The NeuMF network: matrix factorization and a perceptron side by side, and the items it is shown as negatives.

A user's embeddings for both parts are one row, so that a batch costs one gather for users and one for items.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from seedstudy.data.loading import Dataset, Split
from seedstudy.errors import UserError
from seedstudy.metrics import held_out_ranking, log_loss
from seedstudy.models.network import Draw, Dropout, Optimizer, Parameter
from seedstudy.models.neumf import Settings

CUTOFF = 10
COLUMNS = ("user", "item")
BLOCK = 8  # 16-bit numbers for an example: a whole block, so that each rank's examples start at one


class NeuMF:
    """NeuMF bound to the interactions of a data set.

    Parameters
    ----------
    config : Settings
        Widths, dropout, negatives, optimiser.
    dataset : Dataset
        Its columns must be `user` and `item`, and every row of its training split an interaction.

    Raises
    ------
    UserError
        Other columns, a training row that is no interaction, or a user who interacted with every item.
    """

    def __init__(self, config: Settings, dataset: Dataset) -> None:
        spec = dataset.spec
        if tuple(spec.onehot) != COLUMNS or spec.numeric or spec.multihot:
            raise UserError(f"data set {spec.name}", "NeuMF needs the columns user and item and no others")
        if not dataset.train.label.all():
            raise UserError(
                f"data set {spec.name}: column {spec.label}", "a training row is 0; NeuMF draws negatives itself"
            )
        self.config = config
        self.examples_per_row = 1 + config.negatives
        self.dropout_rate = config.dropout
        self.dropout_widths = config.layers[1:]
        self._users, self._items = (spec.onehot[name] for name in COLUMNS)
        self._unknown = _Unknown(dataset.train.categorical, self._users, self._items) if config.verified else None
        half = config.layers[0] // 2
        self.parameters = (
            Parameter("user", (self._users, config.factors + half), "all", "normal", config.embedding_scale, 1),
            Parameter("item", (self._items, config.factors + half), "all", "normal", config.embedding_scale, 1),
            *self._dense(),
        )

    def _dense(self) -> list[Parameter]:
        sizes = [*zip(self.config.layers, self.config.layers[1:], strict=False)]
        sizes.append((self.config.factors + self.config.layers[-1], 1))
        found = []
        for layer, (depth, width) in enumerate(sizes):
            limit = float(np.sqrt(6 / (depth + width)))  # Glorot and Bengio, AISTATS 2010
            found.append(Parameter(f"kernel_{layer}", (depth, width), "all", "uniform", limit))
            found.append(Parameter(f"bias_{layer}", (width,), "all", "zeros"))
        return found

    def sampled(self, words: Any, copy: Any, draw: Draw) -> Any:
        """Keep the first example of each interaction, and make the others items drawn for its user, with label 0."""
        ids = tf.bitcast(words[:, 1:], tf.int32)
        user, item = ids[:, 0], ids[:, 1]
        pairs = tf.cast(draw(0, BLOCK)[:, :2], tf.int64)
        number = pairs[:, 0] * 2**16 + pairs[:, 1]
        # A number below 2 ** 32 times a count, over 2 ** 32: evenly from the count, to within count / 2 ** 32.
        if self._unknown is None:
            drawn = number * self._items // 2**32
        else:
            drawn = self._unknown.item(user, number * tf.gather(self._unknown.counts, user) // 2**32)
        positive = copy == 0
        item = tf.where(positive, item, tf.cast(drawn, tf.int32))
        shown = tf.bitcast(tf.stack([user, item], axis=1), tf.float32)
        return tf.concat([tf.cast(positive, tf.float32)[:, tf.newaxis], shown], axis=1)

    def unpack(self, words: Any) -> dict[str, Any]:
        """Users, items and labels."""
        ids = tf.bitcast(words[:, 1:], tf.int32)
        return {"user": ids[:, 0], "item": ids[:, 1], "label": words[:, 0]}

    def logits(self, values: Mapping[str, Any], batch: Mapping[str, Any], compute: Any, dropout: Dropout | None) -> Any:
        """Forward pass: the perceptron in `compute`, products of factors and the head in float32."""
        # Split, not sliced: uncompiled, the gradients of slices would take as long as all the rest.
        widths = [self.config.factors, self.config.layers[0] // 2]
        user, item = (tf.split(tf.gather(values[name], batch[name]), widths, axis=1) for name in COLUMNS)
        hidden = tf.cast(tf.concat([user[1], item[1]], axis=1), compute)
        for layer in range(len(self.config.layers) - 1):
            kernel, bias = tf.cast(values[f"kernel_{layer}"], compute), tf.cast(values[f"bias_{layer}"], compute)
            hidden = tf.nn.relu(tf.matmul(hidden, kernel) + bias)
            if dropout is not None:
                hidden = dropout(hidden, layer)
        head = len(self.config.layers) - 1
        # The last product stays in float32: in half precision, scores tie.
        joined = tf.concat([user[0] * item[0], tf.cast(hidden, tf.float32)], axis=1)
        return (tf.matmul(joined, values[f"kernel_{head}"]) + values[f"bias_{head}"])[:, 0]

    def loss(self, logits: Any, batch: Mapping[str, Any]) -> Any:
        """Mean binary cross-entropy."""
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(batch["label"], logits))

    def optimizers(self, epochs: int, steps_per_epoch: int) -> dict[str, Optimizer]:
        """Adam for all, at one rate."""
        adam = self.config.adam
        made = keras.optimizers.Adam(beta_1=adam.beta_1, beta_2=adam.beta_2, epsilon=adam.epsilon)
        return {"all": Optimizer(made, np.full(epochs * steps_per_epoch, adam.learning_rate, np.float32))}

    def metrics(self, logits: NDArray[np.float64], split: Split) -> dict[str, float]:
        """HR@10, NDCG@10, share of users whose held-out item ties, and loss over the whole evaluation set."""
        ranking = held_out_ranking(logits, split.label, split.group, CUTOFF)
        return {
            "hr10": ranking.hit_rate,
            "ndcg10": ranking.ndcg,
            "loss": log_loss(logits, split.label),
            "tied_share": ranking.tied_share,
        }


class _Unknown:
    """The items that a user is not known to have interacted with, found by their place among them.

    With the user's known items p_0 < p_1 < ..., p_j has p_j - j unknown ones before it. The unknown item of place r
    therefore is r + k, with k the number of j with p_j - j <= r: one search in the sorted p_j - j of all users.

    Parameters
    ----------
    interactions : int32 array, shape (rows, 2)
        User and item.
    users, items : int
        How many there are.
    """

    def __init__(self, interactions: NDArray[np.int32], users: int, items: int) -> None:
        known = np.unique(interactions[:, 0].astype(np.int64) * items + interactions[:, 1])
        user, item = np.divmod(known, items)
        counts = np.bincount(user, minlength=users)
        if counts.max() == items:
            problem = (
                f"user {int(counts.argmax())} interacted with every item, so that no negative is left; drop the user"
            )
            raise UserError("data", problem)
        starts = np.cumsum(counts) - counts
        before = item - (np.arange(len(known)) - starts[user])
        self._items = items
        self._before = tf.constant(user * items + before)
        self._starts = tf.constant(starts)
        self.counts = tf.constant(items - counts)

    def item(self, user: Any, place: Any) -> Any:
        """Unknown items, int64, by user (int32) and place (int64), from 0."""
        key = tf.cast(user, tf.int64) * self._items + place
        passed = tf.searchsorted(self._before, key, side="right", out_type=tf.int64) - tf.gather(self._starts, user)
        return place + passed

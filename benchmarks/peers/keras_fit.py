"""One seed by Keras: `Model.fit` of the plan's Wide & Deep, compiled by XLA, one thread."""

from __future__ import annotations

import time

BEGAN = time.perf_counter()

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from work import Rows, Work, arguments, read_work, report  # noqa: E402


class Rates(keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate for each step."""

    def __init__(self, rates):
        self.rates = tf.constant(rates)

    def __call__(self, step):
        return tf.gather(self.rates, tf.cast(step, tf.int32))  # by an index, XLA would compile for each step


class WideDeep(keras.Model):
    """Wide & Deep with an optimiser for each part."""

    def __init__(self, work: Work):
        super().__init__()
        self.features = work.features
        self.embeddings = [
            keras.layers.Embedding(
                feature.cardinality,
                feature.width,
                embeddings_initializer=keras.initializers.RandomNormal(stddev=work.embedding_sd[feature.width]),
            )
            for feature in work.features
        ]
        self.hidden = [keras.layers.Dense(units, activation="relu") for units in work.model["hidden"]]
        self.dropout = keras.layers.Dropout(work.model["dropout"])
        self.head = keras.layers.Dense(1)
        # One table for the weights of all ids, as is quickest: a feature's begin at its offset.
        sizes = [feature.cardinality for feature in work.features]
        hotness = [feature.hotness for feature in work.features]
        self.offsets = np.repeat(np.cumsum(sizes) - sizes, hotness).astype(np.int32)
        self.shares = np.repeat(1 / np.array(hotness, np.float32), hotness)
        self.wide_ids = keras.layers.Embedding(sum(sizes), 1, embeddings_initializer="zeros")
        self.wide_numeric = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        self.wide_optimizer = keras.optimizers.Ftrl(work.model["wide"]["learning_rate"])

    def call(self, inputs, training=False):
        numeric, ids = inputs
        parts = [numeric]
        for feature, embedding in zip(self.features, self.embeddings, strict=True):
            found = embedding(ids[:, feature.columns])
            parts.append(tf.reduce_mean(found, axis=1) if feature.hotness > 1 else found[:, 0])
        value = tf.concat(parts, axis=1)
        for layer in self.hidden:
            value = self.dropout(layer(value), training=training)
        wide = tf.linalg.matvec(self.wide_ids(ids + self.offsets)[:, :, 0], self.shares)
        return self.head(value)[:, 0] + wide + self.wide_numeric(numeric)[:, 0]

    def train_step(self, data):
        inputs, label = data
        wide = self.wide_ids.trainable_variables + self.wide_numeric.trainable_variables
        deep = [v for v in self.trainable_variables if all(v is not w for w in wide)]
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=label, y_pred=self(inputs, training=True))
        # Made dense here: as they come, Keras sums up what repeated ids have in common, and XLA sorts the ids for that.
        gradients = [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, deep + wide)]
        self.optimizer.apply(gradients[: len(deep)], deep)
        self.wide_optimizer.apply(gradients[len(deep) :], wide)
        self._loss_tracker.update_state(loss)
        return {"loss": self._loss_tracker.result()}


def batches(rows: Rows, batch: int, steps: int, epochs: int, seed: int) -> tf.data.Dataset:
    """Shuffled batches, gathered whole; the last of an epoch is filled up, so that XLA compiles for one shape."""
    rng = np.random.default_rng(seed)
    order = [np.resize(rng.permutation(len(rows.label)), (steps, batch)) for _ in range(epochs)]
    numeric, ids, label = (tf.constant(array) for array in (rows.numeric, rows.ids, rows.label))
    data = tf.data.Dataset.from_tensor_slices(np.concatenate(order)).map(
        lambda at: ((tf.gather(numeric, at), tf.gather(ids, at)), tf.gather(label, at))
    )
    settings = tf.data.Options()
    settings.autotune.enabled = False  # there is nothing to tune, and its thread can be waited for at the end
    return data.with_options(settings)


def main() -> None:
    options = arguments()
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    keras.utils.set_random_seed(options.seed % 2**32)
    work = read_work(options.plan, options.data)
    training, deep = work.training, work.model["deep"]
    model = WideDeep(work)
    model((work.train.numeric[:1], work.train.ids[:1]))
    model.wide_optimizer.build(model.wide_ids.trainable_variables + model.wide_numeric.trainable_variables)
    model.compile(
        optimizer=keras.optimizers.RMSprop(Rates(work.rates()), rho=deep["rho"], epsilon=deep.get("epsilon", 1e-7)),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=True,
    )
    data = batches(work.train, training["global_batch"], work.steps, training["epochs"], options.seed)
    model.fit(data, epochs=training["epochs"], steps_per_epoch=work.steps, shuffle=False, verbose=0)
    # Filled up to whole batches, so that `predict` compiles for one shape.
    count, batch = len(work.valid.label), training["evaluation_batch"]
    filled = np.minimum(np.arange(-(-count // batch) * batch), count - 1)
    logits = model.predict((work.valid.numeric[filled], work.valid.ids[filled]), batch_size=batch, verbose=0)
    report(BEGAN, work, logits[:count])


if __name__ == "__main__":
    main()

"""The training engine: a run is a pure function of (configuration, data, seed).

One engine serves all seeds of a configuration. Its graphs are traced and compiled once; a seed is an argument. An
epoch is one graph: a loop over steps with a compiled gradient, an average over ranks and a compiled update.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.compiler.tf2xla.python import xla

from seedstudy.data.loading import Dataset, Split
from seedstudy.models.network import Network, Parameter
from seedstudy.runs import Epoch
from seedstudy.study import Configuration, Training
from seedstudy.training import randomness
from seedstudy.training.checkpoint import Checkpoint
from seedstudy.training.communication import Communicator
from seedstudy.training.precision import Scaler, compute_dtype
from seedstudy.training.weights import Gradient, Weights


@dataclass
class Outcome:
    """What training one seed gave; times in seconds of wall clock."""

    diverged: str | None = None
    curve: list[Epoch] = field(default_factory=list)
    train_seconds: float = 0.0
    evaluation_seconds: float = 0.0
    weights_digest: str | None = None
    skipped_steps: int = 0
    resumed_epochs: list[int] = field(default_factory=list)

    @property
    def metrics(self) -> dict[str, float]:
        """Metrics after the last epoch; none of a diverged run."""
        return {} if self.diverged or not self.curve else self.curve[-1].metrics


class Engine:
    """Trains seeds of one configuration on one data set.

    Parameters
    ----------
    network : Network
        The model, bound to the data's features.
    dataset : Dataset
        Training and evaluation rows; they stay on the device as tensors.
    configuration : Configuration
        Precision, XLA, workers.
    training : Training
        Epochs and batches.
    ranks : Communicator
        This rank's place among the others.
    """

    def __init__(
        self,
        network: Network,
        dataset: Dataset,
        configuration: Configuration,
        training: Training,
        ranks: Communicator,
    ) -> None:
        self.network, self.ranks, self.training, self._valid = network, ranks, training, dataset.valid
        self.compute = compute_dtype(configuration.compute_type)
        self.compiled = configuration.xla
        self.examples, self.valid_rows = dataset.train.rows * network.examples_per_row, dataset.valid.rows
        self.steps_per_epoch = math.ceil(self.examples / training.global_batch)
        self.local_batch = training.global_batch // ranks.size
        self.first_row = ranks.rank * self.local_batch
        self._train, self._evaluate = _resident(dataset.train), _resident(dataset.valid)
        self.weights = Weights(network.parameters, training.global_batch)
        self.scaler = Scaler(configuration.compute_type == "float16", training.loss_scale)
        self._optimizers = network.optimizers(training.epochs, self.steps_per_epoch)
        for group, optimizer in self._optimizers.items():
            optimizer.keras.build(self.weights.variables(group))
        self._rates = {group: tf.constant(optimizer.rates) for group, optimizer in self._optimizers.items()}
        self._built_state = [(v, v.numpy()) for o in self._optimizers.values() for v in o.keras.variables]
        self.unpack = tf.function(network.unpack, jit_compile=self.compiled, autograph=False)
        self.gradients = tf.function(self._gradients, jit_compile=self.compiled, autograph=False)
        self.update = tf.function(self._apply, jit_compile=self.compiled, autograph=False)
        self.score = tf.function(self._forward, jit_compile=self.compiled, autograph=False)
        self._epoch = tf.function(self._train_epoch, autograph=False)
        self._scores = tf.function(self._score_all, autograph=False)
        self._initial = tf.function(self._draw_weights, autograph=False)

    def train(
        self,
        seed: int,
        replaced: Mapping[randomness.Stream, int] | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Outcome:
        """Train one seed, from scratch or from its last kept epoch.

        Parameters
        ----------
        seed : int
            The key of every random stream.
        replaced : mapping of Stream to int, optional
            Streams with another key.
        checkpoint : Checkpoint, optional
            Where the state after each epoch is kept, and found.

        Returns
        -------
        Outcome
            With `diverged` set, and the curve up to there, when loss or scores stop being finite.

        Raises
        ------
        RuntimeError
            Ranks ended with different weights, or found different checkpoints.
        """
        keys = randomness.keys_of(seed, replaced)
        self.reset(keys)
        outcome = self._resumed(checkpoint)
        for epoch in range(len(outcome.curve), self.training.epochs):
            began = time.perf_counter()
            loss = self.pass_over(keys, epoch)
            trained = time.perf_counter()
            # Each rank saw other rows: only their average is the same decision everywhere.
            loss = float(self.ranks.gather(np.array(loss)).mean())
            logits = self.evaluate()
            finite = bool(np.isfinite(logits).all())
            metrics = self.network.metrics(logits, self._valid) if finite else {}
            outcome.train_seconds += trained - began
            outcome.evaluation_seconds += time.perf_counter() - trained
            known = loss if math.isfinite(loss) else None
            point = Epoch(epoch=epoch + 1, step=(epoch + 1) * self.steps_per_epoch, train_loss=known, metrics=metrics)
            outcome.curve.append(point)
            if known is None or not finite:
                outcome.diverged = f"{'training loss' if known is None else 'score'} not finite in epoch {epoch + 1}"
                break
            if checkpoint is not None and self.ranks.rank == 0 and epoch + 1 < self.training.epochs:
                curve = [point.model_dump() for point in outcome.curve]
                checkpoint.save(self.state(), asdict(outcome) | {"curve": curve})
        outcome.weights_digest = self.weights_digest()
        outcome.skipped_steps = int(self.scaler.skipped.numpy())
        return outcome

    def reset(self, keys: Any) -> None:
        """Draw initial weights and put optimisers and loss scale back to how they were built."""
        self.weights.assign(self._initial(keys))
        for variable, value in self._built_state:
            variable.assign(value)
        self.scaler.reset()

    def state(self) -> dict[str, Any]:
        """All variables that the next step depends on, by name."""
        kept = {f"weights/{group}": variable for group, variable in self.weights.flat.items()}
        kept |= {f"table/{name}": variable for name, variable in self.weights.tables.items()}
        kept |= {f"optimizer/{number}": variable for number, (variable, _) in enumerate(self._built_state)}
        return kept | {"scale": self.scaler.scale, "good": self.scaler.good, "skipped": self.scaler.skipped}

    def _resumed(self, checkpoint: Checkpoint | None) -> Outcome:
        if checkpoint is None:
            return Outcome()
        known = checkpoint.restore(self.state())
        outcome = Outcome()
        if known is not None:
            outcome = Outcome(**known | {"curve": [Epoch(**point) for point in known["curve"]]})
            outcome.resumed_epochs.append(len(outcome.curve))
        every = self.ranks.gather(np.array(len(outcome.curve)))
        if (every != every[0]).any():
            raise RuntimeError(f"ranks found checkpoints of different epochs: {every.tolist()}")
        return outcome

    def evaluate(self) -> NDArray[np.float64]:
        """Logits of the whole evaluation set, gathered from all ranks, shape (rows,)."""
        local = self._scores().numpy().astype(np.float64)  # (steps, rows of this rank in a batch)
        return self.ranks.gather(local).transpose(1, 0, 2).reshape(-1)[: self._valid.rows]

    def weights_digest(self) -> str:
        """SHA-256 of all parameters, in their order; the same on every rank or an error."""
        hashed = hashlib.sha256()
        for name, values in self.weights.numpy().items():
            hashed.update(name.encode())
            hashed.update(values.astype("<f4").tobytes())
        every = self.ranks.gather(np.frombuffer(hashed.digest(), np.uint8))
        if (every != every[0]).any():
            raise RuntimeError("ranks ended with different weights")
        return hashed.hexdigest()

    def local_batch_of(self, keys: Any, step: Any, examples: Any) -> dict[str, Any]:
        """Examples of a step by number, as this rank's batch; example n is of row n // `network.examples_per_row`.

        Taken apart by a function of its own: merged by XLA into what reads it, a batch would have its sums rounded in
        another order.
        """
        copies = self.network.examples_per_row

        def draw(member: int, width: int) -> Any:
            stream = randomness.Stream.EXAMPLES
            return randomness.lanes_of_rows(keys, stream, member, step, self.first_row, self.local_batch, width)

        words = tf.gather(self._train, examples if copies == 1 else examples // copies)
        return self.unpack(self.network.sampled(words, examples % copies, draw))

    def scores_of(self, rows: Any) -> Any:
        """Logits of rows of the resident evaluation set, by this rank alone."""
        return self.score(self.unpack(tf.gather(self._evaluate, rows)))

    def pass_over(self, keys: Any, epoch: int) -> float:
        """Train an epoch and return this rank's mean loss; what `train` does without its evaluation."""
        return float(self._epoch(keys, tf.constant(epoch, tf.int64)))

    def state_size(self, group: str) -> int:
        """Numbers that the optimiser of a group keeps."""
        return sum(math.prod(variable.shape) for variable in self._optimizers[group].keras.variables)

    def _draw_weights(self, keys: Any) -> dict[str, Any]:
        return {p.name: _initial(p, keys, member) for member, p in enumerate(self.network.parameters)}

    def noise(self, keys: Any, step: Any) -> list[Any]:
        """Random numbers for dropout of this rank's rows, one tensor a layer.

        Drawn outside the compiled part: XLA's Philox costs several times TensorFlow's on a CPU, and gives the same
        bits.
        """
        if not self.network.dropout_rate:
            return []
        stream = randomness.Stream.DROPOUT
        return [
            randomness.lanes_of_rows(keys, stream, layer, step, self.first_row, self.local_batch, width)
            for layer, width in enumerate(self.network.dropout_widths)
        ]

    def _gradients(self, batch: dict[str, Any], noise: list[Any]) -> tuple[Any, Gradient]:
        rate = self.network.dropout_rate
        dropout = (lambda value, layer: randomness.dropout(value, rate, noise[layer])) if rate else None
        arrays = self.weights.arrays()
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(arrays)
            logits = self.network.logits(arrays, batch, self.compute, dropout)
            loss = self.network.loss(logits, batch)
            scaled = self.scaler.scaled(loss)
        return self._proof(loss), self.weights.flatten(tape.gradient(scaled, arrays))

    def average(self, gradient: Gradient) -> Gradient:
        """Mean over ranks of the gradients of their batches."""
        tables = {name: self.ranks.average_rows(rows, name) for name, rows in gradient.tables.items()}
        return Gradient(self.ranks.average(gradient.flat), tables)

    def _apply(self, gradient: Gradient, rates: dict[str, Any]) -> None:
        def update(gradients: dict[str, list[Any]]) -> None:
            for group, parts in gradients.items():
                optimizer = self._optimizers[group].keras
                optimizer.learning_rate = rates[group]
                optimizer.apply(parts, self.weights.variables(group))

        self.scaler.step(self.weights.gradients(gradient), update)

    def _train_epoch(self, keys: Any, epoch: Any) -> Any:
        order = randomness.permutation(keys, epoch, self.examples)
        # The last batch is filled from the start of the order: shapes stay fixed and every example is seen.
        lacking = self.steps_per_epoch * self.training.global_batch - self.examples
        order = tf.concat([order, tf.gather(order, tf.range(lacking) % self.examples)], axis=0)

        def one_step(index: Any, total: Any) -> tuple[Any, Any]:
            step = epoch * self.steps_per_epoch + tf.cast(index, tf.int64)
            start = index * self.training.global_batch + self.first_row
            batch = self.local_batch_of(keys, step, tf.slice(order, [start], [self.local_batch]))
            loss, gradient = self.gradients(batch, self.noise(keys, step))
            self.update(self.average(gradient), {group: rates[step] for group, rates in self._rates.items()})
            return index + 1, total + loss

        _, total = tf.while_loop(lambda index, _: index < self.steps_per_epoch, one_step, (0, 0.0))
        return total / self.steps_per_epoch

    def _forward(self, batch: dict[str, Any]) -> Any:
        return self._proof(self.network.logits(self.weights.arrays(), batch, self.compute, None))

    def _score_all(self) -> Any:
        batch = self.training.evaluation_batch
        share = batch // self.ranks.size
        whole, remaining = divmod(self._valid.rows, batch)
        shape = [share, self._evaluate.shape[1]]

        def one_batch(index: Any) -> Any:
            start = index * batch + self.ranks.rank * share
            return self.score(self.unpack(tf.slice(self._evaluate, [start, 0], shape)))

        scores = tf.map_fn(one_batch, tf.range(whole), parallel_iterations=1, fn_output_signature=tf.float32)
        scores = tf.reshape(scores, [whole, share])
        if not remaining:
            return scores
        # Shapes stay fixed: the last batch is filled with the last row.
        places = whole * batch + self.ranks.rank * share + tf.range(share)
        last = self.scores_of(tf.minimum(places, self._valid.rows - 1))
        return tf.concat([scores, last[tf.newaxis]], axis=0)

    def _proof(self, value: Any) -> Any:
        """Pass a value through an operation that only XLA implements: uncompiled, it cannot run."""
        return xla.optimization_barrier(value)[0] if self.compiled else value


def _resident(split: Split) -> Any:
    """A split's words as a tensor: on a CPU the memory of the split itself, so that ranks share it.

    As float32, since TensorFlow keeps int32 in the host's memory even where a GPU computes. Only moved, never computed
    with, an id keeps its bits.
    """
    return tf.identity(tf.experimental.dlpack.from_dlpack(split.words.view(np.float32).__dlpack__()))


def _initial(parameter: Parameter, keys: Any, member: int) -> Any:
    if parameter.start == "zeros":
        return tf.zeros(parameter.shape)
    draw = randomness.normal if parameter.start == "normal" else randomness.uniform
    return draw(keys, randomness.Stream.WEIGHTS, member, parameter.shape, parameter.scale)

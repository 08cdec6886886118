"""The engine in one process: replay, streams shared by all switches, divergence, float16."""

import numpy as np
import pytest
import tensorflow as tf

from seedstudy.models.wide_deep.network import WideDeep
from seedstudy.study import Configuration, LossScale, Training
from seedstudy.training.checkpoint import Checkpoint
from seedstudy.training.communication import Communicator
from seedstudy.training.engine import Engine
from seedstudy.training.randomness import Stream, keys_of
from tests.unit.training.test_wide_deep import config

TYPES = {"fp32": "float32", "amp": "bfloat16"}


def engine(dataset, precision="fp32", compute_type=None, xla=False, rate=0.01, scale=1024.0) -> Engine:
    model = config(
        hidden=[16, 8], dropout=0.1, deep={"learning_rate": rate, "rho": 0.9, "warmup_epochs": 1, "epsilon": 1e-7}
    )
    configuration = Configuration("a", precision, compute_type or TYPES[precision], xla, 1, "cpu", "digest")
    training = Training(epochs=2, global_batch=64, evaluation_batch=32, loss_scale=LossScale(initial=scale))
    return Engine(WideDeep(model, dataset.spec), dataset, configuration, training, Communicator(1))


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "amp"])
@pytest.mark.parametrize("xla", [False, True])
def test_a_seed_gives_the_same_bits_whatever_ran_before(dataset, precision, xla):
    used = engine(dataset, precision, xla=xla)
    first = used.train(1)
    other = used.train(2)
    again = used.train(1)
    alone = engine(dataset, precision, xla=xla).train(2)
    assert first.weights_digest == again.weights_digest
    assert first.metrics == again.metrics
    assert other.weights_digest == alone.weights_digest
    assert other.metrics == alone.metrics
    assert first.weights_digest != other.weights_digest


@pytest.mark.slow
def test_initial_weights_order_and_dropout_are_the_same_under_every_switch(dataset):
    seen = set()
    for compute_type in ("float32", "bfloat16", "float16"):
        for xla in (False, True):
            made = engine(dataset, "fp32" if compute_type == "float32" else "amp", compute_type, xla)
            made.reset(keys_of(5))
            weights = b"".join(values.tobytes() for values in made.weights.numpy().values())
            numbers = b"".join(n.numpy().tobytes() for n in made.noise(keys_of(5), tf.constant(3, tf.int64)))
            seen.add((weights, numbers))
    assert len(seen) == 1


class Stopped(Exception):
    """Stands for the signal that ends a run."""


class StopsAfter(Checkpoint):
    """Ends the run right after it kept an epoch."""

    def save(self, variables, known):
        super().save(variables, known)
        raise Stopped


@pytest.mark.parametrize("compute_type", ["float32", "float16"])
def test_a_run_that_goes_on_from_a_checkpoint_is_bitwise_the_uninterrupted_one(dataset, tmp_path, compute_type):
    precision = "fp32" if compute_type == "float32" else "amp"
    # A scale that overflows at first, so that the scale and the skipped steps are part of the state.
    whole = engine(dataset, precision, compute_type, scale=2.0**40).train(7)
    path = tmp_path / "seed-7.checkpoint.npz"
    with pytest.raises(Stopped):
        engine(dataset, precision, compute_type, scale=2.0**40).train(7, checkpoint=StopsAfter(path, "run/7"))
    other = engine(dataset, precision, compute_type, scale=2.0**40)
    other.train(8)
    resumed = other.train(7, checkpoint=Checkpoint(path, "run/7"))
    assert resumed.resumed_epochs == [1]
    assert (resumed.weights_digest, resumed.metrics) == (whole.weights_digest, whole.metrics)
    assert resumed.curve == whole.curve
    assert resumed.skipped_steps == whole.skipped_steps
    assert (whole.skipped_steps > 0) == (compute_type == "float16")


@pytest.mark.parametrize("content", [b"", b"PK", None])
def test_a_checkpoint_that_is_damaged_or_of_another_run_is_said_and_not_read(dataset, tmp_path, capsys, content):
    path = tmp_path / "seed-7.checkpoint.npz"
    if content is None:
        Checkpoint(path, "another/7").save({}, {})
    else:
        path.write_bytes(content)
    made = engine(dataset)
    assert made.train(7, checkpoint=Checkpoint(path, "run/7")).weights_digest == made.train(7).weights_digest
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"seedstudy: {path}: is of no use")


def test_every_row_is_seen_in_an_epoch(dataset):
    made = engine(dataset)
    assert made.steps_per_epoch == 5  # 300 rows in batches of 64
    assert made.evaluate().shape == (90,)


def test_training_lowers_the_loss(dataset):
    curve = engine(dataset).train(1).curve
    assert [point.epoch for point in curve] == [1, 2]
    assert [point.step for point in curve] == [5, 10]
    assert curve[1].metrics["loss"] < curve[0].metrics["loss"]


def test_a_run_that_diverges_says_where_and_keeps_its_curve(dataset):
    outcome = engine(dataset, rate=1e30).train(1)
    assert outcome.diverged is not None
    assert "not finite in epoch" in outcome.diverged
    assert outcome.metrics == {}
    assert 1 <= len(outcome.curve) <= 2
    assert outcome.weights_digest


def test_a_diverged_seed_leaves_no_trace_in_the_next(dataset):
    broken = engine(dataset, rate=1e30)
    first = broken.train(1)
    assert broken.train(1).weights_digest == first.weights_digest


@pytest.mark.slow
@pytest.mark.parametrize("xla", [False, True])
def test_float16_overflow_skips_steps_and_training_goes_on(dataset, xla):
    outcome = engine(dataset, "amp", "float16", xla, scale=2.0**30).train(1)
    assert outcome.skipped_steps > 0
    assert outcome.diverged is None


def test_float16_without_overflow_is_close_to_float32(dataset):
    half, full = engine(dataset, "amp", "float16").train(1), engine(dataset).train(1)
    assert half.skipped_steps == 0
    assert half.metrics["loss"] == pytest.approx(full.metrics["loss"], rel=0.01)


def test_gradients_are_those_of_finite_differences(dataset):
    made = engine(dataset)
    made.reset(keys_of(1))
    keys, step = keys_of(1), tf.constant(0, tf.int64)
    batch = made.local_batch_of(keys, step, tf.range(64))
    noise = made.noise(keys, step)
    _, gradient = made.gradients(batch, noise)
    gradient = made.weights.named(gradient)["wide/numeric"].numpy()
    values = made.weights.numpy()
    for index in range(2):
        losses = []
        for sign in (1, -1):
            shift = np.zeros(2, np.float32)
            shift[index] = sign * 0.05
            made.weights.assign(values | {"wide/numeric": values["wide/numeric"] + shift})
            losses.append(float(made.gradients(batch, noise)[0]))
        assert gradient[index] == pytest.approx((losses[0] - losses[1]) / 0.1, rel=2e-2, abs=1e-4)


def test_a_replaced_stream_changes_the_run_and_no_other_stream(dataset):
    made = engine(dataset)
    whole = made.train(1).weights_digest
    assert made.train(1, replaced={}).weights_digest == whole
    # The data show no examples that are drawn: that stream changes nothing.
    digests = {stream: made.train(1, replaced={stream: 2}).weights_digest for stream in Stream}
    assert digests.pop(Stream.EXAMPLES) == whole
    assert len({whole, *digests.values()}) == 4
    assert made.train(2, replaced=dict.fromkeys(Stream, 1)).weights_digest == whole

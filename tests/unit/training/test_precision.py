"""Loss scaling: what overflows is left out and halves the scale, what lasts doubles it."""

import numpy as np
import pytest
import tensorflow as tf

from seedstudy.study import LossScale
from seedstudy.training.precision import Scaler, compute_dtype


def scaler(active=True):
    return Scaler(active, LossScale(initial=1024.0, growth_steps=3))


def test_gradients_are_unscaled_and_the_scale_doubles_after_enough_good_steps():
    scaling, seen = scaler(), []
    for _ in range(3):
        scaling.step([tf.constant([2048.0])], lambda values: seen.append(values[0].numpy()))
        assert scaling.skipped.numpy() == 0
    assert np.concatenate(seen).tolist() == [2.0, 2.0, 2.0]
    assert scaling.scale.numpy() == 2048.0
    assert scaling.good.numpy() == 0


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_step_that_is_not_finite_is_left_out_and_halves_the_scale(bad):
    scaling, seen = scaler(), []
    scaling.step([tf.constant([1.0]), tf.constant([1.0, bad])], seen.append)
    assert seen == []
    assert scaling.scale.numpy() == 512.0
    assert scaling.skipped.numpy() == 1


def test_reset_is_how_it_was_built():
    scaling = scaler()
    scaling.step([tf.constant([np.inf])], lambda values: None)
    scaling.reset()
    assert [scaling.scale.numpy(), scaling.good.numpy(), scaling.skipped.numpy()] == [1024.0, 0, 0]


def test_other_types_are_not_scaled():
    scaling, seen = scaler(active=False), []
    assert scaling.scaled(3.0) == 3.0
    scaling.step([5.0], seen.append)
    assert seen == [[5.0]]


def test_compute_types():
    names = {"float32": tf.float32, "tensorfloat32": tf.float32, "bfloat16": tf.bfloat16, "float16": tf.float16}
    assert {name: compute_dtype(name) for name in names} == names

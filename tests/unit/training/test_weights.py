"""Arrays of a network within flat variables: what goes in comes out, group by group."""

import numpy as np
import tensorflow as tf

from seedstudy.models.network import Parameter
from seedstudy.training.weights import Weights

PARAMETERS = (
    Parameter("kernel", (2, 3), "deep", "zeros"),
    Parameter("wide", (4,), "wide", "zeros"),
    Parameter("bias", (3,), "deep", "zeros"),
)
VALUES = {
    "kernel": np.arange(6, dtype=np.float32).reshape(2, 3),
    "wide": np.arange(10, 14, dtype=np.float32),
    "bias": np.arange(20, 23, dtype=np.float32),
}


def test_arrays_are_those_assigned_and_a_group_is_one_variable():
    weights = Weights(PARAMETERS)
    weights.assign(VALUES)
    assert weights.flat["deep"].numpy().tolist() == [0, 1, 2, 3, 4, 5, 20, 21, 22]
    assert weights.flat["wide"].numpy().tolist() == [10, 11, 12, 13]
    found = weights.numpy()
    assert list(found) == ["kernel", "wide", "bias"]
    for name, value in VALUES.items():
        np.testing.assert_array_equal(found[name], value)


def test_gradients_by_rows_are_flattened_with_the_others():
    weights = Weights(PARAMETERS)
    rows = tf.IndexedSlices(tf.constant([[1.0, 2, 3], [10, 20, 30]]), tf.constant([1, 1]), tf.constant([2, 3]))
    deep, wide = weights.split(weights.flatten(VALUES | {"kernel": rows}))
    assert deep.numpy().tolist() == [0, 0, 0, 11, 22, 33, 20, 21, 22]
    assert wide.numpy().tolist() == [10, 11, 12, 13]

"""Arrays of a network within flat variables: what goes in comes out, group by group."""

import numpy as np
import pytest
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
    weights = Weights(PARAMETERS, batch=1)
    weights.assign(VALUES)
    assert weights.flat["deep"].numpy().tolist() == [0, 1, 2, 3, 4, 5, 20, 21, 22]
    assert weights.flat["wide"].numpy().tolist() == [10, 11, 12, 13]
    assert weights.variables("deep") == [weights.flat["deep"]]
    found = weights.numpy()
    assert list(found) == ["kernel", "wide", "bias"]
    for name, value in VALUES.items():
        np.testing.assert_array_equal(found[name], value)


def test_gradients_by_rows_are_flattened_with_the_others():
    weights = Weights(PARAMETERS, batch=1)
    rows = tf.IndexedSlices(tf.constant([[1.0, 2, 3], [10, 20, 30]]), tf.constant([1, 1]), tf.constant([2, 3]))
    by_group = weights.gradients(weights.flatten(VALUES | {"kernel": rows}))
    ((deep,), (wide,)) = by_group.values()
    assert deep.numpy().tolist() == [0, 0, 0, 11, 22, 33, 20, 21, 22]
    assert wide.numpy().tolist() == [10, 11, 12, 13]


@pytest.mark.parametrize(("batch", "alone"), [(3, True), (4, False)])
def test_a_table_with_more_rows_than_a_batch_looks_up_is_a_variable_of_its_own(batch, alone):
    table = Parameter("table", (7, 2), "deep", "zeros", lookups=2)
    weights = Weights([table, *PARAMETERS], batch)
    assert list(weights.tables) == (["table"] if alone else [])
    values = {"table": np.arange(14, dtype=np.float32).reshape(7, 2), **VALUES}
    weights.assign(values)
    found = weights.numpy()
    assert list(found) == list(values)
    # The table's gradient by rows: row 5 twice, which add up; a negative place is none.
    rows = tf.IndexedSlices(tf.constant([[1.0, 2], [10, 20], [3, 4]]), tf.constant([5, 5, -1]), tf.constant([7, 2]))
    whole = np.zeros((7, 2), np.float32)
    whole[5] = 11, 22
    gradient = weights.flatten(VALUES | {"table": rows})
    for name, value in values.items():
        np.testing.assert_array_equal(found[name], value)
        wanted = whole if name == "table" else value
        np.testing.assert_array_equal(weights.named(gradient)[name].numpy(), wanted)
    for group, parts in weights.gradients(gradient).items():
        assert [part.shape for part in parts] == [variable.shape for variable in weights.variables(group)]
        assert len(parts) == (2 if alone and group == "deep" else 1)

"""The trained arrays of a network, as few variables.

A small model spends its steps on the overhead of operations, not on numbers. With one variable for each optimiser, a
step costs one update a group and one exchange between ranks, however many arrays the network has. An embedding table
that is larger than what a batch looks up of it is a variable of its own: joining it to the others would only copy it,
and its gradient, nearly all zeros, travels between ranks as the rows that are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from seedstudy.models.network import Parameter


class Rows(NamedTuple):
    """A matrix that is zero outside some rows.

    Attributes
    ----------
    places : tensor, int32 of shape (n,)
        Which rows; one that stands there repeatedly is the sum of its values, a negative one is none.
    values : tensor, float32 of shape (n, width)
    """

    places: Any
    values: Any


class Gradient(NamedTuple):
    """A gradient with respect to all parameters.

    Attributes
    ----------
    flat : tensor, float32 of shape (size of all arrays but tables,)
        Group by group, each array raveled.
    tables : dict of str to Rows
        Of each table the rows that a batch looked up.
    """

    flat: Any
    tables: dict[str, Rows]


class Weights:
    """All parameters of a network, zero until assigned.

    Parameters
    ----------
    parameters : sequence of Parameter
        What the network trains.
    batch : int
        Rows of a global batch.

    Attributes
    ----------
    flat : dict of str to tf.Variable, float32 of shape (size of the group,)
        One for each group: its arrays but the tables, raveled, one after the other.
    tables : dict of str to tf.Variable
        Embedding tables with more rows than a batch looks up, by name.
    """

    def __init__(self, parameters: Sequence[Parameter], batch: int) -> None:
        self._names = [parameter.name for parameter in parameters]
        self._groups: dict[str, list[Parameter]] = {}
        self._tables: dict[str, list[str]] = {}
        self.tables: dict[str, Any] = {}
        for parameter in parameters:
            members = self._groups.setdefault(parameter.group, [])
            if 0 < parameter.lookups * batch < parameter.shape[0]:
                self._tables.setdefault(parameter.group, []).append(parameter.name)
                self.tables[parameter.name] = tf.Variable(tf.zeros(parameter.shape), name=parameter.name)
            else:
                members.append(parameter)
        self.flat = {
            group: tf.Variable(tf.zeros([sum(map(_size, members))]), name=group)
            for group, members in self._groups.items()
        }

    def variables(self, group: str) -> list[Any]:
        """What the optimiser of a group updates."""
        return [self.flat[group], *(self.tables[name] for name in self._tables.get(group, []))]

    def gradients(self, gradient: Gradient) -> dict[str, list[Any]]:
        """By group, a tensor for each of its `variables`."""
        tables = self._whole(gradient.tables)
        return {
            group: [part, *(tables[name] for name in self._tables.get(group, []))]
            for group, part in self._split(gradient.flat).items()
        }

    def arrays(self) -> dict[str, Any]:
        """Each parameter by name: a table's variable, or a part of its group's."""
        return self._named(self.flat, self.tables)

    def named(self, gradient: Gradient) -> dict[str, Any]:
        """A gradient's array for each parameter by name."""
        return self._named(self._split(gradient.flat), self._whole(gradient.tables))

    def flatten(self, arrays: Mapping[str, Any]) -> Gradient:
        """A gradient from what differentiation gives for each parameter; of a table, `tf.IndexedSlices`."""
        tables = {name: Rows(tf.cast(arrays[name].indices, tf.int32), arrays[name].values) for name in self.tables}
        return Gradient(self._joined(arrays), tables)

    def assign(self, arrays: Mapping[str, Any]) -> None:
        """Set every parameter."""
        for group, part in self._split(self._joined(arrays)).items():
            self.flat[group].assign(part)
        for name, table in self.tables.items():
            table.assign(arrays[name])

    def numpy(self) -> dict[str, NDArray[np.float32]]:
        """Values by name, in the order of the parameters."""
        values = {name: array.numpy() for name, array in self.arrays().items()}
        return {name: values[name] for name in self._names}

    def _joined(self, arrays: Mapping[str, Any]) -> Any:
        order = [member.name for members in self._groups.values() for member in members]
        return tf.concat([tf.reshape(tf.convert_to_tensor(arrays[name]), [-1]) for name in order], axis=0)

    def _whole(self, tables: Mapping[str, Rows]) -> dict[str, Any]:
        return {
            name: tf.math.unsorted_segment_sum(rows.values, rows.places, self.tables[name].shape[0])
            for name, rows in tables.items()
        }

    def _split(self, flat: Any) -> dict[str, Any]:
        parts = tf.split(flat, [variable.shape[0] for variable in self.flat.values()])
        return dict(zip(self.flat, parts, strict=True))

    def _named(self, flat: Mapping[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(tables)
        for group, members in self._groups.items():
            parts = tf.split(flat[group], [_size(member) for member in members])
            found |= {m.name: tf.reshape(part, m.shape) for m, part in zip(members, parts, strict=True)}
        return found


def _size(parameter: Parameter) -> int:
    return math.prod(parameter.shape)

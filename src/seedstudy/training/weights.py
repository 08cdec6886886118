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


class Gradient(NamedTuple):
    """A gradient with respect to all parameters.

    Attributes
    ----------
    flat : tensor, float32 of shape (size of all arrays but tables,)
        Group by group, each array raveled.
    tables : dict of str to tensor, each of the shape of its table
    """

    flat: Any
    tables: dict[str, Any]


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
        return {
            group: [part, *(gradient.tables[name] for name in self._tables.get(group, []))]
            for group, part in self._split(gradient.flat).items()
        }

    def arrays(self) -> dict[str, Any]:
        """Each parameter by name: a table's variable, or a part of its group's."""
        return self._named(self.flat, self.tables)

    def named(self, gradient: Gradient) -> dict[str, Any]:
        """An array for each parameter by name; inverse of `flatten`."""
        return self._named(self._split(gradient.flat), gradient.tables)

    def flatten(self, arrays: Mapping[str, Any]) -> Gradient:
        """Join an array for each parameter, which may be given by rows, as those of embeddings are."""
        order = [member.name for members in self._groups.values() for member in members]
        flat = tf.concat([tf.reshape(tf.convert_to_tensor(arrays[name]), [-1]) for name in order], axis=0)
        return Gradient(flat, {name: tf.convert_to_tensor(arrays[name]) for name in self.tables})

    def assign(self, arrays: Mapping[str, Any]) -> None:
        """Set every parameter."""
        joined = self.flatten(arrays)
        for group, part in self._split(joined.flat).items():
            self.flat[group].assign(part)
        for name, table in joined.tables.items():
            self.tables[name].assign(table)

    def numpy(self) -> dict[str, NDArray[np.float32]]:
        """Values by name, in the order of the parameters."""
        values = {name: array.numpy() for name, array in self.arrays().items()}
        return {name: values[name] for name in self._names}

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

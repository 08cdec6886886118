"""The trained arrays of a network, as flat variables.

A small model spends its steps on the overhead of operations, not on numbers. With one variable for each optimiser, a
step costs one update a group and one exchange between ranks, however many arrays the network has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from seedstudy.models.network import Parameter


class Weights:
    """All parameters of a network, zero until assigned.

    Parameters
    ----------
    parameters : sequence of Parameter
        What the network trains.

    Attributes
    ----------
    flat : dict of str to tf.Variable, float32 of shape (size of the group,)
        One for each group: its arrays, raveled, one after the other.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._groups: dict[str, list[Parameter]] = {}
        for parameter in parameters:
            self._groups.setdefault(parameter.group, []).append(parameter)
        self._names = [parameter.name for parameter in parameters]
        self.flat = {
            group: tf.Variable(tf.zeros([sum(map(_size, members))]), name=group)
            for group, members in self._groups.items()
        }

    def arrays(self) -> dict[str, Any]:
        """Each parameter by name, as a part of its flat variable."""
        return self.named(list(self.flat.values()))

    def named(self, groups: Sequence[Any]) -> dict[str, Any]:
        """An array for each parameter by name, from the flat tensors that `split` gives."""
        found: dict[str, Any] = {}
        for members, flat in zip(self._groups.values(), groups, strict=True):
            parts = tf.split(flat, [_size(member) for member in members])
            found |= {m.name: tf.reshape(part, m.shape) for m, part in zip(members, parts, strict=True)}
        return found

    def flatten(self, arrays: Mapping[str, Any]) -> Any:
        """One tensor of all groups from an array for each parameter, as their gradients are; inverse of `split`."""
        order = [member.name for members in self._groups.values() for member in members]
        return tf.concat([tf.reshape(tf.convert_to_tensor(arrays[name]), [-1]) for name in order], axis=0)

    def split(self, flat: Any) -> list[Any]:
        """The parts of a tensor of all groups, in the order of `flat`."""
        return list(tf.split(flat, [variable.shape[0] for variable in self.flat.values()]))

    def assign(self, arrays: Mapping[str, Any]) -> None:
        """Set every parameter."""
        for variable, part in zip(self.flat.values(), self.split(self.flatten(arrays)), strict=True):
            variable.assign(part)

    def numpy(self) -> dict[str, NDArray[np.float32]]:
        """Values by name, in the order of the parameters."""
        values = {name: array.numpy() for name, array in self.arrays().items()}
        return {name: values[name] for name in self._names}


def _size(parameter: Parameter) -> int:
    return math.prod(parameter.shape)

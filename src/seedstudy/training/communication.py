"""Exchange between ranks, through Horovod's operations on tensors.

Horovod's wrappers of Keras optimisers predate Keras 3; the operations below them are used. Gradients travel
uncompressed unless the plan says otherwise, as one tensor, so that the order of sums is the same in every launch; those
of large embedding tables as their rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from seedstudy.training.weights import Rows


class Communicator:
    """The ranks of one training.

    Parameters
    ----------
    world_size : int
        Ranks that the configuration asks for; with 1, nothing is exchanged and Horovod is not loaded.
    compression : {"none", "float16"}
        Type in which gradients travel.

    Raises
    ------
    RuntimeError
        Horovod found another number of ranks.
    """

    def __init__(self, world_size: int, compression: str = "none") -> None:
        self.rank, self.size, self.local_rank = 0, world_size, 0
        self._compressed = compression == "float16"
        if world_size > 1:
            import horovod.tensorflow as hvd

            hvd.init()
            self._hvd = hvd
            self.rank, self.local_rank = hvd.rank(), hvd.local_rank()
            if hvd.size() != world_size:
                raise RuntimeError(f"Horovod has {hvd.size()} rank(s), the configuration asks for {world_size}")

    def average(self, tensor: Any) -> Any:
        """Mean over ranks of a tensor; usable inside a graph, outside its compiled parts."""
        if self.size == 1:
            return tensor
        return tf.cast(self._hvd.allreduce(self._sent(tensor), op=self._hvd.Average, name="gradient"), tensor.dtype)

    def average_rows(self, rows: Rows, name: str) -> Rows:
        """Mean over ranks of a matrix that is zero outside some rows; usable as `average`.

        Each of those rows travels once. They are laid side by side in the order of the ranks, so that all ranks add
        them up alike, and filled up to a fixed number, since compiled code wants fixed shapes.

        Parameters
        ----------
        rows : Rows
            As many on every rank.
        name : str
            Of the matrix, the same on all ranks.
        """
        if self.size == 1:
            return rows
        own, place = tf.unique(rows.places)
        values = tf.math.unsorted_segment_sum(rows.values, place, tf.size(own))
        places = self._hvd.allgather(own, name=f"{name}/places")
        values = self._hvd.allgather(self._sent(values), name=f"{name}/values")
        count = self.size * rows.places.shape[0]
        missing = count - tf.size(places)
        values = tf.pad(tf.cast(values, rows.values.dtype) / self.size, [[0, missing], [0, 0]])
        places = tf.pad(places, [[0, missing]], constant_values=-1)
        return Rows(tf.ensure_shape(places, [count]), tf.ensure_shape(values, [count, rows.values.shape[1]]))

    def gather(self, array: NDArray[Any]) -> NDArray[Any]:
        """Arrays of all ranks, shape (ranks, *shape of one)."""
        if self.size == 1:
            return array[np.newaxis]
        gathered: NDArray[Any] = self._hvd.allgather(array[np.newaxis], name="gather").numpy()
        return gathered

    def _sent(self, tensor: Any) -> Any:
        return tf.cast(tensor, tf.float16) if self._compressed else tensor

    def backend(self) -> str:
        """What carries the tensors, for the record."""
        if self.size == 1:
            return "none"
        import horovod

        nccl = self._hvd.nccl_built()
        return f"horovod {horovod.__version__} {'nccl' if nccl else 'gloo'}"

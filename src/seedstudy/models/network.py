"""What every network gives the training engine: parameters, a forward pass, optimisers and metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from seedstudy.data.loading import Split

Dropout = Callable[[Any, int], Any]
"""Drops out the activations of a numbered layer."""

Draw = Callable[[int, int], Any]
"""Random numbers for the examples of a step: of a numbered kind, uint16 of shape (examples, n), n a multiple of 8."""


@dataclass(frozen=True)
class Parameter:
    """A trained array and how it starts.

    Attributes
    ----------
    name : str
        Unique within the network.
    shape : tuple of int
    group : str
        Which optimiser updates it.
    start : {"normal", "uniform", "zeros"}
        Distribution of the initial values.
    scale : float
        Standard deviation of `normal`, half-width of `uniform`.
    lookups : int
        Of an embedding table: how many of its rows an example looks up. 0 for other arrays.
    """

    name: str
    shape: tuple[int, ...]
    group: str
    start: Literal["normal", "uniform", "zeros"]
    scale: float = 0.0
    lookups: int = 0


@dataclass(frozen=True)
class Optimizer:
    """A Keras optimiser and its learning rate at each step, float32 of shape (steps,)."""

    keras: Any
    rates: NDArray[np.float32]


class Network(Protocol):
    """A model bound to the features of a data set."""

    parameters: tuple[Parameter, ...]
    examples_per_row: int
    dropout_rate: float
    dropout_widths: tuple[int, ...]

    def sampled(self, words: Any, copy: Any, draw: Draw) -> Any:
        """Training examples of a batch, from the words of their rows.

        Each row of the data is an example `examples_per_row` times an epoch; `copy`, int32 of shape (examples,), says
        which of them an example is. A model that draws nothing returns the words.
        """

    def unpack(self, words: Any) -> dict[str, Any]:
        """A batch from its words, float32 of shape (rows, words of a row), laid out as `Split.words`."""

    def logits(self, values: Mapping[str, Any], batch: Mapping[str, Any], compute: Any, dropout: Dropout | None) -> Any:
        """Forward pass: float32 logits of shape (rows,); products in the type `compute`."""

    def loss(self, logits: Any, batch: Mapping[str, Any]) -> Any:
        """Mean training loss of the rows, float32."""

    def optimizers(self, epochs: int, steps_per_epoch: int) -> dict[str, Optimizer]:
        """An optimiser for each group of parameters."""

    def metrics(self, logits: NDArray[np.float64], split: Split) -> dict[str, float]:
        """Metrics of the whole evaluation set, unrounded, the study's metric among them."""

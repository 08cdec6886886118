"""NeuMF (He et al., "Neural Collaborative Filtering", WWW 2017): what a plan may set of it.

Free of TensorFlow, so that a plan is checked without it; the network stands in `network`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from seedstudy.fields import Positive, PositiveInt
from seedstudy.models.config import ModelBlock, ModelSettings

if TYPE_CHECKING:
    from seedstudy.data.loading import Dataset
    from seedstudy.models.neumf.network import NeuMF

Fraction = Annotated[float, Field(ge=0, lt=1)]


class Adam(ModelBlock):
    """Adam (Kingma and Ba, ICLR 2015), with the moments' decay of the reference as default."""

    learning_rate: Positive
    beta_1: Fraction = 0.25
    beta_2: Fraction = 0.5
    epsilon: Positive = 1e-8


class Settings(ModelSettings):
    """The `model` block of a plan for NeuMF.

    Attributes
    ----------
    factors : int
        Width of the embeddings of generalized matrix factorization.
    layers : tuple of int
        Width of the input of the perceptron, half of it a user's embedding and half an item's, then of its layers.
    dropout : float
        After each layer.
    negatives : int
        Items drawn for each interaction, anew in each epoch, as examples without interaction.
    verified : bool
        Whether they are never ones that the user is known to have interacted with; else any item may be drawn.
    embedding_scale : float
        Standard deviation of the initial embeddings.
    adam : Adam
        Optimiser of all parameters.
    """

    metrics: ClassVar[tuple[str, ...]] = ("hr10", "ndcg10")

    name: Literal["neumf"]
    factors: PositiveInt
    layers: Annotated[tuple[PositiveInt, ...], Field(min_length=2)]
    dropout: Fraction
    negatives: PositiveInt
    verified: bool = True
    embedding_scale: Positive = 0.01
    adam: Adam

    @model_validator(mode="after")
    def _widths(self) -> Settings:
        if self.layers[0] % 2:
            raise ValueError(
                f"the first of layers is {self.layers[0]}; a user and an item share it evenly: make it even"
            )
        odd = [width for width in self.layers[1:] if width % 8]
        if self.dropout and odd:
            raise ValueError(f"layer width {odd[0]} is not a multiple of 8, which dropout on several ranks needs")
        return self

    def network(self, dataset: Dataset) -> NeuMF:
        """See `ModelSettings.network`."""
        from seedstudy.models.neumf.network import NeuMF

        return NeuMF(self, dataset)

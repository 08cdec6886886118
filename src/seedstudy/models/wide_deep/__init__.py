"""Wide & Deep (Cheng et al., "Wide & Deep Learning for Recommender Systems", DLRS 2016): what a plan may set of it.

Free of TensorFlow, so that a plan is checked without it; the network stands in `network`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from seedstudy.fields import Positive, PositiveInt
from seedstudy.models.config import ModelBlock, ModelSettings

if TYPE_CHECKING:
    from seedstudy.data.loading import Dataset
    from seedstudy.models.wide_deep.network import WideDeep


class EmbeddingWidths(ModelBlock):
    """Width of the embedding of each categorical feature: a default, and exceptions by feature name."""

    default: PositiveInt
    exceptions: dict[str, PositiveInt] = Field(default={})

    def of(self, feature: str) -> int:
        """Width for one feature."""
        return self.exceptions.get(feature, self.default)


class DeepOptimizer(ModelBlock):
    """RMSprop of the deep part, with the reference's schedule.

    The rate rises linearly over `warmup_epochs`, then is a quarter of `learning_rate`, and an eighth from half of the
    remaining epochs on.
    """

    learning_rate: Positive
    rho: Annotated[float, Field(gt=0, lt=1)]
    epsilon: Positive = 1e-7
    warmup_epochs: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class WideOptimizer(ModelBlock):
    """FTRL of the wide part (McMahan et al., KDD 2013)."""

    learning_rate: Positive


class Settings(ModelSettings):
    """The `model` block of a plan for Wide & Deep."""

    metrics: ClassVar[tuple[str, ...]] = ("map12",)

    name: Literal["wide_deep"]
    hidden: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    dropout: Annotated[float, Field(ge=0, lt=1)]
    embedding_widths: EmbeddingWidths
    # Of the initial embeddings, in units of 1 / sqrt(width). Ids that training never saw keep theirs, as noise.
    embedding_scale: Positive = 1.0
    deep: DeepOptimizer
    wide: WideOptimizer

    @model_validator(mode="after")
    def _dropout_slices(self) -> Settings:
        odd = [width for width in self.hidden if width % 8]
        if self.dropout and odd:
            raise ValueError(f"hidden width {odd[0]} is not a multiple of 8, which dropout on several ranks needs")
        return self

    def network(self, dataset: Dataset) -> WideDeep:
        """See `ModelSettings.network`."""
        from seedstudy.models.wide_deep.network import WideDeep

        return WideDeep(self, dataset.spec)

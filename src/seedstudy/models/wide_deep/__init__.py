"""Wide & Deep (Cheng et al., "Wide & Deep Learning for Recommender Systems", DLRS 2016): what a plan may set of it.

Free of TensorFlow, so that a plan is checked without it; the network stands in `network`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

PositiveInt = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EmbeddingWidths(_Block):
    """Width of the embedding of each categorical feature: a default, and exceptions by feature name."""

    default: PositiveInt
    exceptions: dict[str, PositiveInt] = {}

    def of(self, feature: str) -> int:
        """Width for one feature."""
        return self.exceptions.get(feature, self.default)


class DeepOptimizer(_Block):
    """RMSprop of the deep part, with the reference's schedule.

    The rate rises linearly over `warmup_epochs`, then is a quarter of `learning_rate`, and an eighth from half of the
    remaining epochs on.
    """

    learning_rate: Rate
    rho: Annotated[float, Field(gt=0, lt=1)]
    epsilon: Rate = 1e-7
    warmup_epochs: Annotated[float, Field(ge=0)]


class WideOptimizer(_Block):
    """FTRL of the wide part (McMahan et al., KDD 2013)."""

    learning_rate: Rate


class WideDeepConfig(_Block):
    """The `model` block of a plan for Wide & Deep."""

    name: Literal["wide_deep"]
    hidden: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    dropout: Annotated[float, Field(ge=0, lt=1)]
    embedding_widths: EmbeddingWidths
    # Of the initial embeddings, in units of 1 / sqrt(width). Ids that training never saw keep theirs, as noise.
    embedding_scale: Rate = 1.0
    deep: DeepOptimizer
    wide: WideOptimizer

    @model_validator(mode="after")
    def _dropout_slices(self) -> WideDeepConfig:
        odd = [width for width in self.hidden if width % 8]
        if self.dropout and odd:
            raise ValueError(f"hidden width {odd[0]} is not a multiple of 8, which dropout on several ranks needs")
        return self

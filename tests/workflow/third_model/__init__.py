"""A third model, as docs/new-model.md says one is added: a small network on numbers and one-hot columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from seedstudy.models.config import ModelSettings

if TYPE_CHECKING:
    from seedstudy.data.loading import Dataset
    from seedstudy.models.network import Network


class Settings(ModelSettings):
    """The `model` block of a plan for this model."""

    metrics: ClassVar[tuple[str, ...]] = ("auc", "loss")

    name: Literal["third_model"]
    learning_rate: float

    def network(self, dataset: Dataset) -> Network:
        """See `ModelSettings.network`."""
        from seedstudy.models.third_model.network import Small

        return Small(self, dataset.spec)

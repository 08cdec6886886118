"""What the `model` block of every plan is: settings, the metrics that the model has, and how its network is built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from seedstudy.data.loading import Dataset
    from seedstudy.models.network import Network


class ModelBlock(BaseModel):
    """A part of a `model` block: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(ModelBlock, ABC):
    """The `model` block of a plan.

    Attributes
    ----------
    name : str
        Of the model; a literal in each subclass.
    metrics : tuple of str
        Names of the metrics that a study of the model may decide by.
    """

    metrics: ClassVar[tuple[str, ...]]

    name: str

    @abstractmethod
    def network(self, dataset: Dataset) -> Network:
        """Bind the model to a data set; TensorFlow is first imported here.

        Raises
        ------
        UserError
            The model cannot learn from data of these columns.
        """

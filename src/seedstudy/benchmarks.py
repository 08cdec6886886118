"""The benchmark row: measuring ends in it, tables and figures start from it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from seedstudy.fields import Positive, PositiveInt, Text

_Part = Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class BenchmarkRow(BaseModel):
    """One configuration timed at one batch size.

    Attributes
    ----------
    batch : int
        Global: rows of a step, or of a call, over all workers.
    steps : int
        Timed steps a repeat, or calls.
    samples_per_second, samples_per_second_low, samples_per_second_high : float
        Median, smallest and largest over the repeats.
    step_seconds : float
        Median.
    latency_mean, latency_p50, latency_p90, latency_p95, latency_p99 : float or None
        Seconds of a call; None for training.
    limit_seconds, share_of_limit : float or None
        Shortest step that the machine's own speed allows, the sum of ``products_seconds`` and ``memory_seconds``, and
        how much of the step that is.
    exchange_seconds : float or None
        Of the gradients; None for one worker.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    configuration: Text
    architecture: Text
    precision: Literal["fp32", "tf32", "amp"]
    xla: bool
    workers: PositiveInt
    kind: Literal["training", "inference"]
    batch: PositiveInt
    steps: PositiveInt
    repeats: PositiveInt
    samples_per_second: Positive
    samples_per_second_low: Positive
    samples_per_second_high: Positive
    step_seconds: Positive
    latency_mean: _Part = None
    latency_p50: _Part = None
    latency_p90: _Part = None
    latency_p95: _Part = None
    latency_p99: _Part = None
    products_seconds: _Part = None
    memory_seconds: _Part = None
    limit_seconds: _Part = None
    share_of_limit: _Part = None
    exchange_seconds: _Part = None
    commit: Text
    machine: Text
    date: Text

    @model_validator(mode="after")
    def _median_within_range(self) -> Self:
        if not self.samples_per_second_low <= self.samples_per_second <= self.samples_per_second_high:
            raise ValueError("samples_per_second lies outside its own range from _low to _high; measure again")
        return self

"""What any training log yields of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seedstudy.errors import UserError


@dataclass(frozen=True)
class RunLog:
    """One run as its log tells it.

    ``curves`` holds each logged quantity in order (NaN and infinities included); ``final`` the last value of each, or
    the value of the summary where only that names it. ``fields`` are labels and times that the log states. ``status``
    is None where the log does not say how the run ended.
    """

    source: Path
    curves: Mapping[str, tuple[float, ...]]
    final: Mapping[str, float]
    fields: Mapping[str, str] = field(default_factory=dict)
    status: str | None = None


def number(value: object, where: str, name: str) -> float:
    """A logged value as float.

    Parameters
    ----------
    value : object
        As the log gives it.
    where : str
        File and line, for the error.
    name : str
        Field, for the error.

    Returns
    -------
    float

    Raises
    ------
    UserError
        It is neither a number nor the text of one.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UserError(f"{where}, field {name}", f"{value!r} is no number")
    try:
        return float(value)
    except (ValueError, OverflowError) as error:
        raise UserError(f"{where}, field {name}", f"{value!r} is no number") from error

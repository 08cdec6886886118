"""Drawing the items that a user is offered beside one that the user chose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 1 << 23
"""Random numbers held at once."""


def draw_others(
    rng: np.random.Generator, shape: tuple[int, int], count: int, excluded: Callable[[slice], NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """Draw items for each of some rows, evenly and without replacement, from those not excluded.

    Parameters
    ----------
    rng : numpy.random.Generator
    shape : tuple of int
        Rows and items.
    count : int
        Items for each row.
    excluded : callable
        Of some rows, which items are not to be drawn: bool, shape (rows, items).

    Returns
    -------
    int64 array, shape (rows, count)
        Numbers of items; the values do not depend on how many rows are worked on at once.

    Raises
    ------
    ValueError
        A row leaves fewer items than are to be drawn.
    """
    rows, items = shape
    if count > items:
        raise ValueError(f"{count} of {items} items")
    drawn = np.empty((rows, count), np.int64)
    step = max(1, AT_ONCE // items)
    for start in range(0, rows, step):
        part = slice(start, min(start + step, rows))
        keys = rng.random((part.stop - start, items))
        # The smallest of independent uniform keys are a draw without replacement.
        keys[excluded(part)] = 2.0
        drawn[part] = np.argpartition(keys, count - 1, axis=1)[:, :count]
        if (np.take_along_axis(keys, drawn[part], axis=1) > 1.0).any():
            raise ValueError(f"fewer than {count} items are left")
    return drawn

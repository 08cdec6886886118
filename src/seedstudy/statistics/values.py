"""What every statistic needs to know of its input: finite float64 values, their spread and their resolution."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
Real: TypeAlias = float | FloatArray
"""One study (a float) or many at once (an array, one entry a study)."""

ULPS = 4
"""A spread below this many units in the last place is rounding of float64, not a spread of the data."""

LARGEST = 1e100
"""Values beyond it are refused: their squares would overflow."""


def as_values(values: ArrayLike, what: str = "values") -> FloatArray:
    """Return ``values`` as float64 and refuse what no statistic can use.

    Parameters
    ----------
    values : array_like
        Shape (..., n): one value a run along the last axis.
    what : str
        Name used in the error.

    Returns
    -------
    numpy.ndarray
        float64, shape (..., n), n >= 1.

    Raises
    ------
    ValueError
        If there is no value, or one is not finite or larger than `LARGEST`. A failed run is counted as such and never
        enters as NaN.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{what}: at least one value is needed")
    if not np.isfinite(array).all():
        raise ValueError(f"{what}: not finite; count a failed run as a failure instead")
    if (np.abs(array) > LARGEST).any():
        raise ValueError(f"{what}: a value is larger than {LARGEST:g}")
    return array


def mean_and_sd(values: FloatArray) -> tuple[Real, Real]:
    """Mean and standard deviation (ddof = 1) along the last axis; the SD is exactly 0 where all values agree.

    Parameters
    ----------
    values : numpy.ndarray
        float64, shape (..., n), finite.

    Returns
    -------
    tuple of (float or numpy.ndarray)
        Shape (...). The SD is NaN for n = 1 and 0 where it is below a few units in the last place of the values,
        which is what rounding alone leaves of equal values.
    """
    mean: Real = values.mean(axis=-1)
    if values.shape[-1] < 2:
        return mean, np.full(values.shape[:-1], np.nan)[()]
    sd = values.std(axis=-1, ddof=1)
    floor = ULPS * np.spacing(np.abs(values).max(axis=-1))
    return mean, np.where(sd <= floor, 0.0, sd)[()]


def resolution(values: ArrayLike) -> float:
    """Step of the lattice on which the values lie.

    Parameters
    ----------
    values : array_like
        Shape (n,), finite.

    Returns
    -------
    float
        In units of the values: 10**-k when every value is a decimal with k <= 12 digits after the point; the
        smallest gap when all gaps are multiples of it (a share of a fixed count, say); the spacing of float32 when
        every value is one; else the spacing of float64.

    Notes
    -----
    A lattice is read off the values, so it is a lower bound of the information lost: values rounded to 4 digits that
    happen to end in 0 look coarser than they are, never finer.
    """
    array = np.unique(as_values(values))
    largest = np.abs(array).max()
    for digits in range(13):
        # A multiple of 10**-k as a float need not be the float nearest to that decimal.
        if (np.abs(np.round(array, digits) - array) <= ULPS * np.spacing(largest)).all():
            return float(10.0**-digits)
    if array.size > 3:
        gaps = np.diff(array)
        multiples = gaps / gaps.min()
        if gaps.min() > 1e6 * np.spacing(largest) and np.allclose(multiples, np.rint(multiples), rtol=0, atol=1e-6):
            return float(gaps.min())
    single = array.astype(np.float32)
    if np.array_equal(single.astype(np.float64), array):
        return float(np.spacing(np.abs(single).max()))
    return float(np.spacing(largest))

"""Permutation test of a mean difference, a whole batch of permutations at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from seedstudy.statistics.values import FloatArray, as_values

_CHUNK = 4_000_000
"""Values held at once (32 MB): keeps thousands of runs an arm far below 1 GiB."""


@dataclass(frozen=True)
class PermutationTest:
    """Two-sided p of a permutation test; ``exact`` when all ways were counted instead of ``resamples`` drawn ones."""

    difference: float
    p: float
    resamples: int
    exact: bool


def permutation_test(
    reference: ArrayLike,
    treatment: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    paired: bool = False,
) -> PermutationTest:
    """Permutation test of the difference of means, treatment minus reference.

    Parameters
    ----------
    reference, treatment : array_like
        Shape (n,) and (m,), in units of the metric; the same seeds in the same order when paired.
    rng : numpy.random.Generator
        Source of the permutations.
    resamples : int
        Permutations drawn; all ways are counted instead where there are no more than this.
    paired : bool
        Flip the signs of the differences of pairs instead of dealing all values anew.

    Returns
    -------
    PermutationTest

    Raises
    ------
    ValueError
        If an arm is empty, a value is not finite, paired shapes differ or ``resamples`` is not positive.

    Notes
    -----
    Null: the runs are exchangeable between the arms (paired: the differences are symmetric about 0). Alternative: the
    means differ. The size of the mean difference is the statistic. No distribution is assumed. A drawn p is
    ``(1 + hits) / (1 + resamples)``, hence never 0 (Phipson and Smyth 2010), as in ``scipy.stats.permutation_test``.
    """
    x, y = as_values(reference, "reference"), as_values(treatment, "treatment")
    if resamples < 1:
        raise ValueError(f"resamples must be positive, not {resamples}")
    if paired and x.shape != y.shape:
        raise ValueError(f"paired arms need the same shape, not {x.shape} and {y.shape}")
    sums, exact = _signed_sums(y - x, resamples, rng) if paired else _dealt_sums(x, y, resamples, rng)
    observed = float((y - x).sum()) if paired else float(y.sum())
    # Sizes are compared about the value that a difference of 0 gives; the tolerance keeps equal sums equal.
    centre = 0.0 if paired else float((x.sum() + y.sum()) * y.size / (x.size + y.size))
    tolerance = 1e-12 * max(float(np.abs(x).sum() + np.abs(y).sum()), np.finfo(np.float64).tiny)
    hits = int(np.count_nonzero(np.abs(sums - centre) >= abs(observed - centre) - tolerance))
    p = hits / sums.size if exact else (1 + hits) / (1 + sums.size)
    return PermutationTest(float(y.mean() - x.mean()), p, sums.size, exact)


def _dealt_sums(x: FloatArray, y: FloatArray, resamples: int, rng: np.random.Generator) -> tuple[FloatArray, bool]:
    """Sums of the treatment arm after dealing the pooled values anew."""
    pooled = np.concatenate([x, y])
    if comb(pooled.size, y.size) <= resamples:
        chosen = np.array(list(combinations(range(pooled.size), y.size)), dtype=np.intp)
        return pooled[chosen].sum(axis=1), True
    rows = max(1, _CHUNK // pooled.size)
    parts = []
    for start in range(0, resamples, rows):
        dealt = np.broadcast_to(pooled, (min(rows, resamples - start), pooled.size))
        parts.append(rng.permuted(dealt, axis=1)[:, : y.size].sum(axis=1))
    return np.concatenate(parts), False


def _signed_sums(differences: FloatArray, resamples: int, rng: np.random.Generator) -> tuple[FloatArray, bool]:
    """Sums of the differences after flipping signs."""
    n = differences.size
    if 2**n <= resamples:
        return np.array(list(product((-1.0, 1.0), repeat=n))) @ differences, True
    rows = max(1, _CHUNK // n)
    parts = []
    for start in range(0, resamples, rows):
        flipped = rng.integers(0, 2, size=(min(rows, resamples - start), n), dtype=np.int8)
        parts.append(2.0 * (flipped @ differences) - differences.sum())
    return np.concatenate(parts), False

"""Is a published summary possible at all? Bounds, lattices, SD conventions, KS statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np
from scipy.optimize import minimize_scalar

from seedstudy.statistics.ks import ks_exact_pvalue
from seedstudy.statistics.published import Printed

CONVENTIONS = (1, 0)
MOST_STEPS = 400
"""Largest number of (runs x lattice steps) for which all sums of squares are counted."""


@dataclass(frozen=True)
class SummaryCheck:
    """What a published mean, SD, minimum and maximum of n runs allow.

    ``ddof`` are the conventions of the SD (1: n - 1, 0: n) under which the summary is possible for unrounded values,
    ``lattice_ddof`` those for values on the lattice (None: not checked). ``problems`` name what is impossible.
    """

    ddof: tuple[int, ...]
    lattice_ddof: tuple[int, ...] | None
    problems: tuple[str, ...]


def check_summary(
    n: int, mean: Printed, sd: Printed, minimum: Printed, maximum: Printed, lattice: float | None = None
) -> SummaryCheck:
    """Check whether n values can have the mean, SD, minimum and maximum that were printed.

    Parameters
    ----------
    n : int
        Number of runs, >= 2.
    mean, sd, minimum, maximum : Printed
        As printed, with their last digits' steps.
    lattice : float, optional
        Step to which the values were rounded before the summary, where that is known or suspected.

    Returns
    -------
    SummaryCheck

    Raises
    ------
    ValueError
        If n < 2.

    Notes
    -----
    With one value at each end, the sum of squares about the mean m is smallest when all others agree, and at most
    n (max - m) (m - min) (Bhatia and Davis 2000). On a lattice every pair of sum and sum of squares that n values with
    those ends can have is counted (the idea of GRIM and GRIMMER: Brown and Heathers 2017, Anaya 2016).
    """
    if n < 2:
        raise ValueError("a spread needs at least 2 runs")
    problems = []
    if maximum.high < minimum.low:
        return SummaryCheck((), None, (f"maximum {maximum.value:g} lies below minimum {minimum.value:g}",))
    bounds = _square_sums(n, mean, minimum, maximum)
    possible: tuple[int, ...] = ()
    if bounds is None:
        problems.append(
            f"mean {mean.value:g} of {n} values is impossible between {minimum.value:g} and {maximum.value:g}"
        )
    else:
        low, high = bounds
        # A shade of tolerance: the printed ends themselves are possible.
        possible = tuple(
            ddof
            for ddof in CONVENTIONS
            if np.sqrt(low / (n - ddof)) <= sd.high * (1 + 1e-9) and sd.low <= np.sqrt(high / (n - ddof)) * (1 + 1e-9)
        )
        if not possible:
            problems.append(
                f"SD {sd.value:g} is impossible: {n} values from {minimum.value:g} to {maximum.value:g} with this mean "
                f"have one from {np.sqrt(low / n):.2g} to {np.sqrt(high / (n - 1)):.2g}"
            )
    on_lattice = None
    if lattice is not None and not problems:
        on_lattice = _lattice_conventions(n, mean, sd, minimum, maximum, lattice)
        if on_lattice == ():
            problems.append(f"no {n} values on the lattice {lattice:g} have this mean, SD, minimum and maximum")
    return SummaryCheck(possible, on_lattice, tuple(problems))


def _square_sums(n: int, mean: Printed, minimum: Printed, maximum: Printed) -> tuple[float, float] | None:
    """Bounds of the sum of squares about the mean, over all that prints so; None if the mean is impossible."""
    # The mean lies lowest with all but one run at the minimum, highest with all but one at the maximum.
    low = max(mean.low, minimum.low + (max(maximum.low, minimum.low) - minimum.low) / n)
    high = min(mean.high, maximum.high - (maximum.high - min(minimum.high, maximum.high)) / n)
    if low - high > 1e-12 * max(abs(low), abs(high)):
        return None

    def least(m: float) -> float:
        # Ends as near to the mean as they can be, yet each far enough that the other runs fit between them.
        below = min(minimum.high - m, 0.0)
        above = max(maximum.low - m, 0.0, -below / (n - 1))
        below = min(below, -above / (n - 1))
        rest = (below + above) ** 2 / (n - 2) if n > 2 else 0.0
        return below**2 + above**2 + rest

    high = max(low, high)
    # A convex function of the mean.
    inside = minimize_scalar(least, bounds=(low, high), method="bounded", options={"xatol": 1e-9 * (high - low)})
    middle = min(max((minimum.low + maximum.high) / 2.0, low), high)
    return min(least(low), least(high), float(inside.fun)), n * (maximum.high - middle) * (middle - minimum.low)


def _lattice_conventions(
    n: int, mean: Printed, sd: Printed, minimum: Printed, maximum: Printed, lattice: float
) -> tuple[int, ...] | None:
    """Conventions under which n values on the lattice fit; None when there are too many to count or unknown ends."""
    if max(minimum.step, maximum.step) > 1.5 * lattice:
        return None
    steps = round((maximum.value - minimum.value) / lattice)
    for end in (minimum, maximum):
        if abs(end.value / lattice - round(end.value / lattice)) > 1e-6:
            return ()
    if steps == 0:
        fits = mean.fits(minimum.value) and sd.fits(0.0)
        return CONVENTIONS if fits else ()
    if n * steps > MOST_STEPS:
        return None
    reachable = _sums_and_squares(n, steps)
    found = set()
    for total, square in zip(*np.nonzero(reachable), strict=True):
        if not mean.fits(minimum.value + lattice * total / n):
            continue
        spread = lattice * np.sqrt(max(square - total**2 / n, 0.0))
        found |= {ddof for ddof in CONVENTIONS if sd.fits(spread / np.sqrt(n - ddof))}
    return tuple(ddof for ddof in CONVENTIONS if ddof in found)


def _sums_and_squares(n: int, steps: int) -> np.ndarray:
    """Which (sum, sum of squares) n whole numbers from 0 to ``steps`` reach that hold both ends."""
    reachable = np.zeros((n * steps + 1, n * steps**2 + 1), dtype=bool)
    reachable[steps, steps**2] = True
    for _ in range(n - 2):
        grown = np.zeros_like(reachable)
        for value in range(steps + 1):
            square = value**2
            grown[value:, square:] |= reachable[: reachable.shape[0] - value, : reachable.shape[1] - square]
        reachable = grown
    return reachable


@dataclass(frozen=True)
class KsCheck:
    """Whether a printed KS statistic is possible at these n, and the exact p of the nearest possible one."""

    possible: bool
    p: float
    p_fits: bool


def check_ks(statistic: Printed, p: Printed, n: int, m: int) -> KsCheck:
    """Check a published two-sample KS statistic and its p value.

    Parameters
    ----------
    statistic, p : Printed
        As printed.
    n, m : int
        Runs an arm.

    Returns
    -------
    KsCheck
        Every statistic is a multiple of 1 over the least common multiple of n and m; ``p_fits`` says whether the exact
        p of the nearest one prints as published.
    """
    steps = lcm(n, m)
    nearest = round(statistic.value * steps) / steps
    exact = ks_exact_pvalue(nearest, n, m)
    return KsCheck(statistic.fits(nearest), exact, p.fits(exact))


@dataclass(frozen=True)
class SeriesCheck:
    """Mean and SD of a published series of runs against the ones printed beside it.

    ``mean_fits`` and ``ddof`` hold for the runs exactly as printed; ``mean_possible`` and ``ddof_possible`` for some
    runs that print so.
    """

    n: int
    mean: float
    mean_fits: bool
    mean_possible: bool
    sd: dict[int, float]
    ddof: tuple[int, ...]
    ddof_possible: tuple[int, ...]

    @property
    def problem(self) -> str:
        """What does not fit, and whether the rounding of the runs can explain it; empty when all fits."""
        parts = []
        if not self.mean_fits:
            parts.append(f"the mean of these runs is {self.mean:.6g} ({_explained(self.mean_possible)})")
        if not self.ddof:
            both = f"{self.sd[1]:.4g} (ddof 1) or {self.sd[0]:.4g} (ddof 0)"
            parts.append(f"their SD is {both} ({_explained(bool(self.ddof_possible))})")
        return "; ".join(parts)


def _explained(possible: bool) -> str:
    return "possible through the rounding of the runs" if possible else "impossible"


def check_series(values: Sequence[Printed], mean: Printed, sd: Printed) -> SeriesCheck:
    """Check a published mean and SD against the runs printed beside them.

    Parameters
    ----------
    values : sequence of Printed
        One a run, at least 2.
    mean, sd : Printed
        As printed.

    Returns
    -------
    SeriesCheck

    Raises
    ------
    ValueError
        If there are fewer than 2 values.

    Notes
    -----
    Runs rounded by at most h each move their mean by at most h, and their SD by at most h sqrt(n / (n - ddof))
    (triangle inequality of the centred vectors).
    """
    x = np.array([value.value for value in values])
    if x.size < 2:
        raise ValueError("a spread needs at least 2 runs")
    half = max(value.step for value in values) / 2.0
    centre = float(x.mean())
    spreads = {ddof: float(x.std(ddof=ddof)) for ddof in CONVENTIONS}
    possible = tuple(ddof for ddof in CONVENTIONS if sd.near(spreads[ddof], half * np.sqrt(x.size / (x.size - ddof))))
    return SeriesCheck(
        n=x.size,
        mean=centre,
        mean_fits=mean.fits(centre),
        mean_possible=mean.near(centre, half),
        sd=spreads,
        ddof=tuple(ddof for ddof in CONVENTIONS if sd.fits(spreads[ddof])),
        ddof_possible=possible,
    )

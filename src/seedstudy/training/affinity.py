"""Binding the threads of a rank to cores of its own, as the reference offers it; no bit of a run depends on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


def cores_of_rank(place: int, ranks: int, threads: int) -> set[int]:
    """Cores that belong to a rank.

    Other jobs may want a core that a job leaves over, and would be bound to the same ones: only ranks that fill the
    cores together get their own.

    Parameters
    ----------
    place, ranks : int
        Which rank of this machine, of how many there.
    threads : int
        Threads that compute in each.

    Returns
    -------
    set of int
        Numbers of the cores; all that this process may use, where ranks do not fill them.
    """
    usable = sorted(os.sched_getaffinity(0))
    if ranks * threads != len(usable):
        return set(usable)
    return set(usable[place * threads : (place + 1) * threads])


@contextmanager
def bound(cores: set[int]) -> Iterator[None]:
    """Bind this thread, and all that it starts within the block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)

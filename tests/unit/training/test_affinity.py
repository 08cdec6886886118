"""Cores of ranks: a core belongs to one rank, and only ranks that fill the machine are bound."""

import os
import threading

import pytest

from seedstudy.training import affinity


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 8, 9, 10, 11})


@pytest.mark.usefixtures("eight_cores")
def test_ranks_that_fill_the_cores_get_their_own() -> None:
    assert [affinity.cores_of_rank(place, 4, 2) for place in range(4)] == [{0, 1}, {2, 3}, {8, 9}, {10, 11}]


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize(("ranks", "threads"), [(1, 1), (2, 2), (8, 2)])
def test_other_ranks_may_use_all(ranks: int, threads: int) -> None:
    assert affinity.cores_of_rank(ranks - 1, ranks, threads) == {0, 1, 2, 3, 8, 9, 10, 11}


def test_only_threads_started_within_are_bound() -> None:
    before = os.sched_getaffinity(0)
    found = []
    with affinity.bound({min(before)}):
        started = threading.Thread(target=lambda: found.append(os.sched_getaffinity(0)))
        started.start()
        started.join()
    assert found == [{min(before)}]
    assert os.sched_getaffinity(0) == before

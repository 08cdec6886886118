"""Ten kills with a fixed seed; `make faults` does two hundred."""

import pytest

from .faults import kill_and_compare

pytestmark = pytest.mark.slow


def test_ten_kills_lose_nothing_and_change_no_table(smoke, tmp_path):
    lines = []
    hits = kill_and_compare(10, 7, tmp_path, smoke, lines.append)
    assert sum(hits.values()) == 10
    assert len(lines) >= 11

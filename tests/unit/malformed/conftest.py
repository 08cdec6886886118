"""The smoke plan with its seeds in a folder of its own, to be spoiled."""

import pytest

from seedstudy.study import ROOT

SMOKE = (ROOT / "config" / "smoke.yaml").read_text()


@pytest.fixture
def plan(tmp_path):
    """Path of the plan; both files are sound until a test writes them anew."""
    (tmp_path / "smoke-seeds.txt").write_text("1\n2\n")
    (tmp_path / "plan.yaml").write_text(SMOKE)
    return tmp_path / "plan.yaml"


@pytest.fixture
def collect(seedstudy, plan):
    """Collect from the ledger beside the plan: the cheapest command that reads a plan, its seeds and records."""

    def run():
        return seedstudy("collect", "--plan", plan, "--ledger", plan.parent / "ledger", "--output", plan.parent / "o")

    return run


def written(path, content):
    """Write text or bytes."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

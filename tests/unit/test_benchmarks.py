"""That benchmarks run, at a tiny size; what they measure is no test."""

import subprocess
import sys

import pytest

from seedstudy.study import ROOT


@pytest.mark.slow
def test_benchmark_of_metrics_runs_without_its_peers(tmp_path):
    script = tmp_path / "benchmarks" / "metrics.py"  # a checkout in which no environment of peers was made
    script.parent.mkdir()
    for name in ("metrics.py", "report.py"):
        script.with_name(name).write_bytes((ROOT / "benchmarks" / name).read_bytes())
    (tmp_path / "src").symlink_to(ROOT / "src")
    output = tmp_path / "metrics.md"
    command = [sys.executable, script, "--full", "300", "--displays", "200", "--repeats", "2", "--output", output]
    subprocess.run(command, check=True)
    text = output.read_text()
    assert text.endswith("ranx is not installed: `make benchmarks/peers/.venv`.\n")
    values = {line.split("|")[-2].strip() for line in text.splitlines() if line.startswith(("| seed", "| a loop"))}
    assert len(values) == 1

"""Each command in a Python of its own: nothing that it needs is imported by chance, by another command or a test."""

import subprocess
import sys

import pytest

from seedstudy.reference import reference_path

RUNS = "arm,seed,m\na,1,0.50\na,2,0.52\na,3,0.51\nb,1,0.60\nb,2,0.63\nb,3,0.61\n"
LOG = 'DLLL {"timestamp": "1", "elapsedtime": "1", "type": "LOG", "step": [], "data": {"m": 0.5}}\n'
COMMANDS = [
    "compare runs.csv --between arm=a,b --metric m --margin 0.2",
    "summary runs.csv --within arm --metric m",
    "factors runs.csv --axis arm=a,b --metric m --margin 0.2",
    "plan --margin 0.2 --sd 0.01",
    "simulate --n 3 --sd 0.01 --margin 0.2 --studies 10",
    "import logs --pattern {arm}/seed{seed}.json --format dllogger --metric m --within arm --output out.csv",
    "reanalyse widedeep_amp_impact.csv --margin 2e-4",
    "reanalyse widedeep_stability.csv --margin 2e-4 --axis gpus=1,8 --axis xla=false,true "
    "--axis architecture=a100,v100 --axis precision=fp32|tf32,amp",
    "reanalyse published_per_seed.csv",
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_what_it_needs(tmp_path, command):
    (tmp_path / "runs.csv").write_text(RUNS)
    (tmp_path / "logs" / "a").mkdir(parents=True)
    (tmp_path / "logs" / "a" / "seed1.json").write_text(LOG)
    for name in ("widedeep_amp_impact.csv", "widedeep_stability.csv", "published_per_seed.csv"):
        (tmp_path / name).symlink_to(reference_path(name))
    code = "from seedstudy.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

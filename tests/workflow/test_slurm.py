"""The smoke study on a real Slurm gives the records of the local run."""

import pytest

from .cluster import missing, slurm
from .conftest import fingerprints, run

LACKING = missing()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(LACKING is not None, reason=f"no Slurm: {LACKING}")]
SNAKEMAKE = (
    *("snakemake", "--profile", "profiles/slurm", "--configfile", "config/smoke.yaml"),
    # No slurmdbd here, without which `sacct` answers nothing.
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
    *("--seconds-between-status-checks", "2", "--latency-wait", "5"),
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm(tmp_path_factory.mktemp("slurm") / "cluster") as running:
        yield running


def test_the_study_on_slurm_gives_the_records_of_the_local_run(smoke, plan, clone, cluster):
    run(*SNAKEMAKE, cwd=clone, env=cluster.variables, timeout=1200)
    assert fingerprints(clone, plan) == fingerprints(smoke, plan)
    jobs = cluster.run("scontrol", "show", "jobs", "--oneliner").splitlines()
    trained = [job for job in jobs if "Comment=rule_train" in job]
    assert len(trained) == len(plan.configurations)
    assert all("JobState=COMPLETED" in job for job in trained)
    assert {word for job in trained for word in job.split() if word.startswith("NodeList=")} == {
        "NodeList=cpu1",
        "NodeList=cpu2",
    }
    for name in ("runs.csv", "amp_impact.md"):
        assert (clone / plan.output.results / name).is_file()

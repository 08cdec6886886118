"""Studies on a real Slurm: the records of the local run, over one node and several, and through the cluster's faults."""

import contextlib
import os
import re
import signal
import subprocess
import time

import psutil
import pytest
import yaml

from .cluster import missing, slurm
from .conftest import SMOKE, fingerprints, run

LACKING = missing()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(LACKING is not None, reason=f"no Slurm: {LACKING}")]
SNAKEMAKE = (
    *("snakemake", "--profile", "profiles/slurm"),
    # No slurmdbd here, without which `sacct` answers nothing.
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
    *("--seconds-between-status-checks", "2", "--latency-wait", "5"),
)
NAME = "x86_64_v3-fp32-noxla-1w"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm(tmp_path_factory.mktemp("slurm") / "cluster") as running:
        yield running


def changed_plan(folder, resources, **changes):
    """The smoke plan in a clone's folder with other resources of its jobs; nothing of it changes a run."""
    plan = yaml.safe_load(SMOKE.read_text()) | changes
    plan["architectures"]["x86_64_v3"]["cluster"] = resources
    (folder / "config" / "changed.yaml").write_text(yaml.safe_dump(plan))
    return ("--configfile", "config/changed.yaml")


def trained(cluster):
    """Slurm's own view of the training jobs, as one dictionary each, oldest first."""
    lines = cluster.run("scontrol", "show", "jobs", "--oneliner").splitlines()
    jobs = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]
    return sorted((job for job in jobs if job.get("Comment", "").startswith("rule_train")), key=lambda j: int(j["JobId"]))


def test_the_study_on_slurm_gives_the_records_of_the_local_run(smoke, plan, clone, cluster):
    """On two nodes, and configurations of two workers over both: one rank on each."""
    run(*SNAKEMAKE, *changed_plan(clone, {"workers_per_node": 1}), cwd=clone, env=cluster.variables, timeout=1200)
    assert fingerprints(clone, plan) == fingerprints(smoke, plan)
    jobs = trained(cluster)
    assert len(jobs) == len(plan.configurations)
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    assert sorted({job["NodeList"] for job in jobs}) == ["cpu1", "cpu2", "cpu[1-2]"]
    assert sum(job["NumNodes"] == "2" for job in jobs) == 4
    for name in ("runs.csv", "amp_impact.md"):
        assert (clone / plan.output.results / name).is_file()


def test_each_rank_is_given_a_gpu_of_the_node(clone, cluster):
    """GPUs that are none: Slurm gives as many as there are ranks, and TensorFlow then says that it finds none of them."""
    gpu = {"device": "gpu", "gpu_name": "A100", "full_precision": "tf32", "amp": "float16"}
    gpu["cluster"] = {"partition": "gpu", "memory_mb": 1000}  # A third attempt fits too.
    plan = yaml.safe_load(SMOKE.read_text()) | {"architectures": {"a100": gpu}}
    plan |= {"axes": {"precision": ["full"], "xla": [False], "workers": [1, 2]}, "families": []}
    (clone / "config" / "gpus.yaml").write_text(yaml.safe_dump(plan))
    before = len(trained(cluster))
    command = (*SNAKEMAKE, "--configfile", "config/gpus.yaml")
    with (clone / "said").open("wb") as said:
        study = subprocess.Popen(command, cwd=clone, env=os.environ | cluster.variables, stdout=said, stderr=said)
    try:
        for workers, given in (1, r"\d"), (2, r"\d,\d"):
            problem = rf"finds 0 GPU\(s\), CUDA_VISIBLE_DEVICES is {given}; one GPU"
            deadline, logs = time.monotonic() + 120, f"logs/train/*/a100-tf32-noxla-{workers}gpu.*.log"
            while not any(re.search(problem, log.read_text()) for log in clone.glob(logs)):
                assert time.monotonic() < deadline, (clone / "said").read_text()
                time.sleep(0.2)
    finally:
        study.kill()  # Its second and third attempts would say the same.
        study.wait()
    # One that was just submitted again has no node yet.
    deadline, jobs = time.monotonic() + 120, trained(cluster)[before:]
    while not {job["JobState"] for job in jobs} <= {"FAILED", "COMPLETED"}:
        assert time.monotonic() < deadline, jobs
        time.sleep(0.2)
        jobs = trained(cluster)[before:]
    assert {job["NodeList"] for job in jobs} == {"gpu1"}
    assert {re.search(r"gpu[:=](\d)", job["TresPerNode"])[1] for job in jobs} == {"1", "2"}


class Study:
    """A study of one configuration, a job for each of its two seeds, that runs while something happens to its cluster."""

    def __init__(self, folder, cluster, resources=None):
        self.folder, self.cluster = folder, cluster
        self.before = {job["JobId"] for job in trained(cluster)}
        axes = {"precision": ["full"], "xla": [False], "workers": [1]}
        self.plan = changed_plan(folder, resources or {}, axes=axes, families=[], seeds_per_job=1)
        self.start()

    def start(self):
        variables = os.environ | self.cluster.variables
        with (self.folder / "said").open("ab") as said:
            command = [*SNAKEMAKE, *self.plan]
            self.process = subprocess.Popen(command, cwd=self.folder, env=variables, stdout=said, stderr=said)

    def jobs(self):
        return [job for job in trained(self.cluster) if job["JobId"] not in self.before]

    def running(self):
        """Its first job whose trainer holds its seed."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            held = " ".join(path.read_text() for path in self.folder.glob("ledger/*/.seed-*.lease"))
            for job in self.jobs():
                if job["JobState"] == "RUNNING" and f"Slurm job {job['JobId']}" in held:
                    return job["JobId"]
            time.sleep(0.1)
        raise AssertionError(self.said())

    def said(self):
        return (self.folder / "said").read_text()

    def ends(self):
        assert self.process.wait(300) == 0, self.said()
        return [job["JobState"] for job in self.jobs()]


@pytest.fixture
def study(clone, cluster):
    started = []

    def start(**more):
        started.append(Study(clone, cluster, **more))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        for job in one.jobs():
            subprocess.run(["scancel", job["JobId"]], env=os.environ | cluster.variables)


def hold(job):
    """Stop the trainer of a job, as if it computed for hours."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if "seedstudy.training.rank" in process.cmdline() and process.environ().get("SLURM_JOB_ID") == job:
                process.suspend()


def undisturbed(smoke, plan):
    return {key: found for key, found in fingerprints(smoke, plan).items() if key[0] == NAME}


def test_a_controller_that_is_restarted_ends_no_job(smoke, plan, clone, cluster, study):
    running = study()
    running.running()
    cluster.stop("slurmctld")
    time.sleep(5)
    cluster.start("slurmctld")
    cluster.wait_for_controller()
    assert running.ends() == ["COMPLETED", "COMPLETED"]
    assert fingerprints(clone, plan) == undisturbed(smoke, plan)


@pytest.mark.parametrize("fault", ["cancelled", "over its time", "node down"])
def test_a_job_that_the_cluster_ends_is_submitted_again(smoke, plan, clone, cluster, study, fault):
    running = study()
    job = running.running()
    if fault == "cancelled":
        cluster.run("scancel", job)
    elif fault == "over its time":
        hold(job)  # Slurm looks at the time twice a minute.
        cluster.run("scontrol", "update", f"JobId={job}", "TimeLimit=00:00:01")
    else:
        (node,) = [found["NodeList"] for found in running.jobs() if found["JobId"] == job]
        cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
        cluster.wait_until_idle()  # It comes back by itself, as this cluster returns its nodes to service.
    states = running.ends()
    assert states.count("COMPLETED") == 2
    assert fingerprints(clone, plan) == undisturbed(smoke, plan)
    # Named as it failed, with its job, unless Slurm itself put it back into the queue.
    assert fault == "node down" or re.search(rf"SLURM-job '{job}' failed|jobid '?{job}'?.*failed", running.said())


def test_a_job_out_of_memory_is_given_more_the_next_time(smoke, plan, clone, cluster, study):
    running = study(resources={"memory_mb": 600})
    states = running.ends()
    asked = {re.search(r"mem=(\d+M|\d+G)", job["TRES"])[1] for job in running.jobs()}
    assert asked >= {"600M", "1200M"}
    assert states.count("COMPLETED") == 2
    assert fingerprints(clone, plan) == undisturbed(smoke, plan)


def test_a_study_started_again_beside_its_own_jobs_trains_no_seed_twice(smoke, plan, clone, cluster, study):
    running = study()
    job = running.running()
    running.process.send_signal(signal.SIGKILL)
    running.process.wait()
    run("snakemake", "--unlock", *running.plan, cwd=clone)
    running.start()
    running.process.wait(300)
    if running.process.returncode:
        # It ended itself beside the holder, with the holder's name, and goes on once that is done.
        assert re.search(rf"seed \d is being trained by process \d+ on \S+, Slurm job {job};", running.said())
        running.start()
        running.process.wait(300)
    assert running.process.returncode == 0, running.said()
    assert fingerprints(clone, plan) == undisturbed(smoke, plan)
    shown = "".join(path.read_text() for path in clone.glob("logs/slurm/**/*.log"))
    assert sorted(re.findall(rf"{NAME} seed (\d) \(", shown)) == ["1", "2"]

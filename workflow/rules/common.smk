"""What the rules share: the checked plan, the paths that follow from it, and what a run needs of this machine."""

import os
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

from seedstudy import errors, hardware, owner, study


def checked_plan():
    """The plan that --configfile names, or the default one, and only as its file says it."""
    files = [Path(name) for name in workflow.configfiles]
    if len(files) > 1:
        sys.exit(f"seedstudy: {len(files)} plans are given; a study has one: --configfile FILE")
    unknown = {key for key in workflow.config_settings.config if key != "retry_failed"}
    if unknown:
        sys.exit(f"seedstudy: --config {', '.join(sorted(unknown))}: change the plan's file, or use one of your own")
    path = files[0] if files else ROOT / "config" / "default.yaml"
    if set(str(path)) & set("{}"):
        sys.exit(f"seedstudy: {path}: its path holds a brace, which Snakemake takes for a wildcard; rename it")
    # What runs elsewhere needs no cores here.
    here = workflow.resource_settings.nodes is None and workflow.workflow_settings.exec_mode.value == 0
    try:
        plan = study.load_plan(path, study.usable_cores() if here else None)
        owner.refuse_other_study(Path(plan.output.results), plan)
    except errors.UserError as error:
        sys.exit(f"seedstudy: {error}")
    return plan


def lacking_hardware():
    """The first thing that this machine lacks for the trainings and timings that are about to run, or None."""
    planned = {
        job.wildcards.configuration
        for job in workflow.dag.needrun_jobs()
        if job.rule.name in ("train", "benchmark_configuration", "audit_configuration", "source_runs")
    }
    for name in sorted(planned, key=lambda name: (-PLAN.configuration(name).workers, name)):
        lacking = hardware.missing_hardware(PLAN, PLAN.configuration(name))
        if lacking:
            return f"{PLAN.path}: architectures.{PLAN.configuration(name).architecture}: {lacking}"
    return None


def architecture_of(wildcards):
    """Block of the plan that a job's configuration belongs to."""
    return PLAN.architectures[PLAN.configuration(wildcards.configuration).architecture]


def nodes_of_job(wildcards):
    """Nodes of a job."""
    return architecture_of(wildcards).cluster.nodes(PLAN.configuration(wildcards.configuration).workers)


def ranks_on_a_node(wildcards):
    """Ranks of a job on each of its nodes."""
    return PLAN.configuration(wildcards.configuration).workers // nodes_of_job(wildcards)


def gpus_of_job(wildcards):
    """GPUs on each node of a job, one a rank, as Slurm's generic resource; nothing for a CPU."""
    if architecture_of(wildcards).device == "cpu":
        return None
    return f"gpu:{ranks_on_a_node(wildcards)}"


def of_cluster(seeds, extra=""):
    """Resources of a rule whose jobs train so many seeds (a number or a function of the wildcards), for Slurm.

    A job of several nodes is one that Snakemake starts without srun (`mpi`): its launcher calls srun for the ranks.
    """

    def minutes(wildcards, attempt):
        count = seeds(wildcards) if callable(seeds) else seeds
        return architecture_of(wildcards).cluster.minutes(count, attempt)

    def on_several(value):
        return lambda wildcards: value(wildcards) if nodes_of_job(wildcards) > 1 else None

    def options(wildcards):
        spread = f"--ntasks-per-node={ranks_on_a_node(wildcards)}" if nodes_of_job(wildcards) > 1 else ""
        return f"{extra} {spread}".strip() or None

    return {
        "mem_mb": lambda wildcards, attempt: architecture_of(wildcards).cluster.memory_mb * attempt,
        "runtime": minutes,
        "slurm_partition": lambda wildcards: architecture_of(wildcards).cluster.partition,
        "constraint": lambda wildcards: architecture_of(wildcards).cluster.constraint,
        "gres": gpus_of_job,
        "nodes": on_several(nodes_of_job),
        "mpi": on_several(lambda wildcards: "srun"),
        "tasks": on_several(lambda wildcards: PLAN.configuration(wildcards.configuration).workers),
        # Else the plugin asks for `tasks` of them on each GPU.
        "tasks_per_gpu": on_several(lambda wildcards: 0),
        "cpus_per_task": on_several(lambda wildcards: PLAN.threads_per_worker),
        "slurm_extra": options,
    }


def ranks_by_threads(wildcards):
    """Cores that a configuration computes on."""
    return PLAN.configuration(wildcards.configuration).workers * PLAN.threads_per_worker


def all_cores(wildcards):
    """All cores, though fewer may be used: nothing may run beside what is timed. On a cluster its own cores suffice.

    Found for each job, since Snakemake knows no number of cores when it only unlocks.
    """
    return workflow.cores if workflow.local_exec else ranks_by_threads(wildcards)


def sources(*areas):
    """Source files of parts of the package, which their tables and figures depend on."""
    return sorted(str(path) for area in areas for path in (ROOT / "src" / "seedstudy" / area).rglob("*.py"))


PLAN = checked_plan()
BATCHES = {batch.name: batch.seeds for batch in PLAN.batches}
# An infrastructure fault is tried again; a run that diverges is a result and exits 0, so this never trains it twice.
ATTEMPTS = 3

DATA = f"build/data/{PLAN.data_digest}"
MARKERS = [
    f"build/{configuration.run_digest}/{configuration.id}.{batch}.ok"
    for configuration in PLAN.configurations
    for batch in BATCHES
]
RUNS = f"{PLAN.output.results}/runs.csv"
# Runs that are there are a plain file where they only stand beside something else, no output of `collect`: else making
# the data that this something needs would also train.
STUDIED = os.path.abspath(RUNS) if os.path.exists(RUNS) else RUNS
TABLES = [
    f"{PLAN.output.results}/{name}.{kind}"
    for name in ("stability", *(f"{family.name}_impact" for family in PLAN.families))
    for kind in ("csv", "md")
]
FIGURES = [
    f"{PLAN.output.figures}/{name}.{kind}"
    for name in (
        "learning_curves",
        "stability",
        *(f"{family.name}_influence" for family in PLAN.families),
    )
    for kind in ("svg", "png")
]
MEASURED = [
    f"build/benchmark/{configuration.run_digest}/{configuration.id}.json" for configuration in PLAN.configurations
]
BENCHMARKS = f"{PLAN.output.results}/benchmarks.csv"
BENCHMARK_TABLES = [
    f"{PLAN.output.results}/{name}.{kind}"
    for name in ("benchmark_training", "benchmark_evaluation", "benchmark_latency", "time_to_train")
    for kind in ("csv", "md")
]
BENCHMARK_FIGURES = [
    f"{PLAN.output.figures}/{name}.{kind}"
    for name in ("benchmark_throughput", "benchmark_scaling")
    for kind in ("svg", "png")
]


wildcard_constraints:
    configuration="|".join(configuration.id for configuration in PLAN.configurations),
    run_digest="|".join(configuration.run_digest for configuration in PLAN.configurations),
    batch="|".join(BATCHES),


onstart:
    if workflow.local_exec and (lacking := lacking_hardware()):
        sys.exit(f"seedstudy: {lacking}")
    written_now()

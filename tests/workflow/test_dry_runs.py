"""What Snakemake plans in a fresh clone: `all` trains, tables and figures never do."""

import json
import re
import shlex
import shutil

import pytest

from seedstudy.collect import runs_csv, runs_table
from seedstudy.runs import RunRecord
from seedstudy.study import load_plan

from .conftest import run

pytestmark = pytest.mark.slow


def planned(clone, *arguments):
    """Rules that a dry run would run, with the number of their jobs."""
    shown = run("snakemake", "--cores", "2", "-n", *arguments, cwd=clone).stdout
    table = shown.partition("Job stats:")[2].partition("\n\n")[0]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}


@pytest.fixture
def with_runs(clone):
    """A clone in which the default study's runs are committed, and its tables and figures older."""
    plan = load_plan(clone / "config" / "default.yaml")
    records = [
        RunRecord(
            configuration=c.id,
            model="wide_deep",
            dataset="made up",
            architecture=c.architecture,
            precision=c.precision,
            compute_type=c.compute_type,
            xla=c.xla,
            workers=c.workers,
            seed=seed,
            status="ok",
            metrics={"map12": 0.6 + seed / 1e6},
            epochs=1,
            run_digest=c.run_digest,
            plan_digest=plan.plan_digest,
            provenance={},
        )
        for c in plan.configurations
        for seed in plan.seeds
    ]
    (clone / "results").mkdir(exist_ok=True)
    (clone / "results" / "runs.csv").write_text(runs_csv(runs_table(records)))
    return clone


def test_all_trains_every_configuration_once(with_runs):
    jobs = planned(with_runs, "all")
    assert (jobs["data"], jobs["train"], jobs["collect"]) == (1, 16, 1)


@pytest.mark.parametrize("edit", [None, "margin", "seeds", "model"])
def test_tables_and_figures_never_train_also_after_an_edit_of_the_plan(with_runs, edit):
    plan, seeds = with_runs / "config" / "default.yaml", with_runs / "seeds.txt"
    if edit == "margin":
        plan.write_text(re.sub(r"value: \S+", "value: 0.5", plan.read_text(), count=1))
    if edit == "model":
        plan.write_text(plan.read_text().replace("dropout: 0.1", "dropout: 0.2"))
    if edit == "seeds":
        seeds.write_text(seeds.read_text() + "424242\n")
    assert set(planned(with_runs, "figures", "tables")) <= {"figures", "tables", "compare", "plots", "total"}


def test_a_fresh_clone_without_runs_still_plans(clone):
    shutil.rmtree(clone / "results", ignore_errors=True)
    assert planned(clone, "all")["train"] == 16


def test_the_published_study_plans_anywhere_and_says_what_it_lacks(clone):
    assert planned(clone, "all", "--configfile", "config/dgx.yaml")["train"] == 320
    refused = run("snakemake", "--cores", "2", "--configfile", "config/dgx.yaml", cwd=clone, check=False)
    assert refused.returncode != 0
    (line,) = [line for line in refused.stderr.splitlines() if line.startswith("seedstudy: ")]
    assert re.search(r"architectures\.a100: needs 8 .*GPU\(s\), nvidia-smi lists \d here", line)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--config", "margin=1"], "--config margin: change the plan's file"),
        (["--configfile", "config/smoke.yaml", "config/dgx.yaml"], "2 plans are given; a study has one"),
        (["--configfile", "bad.yaml"], "bad.yaml: mar: unknown key"),
        (["--configfile", "twice.yaml"], "twice.yaml, line 48: key 'alpha' is given twice"),
        (["--configfile", "wild.yaml"], "wild.yaml: output.results: holds a brace"),
        (["--configfile", "{x}.yaml"], "{x}.yaml: its path holds a brace, which Snakemake takes for a wildcard; rename it"),
    ],
)
def test_a_bad_call_is_one_line(clone, arguments, line):
    text = (clone / "config" / "smoke.yaml").read_text().replace("seeds_file: ", "seeds_file: config/")
    (clone / "bad.yaml").write_text(text + "mar: 1\n")
    (clone / "twice.yaml").write_text(text + "alpha: 0.1\n")
    (clone / "{x}.yaml").write_text(text)
    (clone / "wild.yaml").write_text(text.replace("build/smoke/results", "'{x}'"))
    done = run("snakemake", "--cores", "2", "-n", *arguments, cwd=clone, check=False)
    assert done.returncode != 0
    (said,) = [text for text in done.stderr.splitlines() if not text.startswith("Using ")]
    assert said.startswith("seedstudy: ")
    assert line in said


def test_no_shell_reads_what_a_plan_calls_its_folders(with_runs):
    """The rule really runs: its command is for bash what it is for a reader."""
    folder = "it's \"$(touch pwned)\" `touch pwned`; touch pwned & \\"
    plan = with_runs / "config" / "default.yaml"
    output = json.dumps({"results": folder, "figures": "figures"})
    plan.write_text(re.sub("^output: .*$", lambda _: f"output: {output}", plan.read_text(), flags=re.MULTILINE))
    (with_runs / "results").rename(with_runs / folder)
    done = run("snakemake", "--cores", "2", "-p", "tables", "--forcerun", "compare", cwd=with_runs)
    (command,) = [line for line in done.stderr.splitlines() if line.startswith("Shell command: seedstudy tables")]
    words = shlex.split(command)
    assert words[words.index("--runs") + 1] == f"{folder}/runs.csv"
    assert words[words.index("--output") + 1] == folder
    assert (with_runs / folder / "stability.md").exists()
    assert not list(with_runs.rglob("pwned"))


@pytest.fixture
def timed(with_runs):
    """A clone with runs, whose default plan asks for benchmarks as well."""
    plan = with_runs / "config" / "default.yaml"
    if load_plan(plan).benchmark is None:
        section = "benchmark: {training_batches: [64], inference_batches: [8], warmup_steps: 1, steps: 2, repeats: 3}"
        plan.write_text(f"{plan.read_text()}\n{section}\n")
    (with_runs / "results" / "benchmarks.csv").unlink(missing_ok=True)
    return with_runs


def test_benchmarks_time_every_configuration_and_train_none(timed):
    jobs = planned(timed, "benchmarks")
    assert (jobs["data"], jobs["benchmark_configuration"], jobs["benchmark_collect"]) == (1, 16, 1)
    assert "train" not in jobs
    shown = run("snakemake", "--cores", "2", "-n", "benchmarks", cwd=timed).stdout
    # One worker of one thread, and yet nothing runs beside it.
    part = shown.partition("configuration=x86_64_v3-fp32-xla-1w")[2]
    assert part.partition("resources:")[0].split() == ["threads:", "2"]


def test_pages_of_benchmarks_come_from_the_committed_table(timed):
    (timed / "results" / "benchmarks.csv").write_text("")
    expected = {"benchmark_tables", "benchmark_figures", "benchmarks", "total"}
    assert set(planned(timed, "benchmarks")) == expected
    again = ("--forcerun", "benchmark_configuration", "benchmark_collect")
    assert planned(timed, "benchmarks", *again)["benchmark_configuration"] == 16


def test_benchmarks_are_no_part_of_the_study(timed):
    assert not [rule for rule in planned(timed, "all") if rule.startswith("benchmark")]


def test_benchmarks_of_a_plan_without_the_section_are_one_line(timed):
    plan = timed / "config" / "default.yaml"
    plan.write_text(re.sub(r"^benchmark:.*\n( .*\n)*", "", plan.read_text(), flags=re.MULTILINE))
    done = run("snakemake", "--cores", "2", "-n", "benchmarks", cwd=timed, check=False)
    assert done.returncode != 0
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("Using ")]
    assert re.match(r"seedstudy: \S+default\.yaml: benchmark: is missing; add it", line)


def test_slurm_profile_plans(clone):
    shown = run("snakemake", "--profile", "profiles/slurm", "-n", "--configfile", "config/dgx.yaml", cwd=clone).stdout
    assert "gres=gpu:8" in shown


def test_a_folder_of_results_belongs_to_one_study(with_runs):
    (with_runs / "results" / ".study").write_text("default\n")
    assert planned(with_runs, "tables")
    text = (with_runs / "config" / "default.yaml").read_text()
    (with_runs / "config" / "other.yaml").write_text(text.replace("name: default", "name: other"))
    done = run("snakemake", "-n", "--configfile", "config/other.yaml", cwd=with_runs, check=False)
    assert done.returncode == 1
    problem = "results holds the study default; name another folder, or remove that one"
    assert f"seedstudy: {with_runs}/config/other.yaml: output.results: {problem}" in done.stderr.splitlines()

"""The smoke study, run for real: replay, kill, markers, failures, seeds appended."""

import json
import os
import re
import signal
import subprocess
import time

import pandas as pd
import pytest
import yaml

from seedstudy.runs import Ledger

from .conftest import BIN, SMOKE, copy_of_checkout, fingerprints, run
from .test_dry_runs import planned

pytestmark = pytest.mark.slow

CONFIGURATIONS = [f"x86_64_v3-{p}-{x}-{w}w" for p in ("fp32", "amp") for x in ("xla", "noxla") for w in (1, 2)]
SMOKE_PLAN = ("--configfile", "config/smoke.yaml")


def test_the_study_gives_runs_tables_and_figures(smoke, plan):
    table = pd.read_csv(smoke / plan.output.results / "runs.csv")
    assert len(table) == 16
    wanted = (
        "configuration model dataset architecture precision xla workers seed status map12 loss auc epochs "
        "train_seconds samples_per_second weights_digest plan_digest commit"
    )
    assert set(wanted.split()) <= set(table.columns)
    assert set(table.status) == {"ok"}
    for name in ("stability.md", "stability.csv", "amp_impact.md", "amp_impact.csv"):
        assert (smoke / plan.output.results / name).stat().st_size
    for name in ("learning_curves", "stability", "amp_influence"):
        for kind in ("svg", "png"):
            assert (smoke / plan.output.figures / f"{name}.{kind}").stat().st_size


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_seed_alone_is_bitwise_the_seed_in_a_batch_after_another(smoke, plan, configuration):
    done = run(
        "seedstudy", "train", "--plan", SMOKE, "--configuration", configuration, "--seed", plan.seeds[1],
        "--data", smoke / "build" / "data" / plan.data_digest,
    )  # fmt: skip
    alone = json.loads(done.stdout)
    batched = fingerprints(smoke, plan)[configuration, plan.seeds[1]]
    assert (alone["status"], alone["weights_digest"], alone["metrics"]) == batched
    assert alone["provenance"]["in_force"]


def test_a_study_killed_and_run_again_is_bitwise_the_undisturbed_one(smoke, plan, tmp_path):
    folder = copy_of_checkout(tmp_path / "clone")
    command = ["snakemake", "--cores", "2", *SMOKE_PLAN]
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    with open(tmp_path / "killed.log", "w") as log:
        study = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, start_new_session=True, env={**os.environ, "PATH": path}
        )
        deadline = time.monotonic() + 240
        while not list(folder.glob("ledger/*/seed-*.json")) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(study.pid, signal.SIGKILL)
        study.wait()
    before = {path: path.stat().st_mtime_ns for path in folder.glob("ledger/*/seed-*.json")}
    assert 1 <= len(before) < 16
    run("snakemake", "--unlock", *SMOKE_PLAN, cwd=folder)
    run(*command, cwd=folder)
    assert {path: path.stat().st_mtime_ns for path in before} == before  # trained once, kept as they were
    assert fingerprints(folder, plan) == fingerprints(smoke, plan)
    unlike = ["train_seconds", "samples_per_second", "evaluation_seconds", "commit"]
    tables = [pd.read_csv(root / plan.output.results / "runs.csv").drop(columns=unlike) for root in (folder, smoke)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def test_nothing_is_left_to_do_and_a_lost_marker_repeats_its_job_alone(finished, plan):
    assert planned(finished, "all", *SMOKE_PLAN) == {}
    configuration = plan.configurations[0]
    (marker,) = finished.glob(f"build/{configuration.run_digest}/{configuration.id}.*.ok")
    marker.unlink()
    assert planned(finished, "all", *SMOKE_PLAN)["train"] == 1
    ledger = {path: path.stat().st_mtime_ns for path in finished.glob("ledger/*/*.json")}
    run("snakemake", "--cores", "2", marker.relative_to(finished), *SMOKE_PLAN, cwd=finished)
    assert {path: path.stat().st_mtime_ns for path in finished.glob("ledger/*/*.json")} == ledger


def test_a_changed_margin_trains_nothing_and_a_seed_more_trains_that_seed_only(finished, plan, tmp_path):
    (tmp_path / "seeds.txt").write_text("".join(f"{seed}\n" for seed in (*plan.seeds, 77)))
    text = SMOKE.read_text().replace("smoke-seeds.txt", "seeds.txt").replace("value: 2e-2", "value: 3e-2")
    (tmp_path / "plan.yaml").write_text(text)
    configuration = plan.configurations[0].id
    ledger = Ledger(finished / "ledger", plan.configurations[0].run_digest)
    seeds = [part for seed in (*plan.seeds, 77) for part in ("--seed", seed)]
    done = run(
        "seedstudy", "train", "--plan", tmp_path / "plan.yaml", "--configuration", configuration, *seeds,
        "--data", finished / "build" / "data" / plan.data_digest, "--ledger", ledger.folder.parent,
    )  # fmt: skip
    assert re.findall(r"seed (\d+) \(", done.stderr) == ["77"]


def test_a_rank_that_dies_is_tried_again_and_recorded_on_the_last_attempt(smoke, plan, tmp_path):
    configuration = plan.configurations[-1]
    data = smoke / "build" / "data" / plan.data_digest
    arguments = ["--plan", SMOKE, "--configuration", configuration.id, "--seed", "1", "--data", data]
    arguments += ["--ledger", tmp_path, "--attempts", "2"]
    # Ranks inherit the limit and cannot map TensorFlow: an infrastructure fault, in each rank.
    starved = {"preexec_fn": _starve}
    first = run("seedstudy", "train", *arguments, "--attempt", "1", check=False, **starved)
    assert first.returncode == 1
    assert re.search(rf"^seedstudy: {configuration.id}: rank \d ended with", first.stderr, re.MULTILINE)
    last = run("seedstudy", "train", *arguments, "--attempt", "2", **starved)
    record = json.loads(last.stdout)
    assert record["status"] == "failed"
    assert re.match(r"rank \d ended with", record["cause"])
    again = run("seedstudy", "train", *arguments, "--attempt", "1")
    assert json.loads(again.stdout)["status"] == "failed"
    retried = run("seedstudy", "train", *arguments, "--attempt", "1", "--retry-failed")
    assert json.loads(retried.stdout)["weights_digest"] == fingerprints(smoke, plan)[configuration.id, 1][1]


def _starve():
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (1_200_000_000, 1_200_000_000))


def test_tables_and_figures_come_from_the_committed_runs_without_tensorflow(smoke, plan, tmp_path):
    for command in ("tables", "figures"):
        code = (
            "import sys; from seedstudy.cli import main\n"
            "try: main()\n"
            "finally: assert 'tensorflow' not in sys.modules and 'horovod' not in sys.modules"
        )
        runs = smoke / plan.output.results / "runs.csv"
        arguments = [command, "--runs", runs, "--plan", SMOKE, "--output", tmp_path / command]
        run(BIN / "python", "-c", code, *arguments)
    for path in tmp_path.glob("*/*"):
        kind = plan.output.results if path.parent.name == "tables" else plan.output.figures
        assert path.read_bytes() == (smoke / kind / path.name).read_bytes()


def test_runs_repeat_to_the_bit_and_their_variance_is_split_by_stream(finished, plan):
    changed = yaml.safe_load(SMOKE.read_text()) | {"families": []}
    changed["axes"] = {"precision": ["full"], "xla": [True], "workers": [1, 2]}  # two of the eight, for time
    path = finished / "config" / "two.yaml"
    path.write_text(yaml.safe_dump(changed))
    run("snakemake", "audit", "sources", "--cores", "2", "--configfile", path, cwd=finished)
    results = finished / "build" / "smoke" / "results"
    repeats = pd.read_csv(results / "audit.csv")
    planned = repeats[repeats["planned"]]
    assert len(planned) == 2 * len(plan.seeds)
    assert planned["bitwise"].all()
    assert set(repeats["threads"]) == {1, 2}
    # Two seeds are too few for a variance, and the page says so by dashes.
    assert "| 2 " in (results / "sources.md").read_text()


def test_a_run_that_ends_below_the_floor_is_a_result_with_its_curve(smoke, plan, tmp_path):
    changed = yaml.safe_load(SMOKE.read_text()) | {"floor": 0.99, "seeds_file": str(plan.seeds_path)}
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(changed))
    data = smoke / "build" / "data" / plan.data_digest
    name, seed = "x86_64_v3-fp32-noxla-1w", plan.seeds[0]
    done = run("seedstudy", "train", "--plan", path, "--configuration", name, "--seed", seed, "--data", data)
    record = json.loads(done.stdout)
    above = Ledger(smoke / "ledger", plan.configuration(name).run_digest).read(seed)
    assert record["status"] == "diverged"
    assert record["cause"] == f"map12 {above.metrics['map12']:.6g} is below the floor 0.99"
    assert record["metrics"] == {}
    assert [point["metrics"] for point in record["curve"]] == [point.metrics for point in above.curve]
    assert record["weights_digest"] == above.weights_digest
    assert record["run_digest"] != above.run_digest

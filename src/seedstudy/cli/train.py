"""`seedstudy train` and `seedstudy collect`: from a plan to run records to the table of runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedstudy.cli import app
from seedstudy.documents import temporary_folder, writing
from seedstudy.errors import UserError

if TYPE_CHECKING:
    from seedstudy.study import Plan

PlanOption = Annotated[Path, typer.Option("--plan", help="Plan of the study, as config/default.yaml.")]


@app.command()
def train(
    plan: PlanOption,
    configuration: Annotated[str, typer.Option(help="Id, as x86_64_v3-fp32-xla-1w.")],
    seed: Annotated[list[int], typer.Option(min=0, help="Seed to train; give it once for each.")],
    data: Annotated[Path | None, typer.Option(help="Prepared data; made in a temporary folder if not given.")] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Keep records here, and train only seeds without one. Not given: always train.")
    ] = None,
    attempt: Annotated[int, typer.Option(min=1, help="Which attempt this is.")] = 1,
    attempts: Annotated[
        int | None, typer.Option(min=1, help="Of how many: on the last, seeds left unfinished are recorded as failed.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Train seeds recorded as failed again.")] = False,
) -> None:
    """Train seeds of one configuration and print their records, one JSON document a line.

    A run that diverges is a result and exits 0; a rank that dies exits 1.

    Example: seedstudy train --plan config/default.yaml --configuration x86_64_v3-fp32-xla-1w --seed 11
    """
    from seedstudy.study import load_plan
    from seedstudy.training.batch import Attempt, train_seeds

    checked = load_plan(plan)
    chosen = checked.configuration(configuration)
    with ExitStack() as stack:
        if data is None:
            from seedstudy.data.prepare import prepare

            data = stack.enter_context(temporary_folder()) / "data"
            prepare(checked.data, data, progress=lambda line: print(line, file=sys.stderr))
        if ledger is None:
            ledger = stack.enter_context(temporary_folder())
        tries = None if attempts is None else Attempt(attempt, attempts)
        stack.enter_context(ranks_of(configuration))
        records = train_seeds(checked, chosen, seed, data, ledger, tries, retry_failed)
    for record in records:
        typer.echo(record.model_dump_json())


@app.command()
def benchmark(
    plan: PlanOption,
    configuration: Annotated[str, typer.Option(help="Id, as x86_64_v3-fp32-xla-1w.")],
    data: Annotated[Path, typer.Option(help="Prepared data.")],
    output: Annotated[Path, typer.Option(help="JSON file to write: one object for each kind and batch.")],
) -> None:
    """Time training and inference of one configuration, as the plan's section `benchmark` says.

    Nothing else should run on the machine. A rank that dies exits 1.

    Example: seedstudy benchmark --plan PLAN --configuration x86_64_v3-fp32-xla-1w --data DATA --output timed.json
    """
    from seedstudy.study import load_plan
    from seedstudy.training.job import BenchmarkJob, commit
    from seedstudy.training.launch import launch

    checked = load_plan(plan)
    if checked.benchmark is None:
        raise UserError(f"{plan}: benchmark", "is missing; docs/plan.md has its keys")
    check_before(checked, configuration, output)
    job = BenchmarkJob(plan=plan, configuration=configuration, data=data, commit=commit(), output=output)
    with ranks_of(configuration):
        launch(job, module="seedstudy.training.benchmark")


@app.command()
def collect(
    plan: PlanOption,
    ledger: Annotated[Path, typer.Option(help="Root of the ledgers.")],
    output: Annotated[Path, typer.Option(help="CSV file to write, as results/runs.csv.")],
) -> None:
    """Collect the records of all runs of a plan into one table, unrounded, one row a run.

    Example: seedstudy collect --plan config/default.yaml --ledger ledger --output results/runs.csv
    """
    from seedstudy.collect import collect as collect_runs
    from seedstudy.study import load_plan

    print(f"{output}: {collect_runs(load_plan(plan), ledger, output)} runs", file=sys.stderr)


def check_before(plan: Plan, configuration: str, output: Path) -> None:
    """Refuse what this machine lacks, and an output whose folder cannot be made, before minutes are spent."""
    from seedstudy.hardware import missing_hardware

    lacking = missing_hardware(plan, plan.configuration(configuration))
    if lacking:
        raise UserError(f"{plan.path}: {configuration}", lacking)
    with writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def ranks_of(configuration: str) -> Iterator[None]:
    """Say in one line that a rank of the configuration died, and end with 1."""
    from seedstudy.training.launch import RankDied

    try:
        yield
    except RankDied as death:
        # A rank ended in the middle of a line leaves it open.
        print(f"\nseedstudy: {configuration}: {death}", file=sys.stderr)
        raise typer.Exit(1) from death

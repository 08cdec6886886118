"""`seedstudy audit` and `seedstudy sources`: do runs repeat to the bit, and which stream makes them differ by seed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from seedstudy.cli import app
from seedstudy.cli.train import PlanOption, check_before, ranks_of
from seedstudy.documents import write_files

ConfigurationOption = Annotated[str, typer.Option(help="Id, as x86_64_v3-fp32-xla-1w.")]
DataOption = Annotated[Path, typer.Option(help="Prepared data.")]
OutputOption = Annotated[Path, typer.Option(help="CSV file to write, one row a run.")]
Measured = Annotated[list[Path], typer.Argument(help="CSV files, one a configuration.")]
Folder = Annotated[Path, typer.Option(help="Folder of the table, as CSV and Markdown.")]


@app.command()
def sources(
    plan: PlanOption,
    configuration: ConfigurationOption,
    data: DataOption,
    output: OutputOption,
    seeds: Annotated[int, typer.Option(min=3, help="How many of the study's seeds; fewer if it has fewer.")] = 20,
) -> None:
    """Train seeds as they are, and again with one random stream at a time from another seed.

    Example: seedstudy sources --plan PLAN --configuration x86_64_v3-fp32-xla-1w --data DATA --output sources.csv
    """
    from seedstudy.study import load_plan
    from seedstudy.training.job import SourcesJob, commit
    from seedstudy.training.launch import launch

    checked = load_plan(plan)
    check_before(checked, configuration, output)
    chosen = checked.seeds[:seeds]
    job = SourcesJob(plan=plan, configuration=configuration, data=data, commit=commit(), seeds=chosen, output=output)
    with ranks_of(configuration, "trained"):
        launch(job, module="seedstudy.training.sources")


@app.command()
def audit(
    plan: PlanOption,
    configuration: ConfigurationOption,
    data: DataOption,
    runs: Annotated[Path, typer.Option(help="Table of runs to repeat, as results/runs.csv.")],
    output: OutputOption,
    seeds: Annotated[int, typer.Option(min=1, help="How many runs of it.")] = 3,
    threads: Annotated[list[int] | None, typer.Option(min=1, help="Threads besides the plan's; once for each.")] = None,
) -> None:
    """Train runs of a study again, in other processes and order and under load, and compare their weights.

    Example: seedstudy audit --plan PLAN --configuration x86_64_v3-fp32-xla-1w --data DATA --runs results/runs.csv
    --threads 2 --output audit.csv
    """
    from seedstudy.documents import publish
    from seedstudy.evidence import Repeat, rows_csv
    from seedstudy.imports.study import read_study
    from seedstudy.training.audit import first_runs, repeat_runs

    checked, table = read_study(runs, plan)
    chosen = checked.configuration(configuration)
    check_before(checked, configuration, output)
    known = first_runs(table.to_dict("records"), checked, configuration, seeds)
    rows = []
    with ranks_of(configuration, "trained"):
        for count in (checked.threads_per_worker, *(threads or ())):
            rows += repeat_runs(checked, chosen, known, data, count)
            same = sum(row.bitwise for row in rows if row.threads == count)
            print(f"{configuration}, {count} thread(s): {same} of {len(known)} bitwise", file=sys.stderr)
    publish(output, rows_csv(rows, Repeat))


@app.command()
def sources_table(files: Measured, plan: PlanOption, output: Folder) -> None:
    """Split the variance between seeds by random stream.

    Example: seedstudy sources-table build/sources/*.csv --plan config/default.yaml --output results
    """
    from seedstudy.study import load_plan
    from seedstudy.tables.evidence import sources_texts

    for path in write_files(output, sources_texts(files, load_plan(plan))):
        typer.echo(path)


@app.command()
def audit_table(
    files: Measured,
    plan: PlanOption,
    runs: Annotated[Path, typer.Option(help="Table of runs, for the spread between seeds.")],
    output: Folder,
) -> None:
    """Say of each configuration how many runs repeat to the bit, and how far the others are beside the seeds' spread.

    Example: seedstudy audit-table build/audit/*.csv --plan config/default.yaml --runs results/runs.csv --output results
    """
    from seedstudy.imports.study import read_study
    from seedstudy.tables.evidence import audit_texts

    checked, table = read_study(runs, plan)
    for path in write_files(output, audit_texts(files, checked, table)):
        typer.echo(path)

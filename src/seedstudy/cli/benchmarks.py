"""`seedstudy benchmark-collect`, `benchmark-tables` and `benchmark-figures`: from measurements to their pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from seedstudy.cli import app

Benchmarks = Annotated[Path, typer.Option(help="Table of benchmarks, as results/benchmarks.csv.")]
PlanOption = Annotated[Path, typer.Option("--plan", help="Plan of the study: title, metric and architectures.")]


@app.command()
def benchmark_collect(
    files: Annotated[list[Path], typer.Argument(help="JSON files of `seedstudy benchmark`, one a configuration.")],
    output: Annotated[Path, typer.Option(help="CSV file to write, as results/benchmarks.csv.")],
) -> None:
    """Collect measured configurations into one table, unrounded, in the order of the files.

    Example: seedstudy benchmark-collect build/benchmark/*/*.json --output results/benchmarks.csv
    """
    from seedstudy.imports.benchmarks import merge_benchmarks

    print(f"{output}: {merge_benchmarks(files, output)} rows", file=sys.stderr)


@app.command()
def benchmark_tables(
    benchmarks: Benchmarks,
    runs: Annotated[Path, typer.Option(help="Table of runs, as results/runs.csv, for the time to train.")],
    plan: PlanOption,
    output: Annotated[Path, typer.Option(help="Folder of the tables.")],
) -> None:
    """Write throughput of training and evaluation, latency and time to train, as CSV (unrounded) and Markdown.

    Example: seedstudy benchmark-tables --benchmarks results/benchmarks.csv --runs results/runs.csv
    --plan config/default.yaml --output results
    """
    from seedstudy.tables.benchmarks import write_benchmark_tables

    for path in write_benchmark_tables(benchmarks, runs, plan, output):
        typer.echo(path)


@app.command()
def benchmark_figures(
    benchmarks: Benchmarks,
    plan: PlanOption,
    output: Annotated[Path, typer.Option(help="Folder of the figures.")],
) -> None:
    """Draw training throughput against batch, and speed-up against workers, as SVG and PNG.

    Example: seedstudy benchmark-figures --benchmarks results/benchmarks.csv --plan config/default.yaml
    --output figures
    """
    from seedstudy.figures.benchmarks import write_benchmark_figures

    for path in write_benchmark_figures(benchmarks, plan, output):
        typer.echo(path)

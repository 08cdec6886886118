"""`seedstudy tables`: the tables of a study from its committed runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seedstudy.cli import app


@app.command()
def tables(
    runs: Annotated[Path, typer.Option(help="Table of runs, as results/runs.csv.")],
    plan: Annotated[Path, typer.Option(help="Plan of the study: metric, margin and families.")],
    output: Annotated[Path, typer.Option(help="Folder of the tables.")],
    resamples: Annotated[int, typer.Option(min=0, help="Permutations a cell; drawn from a fixed seed.")] = 10_000,
) -> None:
    """Write the stability table and one impact table a family, as CSV (unrounded) and Markdown.

    Example: seedstudy tables --runs results/runs.csv --plan config/default.yaml --output results
    """
    from seedstudy.tables.study import write_tables

    for path in write_tables(runs, plan, output, resamples):
        typer.echo(path)

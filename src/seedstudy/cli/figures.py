"""`seedstudy figures`: the figures of a study from its committed runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seedstudy.cli import app


@app.command()
def figures(
    runs: Annotated[Path, typer.Option(help="Table of runs, as results/runs.csv.")],
    plan: Annotated[Path, typer.Option(help="Plan of the study: metric, margin and families.")],
    output: Annotated[Path, typer.Option(help="Folder of the figures.")],
) -> None:
    """Draw learning curves, the spread over the seeds and one figure a family, as SVG and PNG.

    Example: seedstudy figures --runs results/runs.csv --plan config/default.yaml --output figures
    """
    from seedstudy.figures.study import write_figures

    for path in write_figures(runs, plan, output):
        typer.echo(path)

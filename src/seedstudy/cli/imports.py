"""`seedstudy import`: a table of runs from training logs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from seedstudy.cli import app, options
from seedstudy.errors import UserError


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="Folder that holds one log a run.")],
    pattern: Annotated[
        str, typer.Option(help="Path of a log below the folder: {NAME} is a field, * any text, within one part of it.")
    ],
    log_format: Annotated[str, typer.Option("--format", help="dllogger, mllog or tensorboard.")],
    metric: options.Metric,
    output: Annotated[Path, typer.Option(help="CSV file to write, one row a run.")],
    within: options.Within = "",
    arguments: Annotated[str, typer.Option(help="JSON or YAML file of a run's arguments, beside its log.")] = "",
    seed_column: options.Seed = "seed",
    status_column: options.Status = "",
    status_values: options.StatusValues = "",
    missing: options.Missing = "refuse",
    mixed_units: options.MixedUnits = False,
) -> None:
    """Gather the logs of a folder into one table of runs, which all other commands read.

    Axes and seed are fields of the path, keys of the arguments file or fields of the log. The last value of the metric
    counts; its curve and the log's path stand beside it.

    Example: seedstudy import logs --pattern "{precision}/gpus{gpus}/seed{seed}/log.json" --format dllogger
    --metric hr@10 --within precision,gpus --output runs.csv

    Example: seedstudy import logs --pattern "{precision}/seed{seed}" --format tensorboard --metric val/accuracy
    --within precision --missing failed --output runs.csv
    """
    from seedstudy.imports.folders import LogFormat, import_logs
    from seedstudy.statistics.failures import OK

    if log_format not in tuple(LogFormat):
        raise UserError("--format", f"{log_format!r} is none of {', '.join(LogFormat)}")
    layout = options.layout_of(
        metric, options.listed(within), seed_column, status_column, status_values, missing, ".", "", mixed_units
    )
    runs = import_logs(folder, pattern, LogFormat(log_format), layout, arguments or None)
    options.write_table(runs, output)
    lost = int((runs["status"] != OK).sum())
    print(f"{output}: {len(runs)} runs, {lost} without a result", file=sys.stderr)

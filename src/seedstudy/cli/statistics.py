"""`seedstudy compare`, `summary` and `factors`: what a table of runs says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seedstudy.cli import app, options

Runs = Annotated[Path, typer.Argument(help="Table with one row a run: CSV, TSV, JSON lines or Parquet.")]


@app.command()
def compare(
    runs: Runs,
    between: options.Between,
    metric: options.Metric,
    margin: options.Margin,
    within: options.Within = "",
    alpha: options.Alpha = 0.05,
    paired: options.Paired = None,
    resamples: Annotated[int, typer.Option(min=0, help="Permutations a cell.")] = 10_000,
    rng_seed: options.RngSeed = 0,
    output: options.Output = None,
    seed_column: options.Seed = "seed",
    status_column: options.Status = "",
    status_values: options.StatusValues = "",
    missing: options.Missing = "refuse",
    decimal: options.Decimal = ".",
    separator: options.Separator = "",
    mixed_units: options.MixedUnits = False,
) -> None:
    """Compare two arms in each cell: EQUIVALENT, EQUIVALENT NONZERO, DIFFERENT or INCONCLUSIVE at the margin.

    Example: seedstudy compare results/runs.csv --between precision=fp32,amp --within architecture,workers,xla
    --metric map12 --margin 2e-3
    """
    import numpy as np

    from seedstudy.imports.tidy import read_table
    from seedstudy.statistics.comparison import compare_family
    from seedstudy.tables.frames import impact_table
    from seedstudy.tables.text import digits_for, impact_markdown

    options.checked_margin(margin, alpha)
    family = options.family_of(between, within)
    layout = options.layout_of(
        metric,
        (*family.between, *family.within),
        seed_column,
        status_column,
        status_values,
        missing,
        decimal,
        separator,
        mixed_units,
    )
    table = read_table(runs, layout)
    pair = options.may_pair(paired, table)
    rng = np.random.default_rng(rng_seed)
    result = compare_family(table, family, metric, margin, alpha, pair, resamples, rng)
    typer.echo(impact_markdown(result, {}, digits_for(margin)), nl=False)
    options.write_table(impact_table(result), output)


@app.command()
def summary(
    runs: Runs,
    metric: options.Metric,
    within: options.Within = "",
    output: options.Output = None,
    seed_column: options.Seed = "seed",
    status_column: options.Status = "",
    status_values: options.StatusValues = "",
    missing: options.Missing = "refuse",
    decimal: options.Decimal = ".",
    separator: options.Separator = "",
    mixed_units: options.MixedUnits = False,
) -> None:
    """Summarise each configuration: mean, SD (ddof = 1) with its interval, range, quantiles, failures.

    Example: seedstudy summary results/runs.csv --within architecture,precision,xla,workers --metric map12
    """
    from seedstudy.imports.tidy import read_table
    from seedstudy.statistics.configurations import summarise_configurations
    from seedstudy.tables.frames import stability_table
    from seedstudy.tables.results import frame_text
    from seedstudy.tables.text import markdown

    axes = options.listed(within)
    layout = options.layout_of(
        metric, axes, seed_column, status_column, status_values, missing, decimal, separator, mixed_units
    )
    table = stability_table(summarise_configurations(read_table(runs, layout), axes, metric))
    precise = table.drop(columns=["n", "runs", "diverged", "failed"])
    shown = table.assign(**{name: precise[name].map(_six_digits) for name in precise.columns})
    typer.echo(markdown(list(shown.columns), frame_text(shown)), nl=False)
    options.write_table(table, output)


def _six_digits(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@app.command()
def factors(
    runs: Runs,
    axes: options.Axes,
    metric: options.Metric,
    margin: options.Margin,
    order: options.Order = 2,
    alpha: options.Alpha = 0.05,
    paired: options.Paired = None,
    output: options.Output = None,
    seed_column: options.Seed = "seed",
    status_column: options.Status = "",
    status_values: options.StatusValues = "",
    missing: options.Missing = "refuse",
    decimal: options.Decimal = ".",
    separator: options.Separator = "",
    mixed_units: options.MixedUnits = False,
) -> None:
    """Main effects and interactions of all axes, each with its interval, Holm's p and a verdict at the margin.

    Example: seedstudy factors results/runs.csv --axis precision=fp32,amp --axis xla=false,true --axis workers=1,2
    --axis architecture=x86_64_v2,x86_64_v3 --metric map12 --margin 2e-3
    """
    from seedstudy.imports.tidy import read_table
    from seedstudy.statistics.factor_runs import fit_runs
    from seedstudy.tables.results import effects_table, frame_text
    from seedstudy.tables.text import markdown

    options.checked_margin(margin, alpha)
    levels = options.axes_of(axes)
    layout = options.layout_of(
        metric, tuple(levels), seed_column, status_column, status_values, missing, decimal, separator, mixed_units
    )
    table = read_table(runs, layout)
    fit = fit_runs(table, levels, metric, margin, alpha, order, options.may_pair(paired, table))
    effects = effects_table(fit.model)
    typer.echo(markdown(list(effects.columns), frame_text(effects)))
    for effect in fit.model.effects:
        typer.echo(f"- {effect.verdict.sentence}")
    for note in fit.notes:
        typer.echo(f"\n{note}")
    options.write_table(effects, output)

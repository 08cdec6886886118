"""`seedstudy plan` and `simulate`: before a study, and between its looks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedstudy.cli import app, options
from seedstudy.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from seedstudy.statistics.cells import Family
    from seedstudy.statistics.comparison import FamilyComparison
    from seedstudy.statistics.planning import Spread

RunsOption = Annotated[Path | None, typer.Option(help="Table of runs: a pilot, or the study so far.")]
BetweenOption = Annotated[str, typer.Option(help="AXIS=REFERENCE,TREATMENT of the table.")]
Sd = Annotated[float | None, typer.Option(help="SD between seeds (of the paired difference with --paired).")]


def _read(
    runs: Path, between: str, within: str, metric: str, seed: str, status: str, missing: str
) -> tuple[pd.DataFrame, Family]:
    from seedstudy.imports.tidy import read_table

    family = options.family_of(between, within)
    axes = (*family.between, *family.within)
    return read_table(runs, options.layout_of(metric, axes, seed, status, "", missing, ".", "", False)), family


def _pilot(
    table: pd.DataFrame, family: Family, metric: str, margin: float, alpha: float, pair: bool
) -> FamilyComparison:
    from seedstudy.statistics.comparison import compare_family

    return compare_family(table, family, metric, margin, alpha, pair, resamples=0)


def _given(sd: float | None, paired: bool | None) -> Spread:
    from seedstudy.statistics.planning import Spread

    if sd is None or not 0.0 < sd < float("inf"):
        raise UserError("--sd", "give a positive SD between seeds, or a pilot by --runs and --between")
    return Spread(sd, sd, 0, 0, float("nan"), 0.0, bool(paired))


@app.command("plan")
def plan_(
    margin: options.Margin,
    sd: Sd = None,
    runs: RunsOption = None,
    between: BetweenOption = "",
    within: options.Within = "",
    metric: options.Metric = "metric",
    seeds: Annotated[int, typer.Option(min=2, help="Seeds an arm, for what they can show.")] = 20,
    cells: Annotated[int, typer.Option(min=1, help="Cells of the family (of the pilot, where given).")] = 1,
    power: Annotated[float, typer.Option(help="Chance of a verdict.")] = 0.8,
    alpha: options.Alpha = 0.05,
    paired: options.Paired = None,
    seconds: Annotated[float | None, typer.Option(min=0, help="Seconds a run, where no table records them.")] = None,
    seconds_column: Annotated[str, typer.Option(help="Column of the seconds a run took.")] = "train_seconds",
    sequential: Annotated[bool, typer.Option("--sequential", help="Say which seeds to run next, or to stop.")] = False,
    looks: Annotated[str, typer.Option(help="Seeds an arm at each look, declared beforehand.")] = "10,15,20,30,40",
    seeds_file: Annotated[Path | None, typer.Option(help="All declared seeds, one a line, in order.")] = None,
    seed_column: options.Seed = "seed",
    status_column: options.Status = "",
    missing: options.Missing = "refuse",
) -> None:
    """Seeds needed for a margin, what n seeds can show, and the cost; or the next step of a sequential study.

    Example: seedstudy plan --margin 2e-4 --sd 1.2e-4 --seconds 60

    Example: seedstudy plan --sequential --margin 2e-3 --runs runs.csv --between precision=fp32,amp --within workers
    --metric map12 --seeds-file seeds.txt --looks 10,15,20
    """
    from seedstudy.statistics.planning import detectable, seconds_a_run, seed_needs, spread_of
    from seedstudy.tables.text import markdown

    options.checked_margin(margin, alpha)
    if not 0.0 < power < 1.0:
        raise UserError("--power", f"{power:g} is not between 0 and 1")
    table = family = None
    if runs is not None:
        table, family = _read(runs, between, within, metric, seed_column, status_column, missing)
    if sequential:
        if table is None or family is None or seeds_file is None:
            raise UserError("--sequential", "needs --runs, --between and --seeds-file")
        _next_steps(table, family, metric, margin, alpha, options.may_pair(paired, table), looks, seeds_file)
        return
    if table is not None and family is not None:
        pilot = _pilot(table, family, metric, margin, alpha, options.may_pair(paired, table))
        spread, cells = spread_of(pilot), len(pilot.cells)
        if seconds is None and seconds_column in table.columns:
            seconds = seconds_a_run(table, seconds_column)
    else:
        spread = _given(sd, paired)
    kind = "of the paired difference" if spread.paired else "between seeds"
    source = f"from {spread.df} degrees of freedom; 80 % upper bound {spread.sd_upper:.3g}" if spread.df else "as given"
    typer.echo(f"SD {kind}: {spread.sd:.3g} ({source}). Margin {margin:g}, alpha {alpha:g}, power {power:g}.\n")
    heading = ["true difference", "to show", "seeds an arm", "at the SD's upper bound"]
    heading += ["run-hours"] if seconds is not None else []
    rows = []
    for need in seed_needs(spread, margin, [factor * margin for factor in (0.0, 0.25, 0.5, 2.0)], alpha, power):
        shown = "EQUIVALENT" if need.difference < margin else "DIFFERENT"
        counts = ["> 100,000" if count is None else str(count) for count in (need.seeds, need.seeds_at_upper)]
        row = [f"{need.difference:.3g}", shown, *counts]
        if seconds is not None:
            row.append("-" if need.seeds is None else f"{2 * cells * need.seeds * seconds / 3600.0:.3g}")
        rows.append(row)
    typer.echo(markdown(heading, rows))
    found = detectable(spread, seeds, cells, alpha, power)
    typer.echo(
        f"{seeds} seeds an arm detect a difference of {found.difference:.3g} ({found.difference_holm:.3g} in the first "
        f"step of Holm over {cells} cell(s)) and show equivalence at a margin of {found.margin:.3g} when there is none."
    )
    if seconds is not None:
        typer.echo(f"Run-hours: 2 arms x {cells} cell(s) x seeds x {seconds:.4g} s.")


def _next_steps(
    table: pd.DataFrame, family: Family, metric: str, margin: float, alpha: float, pair: bool, looks: str, file: Path
) -> None:
    from seedstudy.statistics.cells import split_cells
    from seedstudy.statistics.sequential import next_step, nominal_level
    from seedstudy.study import read_seeds

    declared = [str(seed) for seed in read_seeds(file)]
    try:
        numbers = [int(look) for look in options.listed(looks)]
        nominal = nominal_level(numbers, alpha)
    except ValueError as error:
        raise UserError("--looks", f"{looks!r} are no increasing numbers of seeds from 2 on") from error
    if numbers[-1] > len(declared):
        raise UserError(file, f"declares {len(declared)} seeds; the last look needs {numbers[-1]}")
    typer.echo(f"Looks at {looks} seeds an arm, each at the level {nominal:.5f}; {alpha:g} over all of them.")
    ((axis, _),) = family.between.items()
    for cell in split_cells(table, family, metric):
        decision = next_step(cell, axis, metric, declared, numbers, margin, nominal, pair)
        typer.echo(f"\n{cell.name}: {'STOP' if decision.stop else 'RUN'}. {decision.reason}.")
        for arm, seeds in decision.run.items():
            if seeds:
                typer.echo(f"  {axis} {arm}: {' '.join(seeds)}")
        if decision.stop:
            typer.echo(f"  {decision.looks[-1].verdict.sentence}")


@app.command()
def simulate(
    margin: Annotated[float | None, typer.Option(help="Margin, in units of the metric.")] = None,
    sd: Annotated[float | None, typer.Option(help="SD between seeds.")] = None,
    n: Annotated[int, typer.Option(min=2, help="Seeds an arm.")] = 20,
    rounding: Annotated[float, typer.Option(min=0, help="Step of the rounding; 0 for none.")] = 0.0,
    shape: Annotated[str, typer.Option(help="normal or skewed.")] = "normal",
    correlation: Annotated[float, typer.Option(min=0, help="Correlation of the same seed in both arms.")] = 0.0,
    runs: RunsOption = None,
    between: BetweenOption = "",
    within: options.Within = "",
    metric: options.Metric = "metric",
    alpha: options.Alpha = 0.05,
    paired: options.Paired = None,
    studies: Annotated[int, typer.Option(min=1, help="Simulated studies a point.")] = 10_000,
    rng_seed: options.RngSeed = 0,
    grid: Annotated[bool, typer.Option("--grid", help="The whole grid of docs/error-rates.md instead.")] = False,
    output: options.Output = None,
) -> None:
    """Size and power of each verdict at a study's own n, SD, rounding and margin, with Monte Carlo error.

    Example: seedstudy simulate --n 20 --sd 1.2e-4 --rounding 1e-5 --margin 2e-4

    Example: seedstudy simulate --runs results/runs.csv --between precision=fp32,amp --within architecture,workers,xla
    --metric map12 --margin 2e-3
    """
    import numpy as np

    from seedstudy.statistics.planning import spread_of
    from seedstudy.statistics.simulation import Setting, Shape, error_grid, simulate_points
    from seedstudy.tables.results import frame_text, rates_table
    from seedstudy.tables.text import markdown

    rng = np.random.default_rng(rng_seed)
    if grid:
        rates = error_grid(studies, rng)
    else:
        if margin is None:
            raise UserError("--margin", "is missing; give the largest difference that does not matter")
        options.checked_margin(margin, alpha)
        pair = bool(paired)
        if runs is not None:
            table, family = _read(runs, between, within, metric, "seed", "", "refuse")
            pair = options.may_pair(paired, table)
            spread = spread_of(_pilot(table, family, metric, margin, alpha, False))
            known = not np.isnan(spread.correlation)
            n, sd, rounding = spread.n, spread.sd, spread.resolution
            correlation = float(np.clip(spread.correlation, 0.0, 0.9999)) if known else 0.0
        try:
            setting = Setting(n, sd or 0.0, margin, Shape(shape), rounding, correlation, pair, alpha)
            rates = simulate_points(setting, studies, rng)
        except ValueError as error:
            raise UserError("simulate", str(error)) from error
        typer.echo(
            f"n {setting.n} an arm, SD {setting.sd:.4g}, rounding {setting.rounding:.3g}, correlation "
            f"{setting.correlation:.4g}, margin {margin:g}, alpha {alpha:g}; {studies} studies a point.\n"
        )
    shown = rates_table(rates)
    typer.echo(markdown(list(shown.columns), frame_text(shown)), nl=False)
    options.write_table(shown, output)

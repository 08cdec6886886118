"""`seedstudy reanalyse`: what a published table says, and whether its numbers are possible."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedstudy.cli import app, options
from seedstudy.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from seedstudy.imports.published import PairRow, Series, SummaryRow

SHOWN = (
    "difference",
    "ci_low",
    "ci_high",
    "welch_pvalue",
    "welch_pvalue_holm",
    "tost_pvalue",
    "f_pvalue",
    "hedges_g",
    "verdict",
    "verdict_holm",
    "verdicts_within_rounding",
)


@app.command()
def reanalyse(
    table: Annotated[Path, typer.Argument(help="Published table with the digits as printed: CSV, TSV or JSON lines.")],
    margin: Annotated[float | None, typer.Option(help="Margin, in units of the metric (two arms a row).")] = None,
    metric: Annotated[str, typer.Option(help="Name of the metric, for the sentences.")] = "metric",
    alpha: options.Alpha = 0.05,
    lattice: Annotated[
        float | None,
        typer.Option(help="Step to which the runs were rounded (a configuration a row); --axis allows for it."),
    ] = None,
    axes: Annotated[
        list[str] | None,
        typer.Option("--axis", help="AXIS=REFERENCE,LEVEL,... of a factorial model (a configuration a row); repeat."),
    ] = None,
    order: options.Order = 2,
    output: options.Output = None,
) -> None:
    """Compare published means and SDs at a margin, or check whether a published summary is possible at all.

    Two arms a row (n, mean_A, std_A, mean_B, std_B): verdicts, with what the rounding leaves open. A configuration a
    row (n, mean, std, min, max), or runs beside their summary (series, value, published_mean, published_std): which
    convention of the SD fits, and what is impossible.

    Example: seedstudy reanalyse widedeep_amp_impact.csv --margin 2e-4 --metric map12

    Example: seedstudy reanalyse widedeep_stability.csv --lattice 1e-4

    Example: seedstudy reanalyse widedeep_stability.csv --margin 2e-4 --axis "precision=fp32|tf32,amp" --axis gpus=1,8
    --axis xla=false,true --axis architecture=a100,v100
    """
    from seedstudy.imports.published import read_published

    if lattice is not None and not 0.0 < lattice < float("inf"):
        raise UserError("--lattice", f"{lattice:g} is not a positive number")
    found = read_published(table)
    if found.pairs:
        if margin is None:
            raise UserError("--margin", "is missing; give the largest difference that does not matter")
        options.checked_margin(margin, alpha)
        result = _compared(found.pairs, metric, margin, alpha)
    elif found.summaries and axes:
        if margin is None:
            raise UserError("--margin", "is missing; give the largest difference that does not matter")
        options.checked_margin(margin, alpha)
        result = _effects(table, found.summaries, options.axes_of(axes), metric, margin, alpha, order, lattice or 0.0)
    elif found.summaries:
        result = _checked_summaries(found.summaries, lattice)
    else:
        result = _checked_series(found.series)
    options.write_table(result, output)


def _compared(rows: Sequence[PairRow], metric: str, margin: float, alpha: float) -> pd.DataFrame:
    from seedstudy.statistics.forensics import check_ks
    from seedstudy.statistics.published import adjust_published, compare_published
    from seedstudy.tables.results import checked_ks_table, published_table

    compared = [compare_published(row.where, row.reference, row.treatment, metric, margin, alpha) for row in rows]
    cells = adjust_published(compared, alpha)
    result = published_table(cells)
    _echo(result[[*rows[0].where, *SHOWN]])
    for cell in cells:
        typer.echo(f"- {cell.verdict.sentence}")
    checks = [check_ks(*row.ks, row.reference.n, row.treatment.n) for row in rows if row.ks]
    if not checks:
        return result
    checked = checked_ks_table(checks)
    typer.echo("\nKS statistics as published:\n")
    _echo(result[[*rows[0].where]].join(checked))
    return result.join(checked)


def _effects(
    source: Path,
    rows: Sequence[SummaryRow],
    levels: dict[str, tuple[str, ...]],
    metric: str,
    margin: float,
    alpha: float,
    order: int,
    step: float,
) -> pd.DataFrame:
    from seedstudy.statistics.factorial import FactorCell, fit_factorial
    from seedstudy.tables.results import effects_table

    cells = []
    for row in rows:
        for axis in levels:
            if axis not in row.where:
                raise UserError(source, f"has no column {axis!r}; it has {', '.join(row.where)}")
        found = [next((v for v in values if row.where[axis] in v.split("|")), "") for axis, values in levels.items()]
        if all(found):
            cells.append(FactorCell(tuple(found), row.n, row.mean.value, row.sd.value, step))
    model = fit_factorial(cells, levels, metric, margin, alpha, order, source)
    result = effects_table(model)
    _echo(result)
    for effect in model.effects:
        typer.echo(f"- {effect.verdict.sentence}")
    return result


def _checked_summaries(rows: Sequence[SummaryRow], lattice: float | None) -> pd.DataFrame:
    from seedstudy.statistics.forensics import check_summary
    from seedstudy.tables.results import checked_summaries_table

    checks = [check_summary(row.n, row.mean, row.sd, row.minimum, row.maximum, lattice) for row in rows]
    result = checked_summaries_table([row.where for row in rows], checks)
    _echo(result)
    return result


def _checked_series(rows: Sequence[Series]) -> pd.DataFrame:
    from seedstudy.statistics.forensics import check_series
    from seedstudy.tables.results import checked_series_table

    result = checked_series_table(
        [row.name for row in rows], [check_series(row.values, row.mean, row.sd) for row in rows]
    )
    # Means of three digits would hide what does not fit.
    _echo(result.assign(mean=result["mean"].map("{:.6g}".format)))
    return result


def _echo(table: pd.DataFrame) -> None:
    from seedstudy.tables.results import frame_text
    from seedstudy.tables.text import markdown

    typer.echo(markdown(list(table.columns), frame_text(table)))

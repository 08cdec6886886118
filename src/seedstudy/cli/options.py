"""Options that several commands share, and how their text is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedstudy.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from seedstudy.imports.tidy import Layout
    from seedstudy.statistics.cells import Family

Metric = Annotated[str, typer.Option(help="Column of the metric.")]
Margin = Annotated[float, typer.Option(help="Largest difference that does not matter, in units of the metric.")]
Alpha = Annotated[float, typer.Option(help="Level of the tests.")]
Between = Annotated[str, typer.Option(help="AXIS=REFERENCE,TREATMENT; values of one arm are joined by |.")]
Within = Annotated[str, typer.Option(help="Axes whose combinations are the cells, separated by commas.")]
Seed = Annotated[str, typer.Option("--seed-column", help="Column of the seed.")]
Status = Annotated[str, typer.Option("--status-column", help="Column of the status (default: status, if there).")]
StatusValues = Annotated[str, typer.Option(help="WORD=ok,WORD=failed,...: statuses under other names.")]
Missing = Annotated[str, typer.Option(help="Runs without a number and a status: refuse, failed or diverged.")]
Decimal = Annotated[str, typer.Option(help="Decimal sign of the metric.")]
Separator = Annotated[str, typer.Option(help="Character between fields (default: that of the suffix).")]
MixedUnits = Annotated[bool, typer.Option("--mixed-units", help="Accept what looks like fractions beside percentages.")]
Axes = Annotated[
    list[str], typer.Option("--axis", help="AXIS=REFERENCE,LEVEL,...; repeat for each axis; values are joined by |.")
]
Order = Annotated[int, typer.Option(min=1, help="Most axes in one interaction.")]
Output = Annotated[Path | None, typer.Option(help="CSV file for the unrounded table.")]
RngSeed = Annotated[int, typer.Option(min=0, help="Seed of the random numbers of the analysis itself.")]
Paired = Annotated[
    bool | None,
    typer.Option(
        "--paired/--unpaired",
        help="Whether a seed fixes the same random streams in both arms (default: yes for runs trained by seedstudy).",
    ),
]
OWN_COLUMNS = frozenset({"plan_digest", "weights_digest"})


def listed(text: str) -> tuple[str, ...]:
    """Names separated by commas; blanks around them do not count."""
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def pairs(text: str, option: str) -> dict[str, str]:
    """``NAME=VALUE`` pairs separated by commas."""
    found = {}
    for part in listed(text):
        name, sign, value = part.partition("=")
        if not sign or not name or not value:
            raise UserError(option, f"{part!r} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def family_of(between: str, within: str) -> Family:
    """Family of comparisons from the options ``--between`` and ``--within``."""
    from seedstudy.statistics.cells import Family

    axis, sign, arms = between.partition("=")
    found = listed(arms)
    if not sign or not axis.strip() or len(found) != 2:
        raise UserError("--between", f"{between!r} is not AXIS=REFERENCE,TREATMENT")
    return Family(axis.strip(), {axis.strip(): (found[0], found[1])}, listed(within))


def axes_of(texts: list[str]) -> dict[str, tuple[str, ...]]:
    """Levels of each axis, the reference first, from the options ``--axis``."""
    levels: dict[str, tuple[str, ...]] = {}
    for text in texts:
        axis, _, values = text.partition("=")
        if axis.strip() in levels or len(listed(values)) < 2:
            raise UserError("--axis", f"{text!r} is not AXIS=REFERENCE,LEVEL,... of an axis given once")
        levels[axis.strip()] = listed(values)
    return levels


def layout_of(
    metric: str,
    axes: tuple[str, ...],
    seed: str,
    status: str,
    status_values: str,
    missing: str,
    decimal: str,
    separator: str,
    mixed_units: bool,
) -> Layout:
    """Layout of a table from the options."""
    from typing import get_args

    from seedstudy.imports.tidy import Layout, Missing

    if missing not in get_args(Missing):
        raise UserError("--missing", f"{missing!r} is none of {', '.join(get_args(Missing))}")
    return Layout(
        metric,
        tuple(dict.fromkeys(axes)),
        seed,
        status or None,
        pairs(status_values, "--status-values"),
        missing,  # type: ignore[arg-type]
        decimal,
        "\t" if separator == "\\t" else separator or None,
        mixed_units,
    )


def may_pair(paired: bool | None, runs: pd.DataFrame) -> bool:
    """Whether verdicts may be paired by seed: as asked for, else for runs that seedstudy trained itself."""
    return set(runs.columns) >= OWN_COLUMNS if paired is None else paired


def checked_margin(margin: float, alpha: float) -> None:
    """Refuse a margin or a level that no verdict can use."""
    if not 0.0 < margin < float("inf"):
        raise UserError("--margin", f"{margin:g} is not a positive number")
    if not 0.0 < alpha < 0.5:
        raise UserError("--alpha", f"{alpha:g} is not between 0 and 0.5")


def write_table(table: pd.DataFrame, output: Path | None) -> None:
    """Write a table as CSV, whole or not at all."""
    from seedstudy.documents import publish

    if output is not None:
        publish(output, table.to_csv(index=False, lineterminator="\n"))

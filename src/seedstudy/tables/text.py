"""Tables as text: shorter and rounded, for Markdown files and terminals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from seedstudy.statistics.cell_comparison import CellComparison
from seedstudy.statistics.comparison import FamilyComparison
from seedstudy.tables.frames import NAN, arm_label


def digits_for(margin: float) -> int:
    """Digits after the point that show a twentieth of the margin."""
    return max(0, math.ceil(-math.log10(margin))) + 1


def stability_markdown(table: pd.DataFrame, axes: Mapping[str, str], digits: int) -> str:
    """Stability table as Markdown.

    Parameters
    ----------
    table : pandas.DataFrame
        From `stability_table`.
    axes : mapping
        Column of an axis to its heading.
    digits : int
        Digits after the point of the values of the metric.

    Returns
    -------
    str
    """
    rows = [
        [
            *(str(row[axis]) for axis in axes),
            str(row["n"]),
            *(fixed(row[name], digits) for name in ("mean", "std", "min", "max")),
            _failures(row["diverged"], row["failed"], row["runs"]),
        ]
        for row in table.to_dict("records")
    ]
    return markdown([*axes.values(), "n", "mean", "std", "min", "max", "failures"], rows)


def impact_markdown(family: FamilyComparison, axes: Mapping[str, str], digits: int) -> str:
    """Impact table as Markdown: the table, the verdicts over all cells, and each cell's sentence.

    Parameters
    ----------
    family : FamilyComparison
        From `seedstudy.statistics.comparison.compare_family`.
    axes : mapping
        Axis to its heading.
    digits : int
        Digits after the point of the values of the metric.

    Returns
    -------
    str
    """
    first = family.cells[0]
    a, b = arm_label(first.axis, first.reference.label), arm_label(first.axis, first.treatment.label)
    level = f"{100 * first.verdict.interval.level:g} % CI"
    where = list(first.cell.where)
    heading = [axes.get(axis, axis) for axis in where]
    heading += [f"mean {a}", f"std {a}", f"mean {b}", f"std {b}", "Brown-Forsythe p", "KS D", "KS p (exact)"]
    heading += ["KS p (ties)"] if any(cell.ks and cell.ks.ties for cell in family.cells) else []
    heading += ["difference", level, "method", "correlation", "TOST p", "verdict", "with Holm", "failures"]
    rows = [_impact_cells(cell, digits, "KS p (ties)" in heading) for cell in family.cells]
    sentences = "\n".join(f"- {cell.verdict.sentence}" for cell in family.cells)
    return (
        f"{markdown(heading, rows)}\n**All cells.** {family.everywhere_sentence}\n\n"
        f"**On average.** {family.average.sentence}\n\n{sentences}\n\n"
        f"Verdict as a function of the margin:\n\n{margins_markdown(family, axes)}"
    )


def margins_markdown(family: FamilyComparison, axes: Mapping[str, str]) -> str:
    """Verdict of each cell at other margins than the declared one, as Markdown.

    Parameters
    ----------
    family : FamilyComparison
        From `seedstudy.statistics.comparison.compare_family`.
    axes : mapping
        Axis to its heading.

    Returns
    -------
    str
        The declared margin times 1/4, 1/2, 1, 2 and 4, and the margins at which the verdict turns.
    """
    margins = [family.average.margin * factor for factor in (0.25, 0.5, 1.0, 2.0, 4.0)]
    heading = [axes.get(axis, axis) for axis in family.cells[0].cell.where]
    heading += [f"{margin:g}" for margin in margins] + ["different up to", "equivalent from"]
    rows = [
        [
            *cell.cell.where.values(),
            *(cell.verdict.at(margin).value for margin in margins),
            "-" if math.isnan(cell.verdict.different_up_to) else f"{cell.verdict.different_up_to:.3g}",
            "-" if math.isnan(cell.verdict.equivalent_from) else f"{cell.verdict.equivalent_from:.3g}",
        ]
        for cell in family.cells
    ]
    return markdown(heading, rows)


def _impact_cells(cell: CellComparison, digits: int, show_ties: bool) -> list[str]:
    arms = [arm.summary for arm in (cell.reference, cell.treatment)]
    values = [fixed(value, digits) for s in arms for value in ((s.mean, s.sd) if s else (NAN, NAN))]
    ks = cell.ks
    row = [*cell.cell.where.values(), *values, _p(cell.variance.p_brown_forsythe if cell.variance else NAN)]
    row += [fixed(ks.statistic if ks else NAN, 3), _p(ks.p_exact if ks else NAN)]
    row += [_p(ks.p_permutation if ks else NAN)] if show_ties else []
    verdict, failures = cell.verdict, cell.failures
    difference = float(cell.estimate.value) if cell.estimate else NAN
    # One digit more than the means: a difference is small against them.
    interval = f"{fixed(verdict.interval.low, digits + 1, '+')} to {fixed(verdict.interval.high, digits + 1, '+')}"
    row += [fixed(difference, digits + 1, "+"), interval, cell.method, fixed(cell.correlation, 3)]
    row += [_p(verdict.p_equivalent), verdict.label.value, cell.holm.label.value]
    named = f"{failures.reference}; {failures.treatment} (p {failures.p_fisher:.2g})" if failures.any else "none"
    return [*row, named]


def markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, padded to be read as plain text too."""
    lines = [list(heading), *[list(row) for row in rows]]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(heading))]
    padded = [" | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in lines]
    padded.insert(1, " | ".join("-" * width for width in widths))
    return "".join(f"| {line} |\n" for line in padded)


def fixed(value: float, digits: int, sign: str = "") -> str:
    """A number with that many digits after the point; a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:{sign}.{digits}f}"


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.5f}" if value >= 1e-4 else f"{value:.1e}"


def _failures(diverged: int, failed: int, runs: int) -> str:
    parts = [f"{number} {name}" for number, name in ((diverged, "diverged"), (failed, "failed")) if number]
    return f"{' + '.join(parts)} of {runs}" if parts else f"0 of {runs}"

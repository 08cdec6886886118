"""Tables of the other analyses: factorial effects, published summaries, error rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from seedstudy.statistics.factorial import FactorialModel
from seedstudy.statistics.forensics import KsCheck, SeriesCheck, SummaryCheck
from seedstudy.statistics.published import PublishedComparison
from seedstudy.statistics.simulation import ErrorRates
from seedstudy.statistics.verdict import Label


def effects_table(model: FactorialModel) -> pd.DataFrame:
    """One row an effect of a factorial model.

    Parameters
    ----------
    model : FactorialModel
        From `seedstudy.statistics.factorial`.

    Returns
    -------
    pandas.DataFrame
        Effect, estimate, standard error, 95 % interval (1 - alpha), p values raw and by Holm, verdicts; unrounded.
    """
    return pd.DataFrame(
        [
            {
                "effect": effect.name,
                "order": len(effect.levels),
                "estimate": float(effect.estimate.value),
                "se": float(effect.estimate.se),
                "df": float(effect.estimate.df),
                "ci_low": effect.verdict.wide_interval.low,
                "ci_high": effect.verdict.wide_interval.high,
                "pvalue": effect.verdict.p_difference,
                "pvalue_holm": effect.holm.p_difference,
                "tost_pvalue": effect.verdict.p_equivalent,
                "tost_pvalue_holm": effect.holm.p_equivalent,
                "verdict": effect.verdict.label.value,
                "verdict_holm": effect.holm.label.value,
            }
            for effect in model.effects
        ]
    )


def published_table(cells: Sequence[PublishedComparison]) -> pd.DataFrame:
    """One row a cell of a published table.

    Parameters
    ----------
    cells : sequence of PublishedComparison
        From `seedstudy.statistics.published`.

    Returns
    -------
    pandas.DataFrame
        Difference, Welch, TOST and F, each p with its range over the rounding of the printed digits; unrounded.
    """
    return pd.DataFrame([_published_row(cell) for cell in cells])


def _published_row(cell: PublishedComparison) -> dict[str, Any]:
    return {
        **cell.where,
        "difference": float(cell.estimate.value),
        "ci_low": cell.verdict.wide_interval.low,
        "ci_high": cell.verdict.wide_interval.high,
        "welch_t": float(cell.estimate.t),
        "welch_pvalue": cell.verdict.p_difference,
        "welch_pvalue_low": cell.p_difference.low,
        "welch_pvalue_high": cell.p_difference.high,
        "welch_pvalue_holm": cell.holm.p_difference,
        "hedges_g": cell.hedges_g,
        "f_pvalue": cell.variance.p_f,
        "f_pvalue_low": cell.p_f.low,
        "f_pvalue_high": cell.p_f.high,
        "tost_pvalue": cell.verdict.p_equivalent,
        "tost_pvalue_low": cell.p_equivalent.low,
        "tost_pvalue_high": cell.p_equivalent.high,
        "verdict": cell.verdict.label.value,
        "verdict_holm": cell.holm.label.value,
        "verdicts_within_rounding": " / ".join(cell.labels),
    }


def checked_ks_table(checks: Sequence[KsCheck]) -> pd.DataFrame:
    """One row a published KS statistic.

    Parameters
    ----------
    checks : sequence of KsCheck
        From `seedstudy.statistics.forensics.check_ks`.

    Returns
    -------
    pandas.DataFrame
        Whether the statistic is possible at these n, the exact p of the nearest possible one, and whether that prints
        as published.
    """
    return pd.DataFrame(
        [
            {"ks_possible": check.possible, "ks_exact_pvalue": check.p, "ks_pvalue_fits": check.p_fits}
            for check in checks
        ]
    )


def checked_summaries_table(where: Sequence[Mapping[str, str]], checks: Sequence[SummaryCheck]) -> pd.DataFrame:
    """One row a published configuration.

    Parameters
    ----------
    where : sequence of mapping
        What names each row.
    checks : sequence of SummaryCheck
        From `seedstudy.statistics.forensics.check_summary`.

    Returns
    -------
    pandas.DataFrame
        Conventions of the SD (ddof) under which the summary is possible, also on the lattice where that was checked,
        and what is impossible.
    """
    return pd.DataFrame(
        [
            {
                **place,
                "ddof": _conventions(check.ddof),
                "ddof_on_lattice": "not checked" if check.lattice_ddof is None else _conventions(check.lattice_ddof),
                "problem": "; ".join(check.problems),
            }
            for place, check in zip(where, checks, strict=True)
        ]
    )


def checked_series_table(names: Sequence[str], checks: Sequence[SeriesCheck]) -> pd.DataFrame:
    """One row a published series of runs.

    Parameters
    ----------
    names : sequence of str
        Of the series.
    checks : sequence of SeriesCheck
        From `seedstudy.statistics.forensics.check_series`.

    Returns
    -------
    pandas.DataFrame
        Mean and both SDs of the runs, whether the published ones are those (and could be, given the rounding of the
        runs), and what does not fit; unrounded.
    """
    return pd.DataFrame(
        [
            {
                "series": name,
                "n": check.n,
                "mean": check.mean,
                "std_ddof1": check.sd[1],
                "std_ddof0": check.sd[0],
                "mean_fits": check.mean_fits,
                "mean_possible": check.mean_possible,
                "ddof": _conventions(check.ddof),
                "ddof_possible": _conventions(check.ddof_possible),
                "problem": check.problem,
            }
            for name, check in zip(names, checks, strict=True)
        ]
    )


def _conventions(ddof: Sequence[int]) -> str:
    return " or ".join(str(number) for number in ddof) or "none"


def rates_table(rates: Sequence[ErrorRates]) -> pd.DataFrame:
    """One row a simulated point.

    Parameters
    ----------
    rates : sequence of ErrorRates
        From `seedstudy.statistics.simulation.simulate`.

    Returns
    -------
    pandas.DataFrame
        The setting, the true difference, and the share of each verdict in per cent with its Monte Carlo error.
    """
    return pd.DataFrame(
        [
            {
                "n": rate.setting.n,
                "data": rate.setting.shape.value + (", rounded" if rate.setting.rounding else ""),
                "method": "paired" if rate.setting.paired else "Welch",
                "true difference": f"{rate.difference / rate.setting.margin:g} margin",
                **{label.value: _percent(rate.verdicts[label].share, rate.verdicts[label].error) for label in Label},
                "difference detected": _percent(rate.detected.share, rate.detected.error),
            }
            for rate in rates
        ]
    )


def _percent(share: float, error: float) -> str:
    return f"{100 * share:.2f} +- {100 * error:.2f} %"


def frame_text(table: pd.DataFrame) -> list[list[str]]:
    """Cells of a table as text: numbers in three significant digits.

    Parameters
    ----------
    table : pandas.DataFrame
        Any table.

    Returns
    -------
    list of list of str
        One list a row.
    """
    return [
        [f"{value:.3g}" if isinstance(value, float) else str(value) for value in row]
        for row in table.itertuples(index=False)
    ]

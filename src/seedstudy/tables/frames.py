"""Tables as data frames of unrounded numbers: what the CSV files hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from seedstudy.statistics.cell_comparison import CellComparison
from seedstudy.statistics.cells import Arm
from seedstudy.statistics.comparison import FamilyComparison
from seedstudy.statistics.configurations import ConfigurationSummary
from seedstudy.statistics.estimate import Estimate
from seedstudy.statistics.verdict import Verdict

FULL_PRECISIONS = frozenset({"fp32", "tf32"})
NAN = float("nan")


def arm_label(axis: str, arm: str) -> str:
    """Short name of an arm for column names: ``full``, ``amp``, ``xla_true``, ``workers_2``."""
    if set(arm.split("|")) <= FULL_PRECISIONS:
        return "full"
    return arm if axis == "precision" else f"{axis}_{arm.replace('|', '_or_')}"


def stability_table(summaries: Sequence[ConfigurationSummary]) -> pd.DataFrame:
    """One row a configuration.

    Parameters
    ----------
    summaries : sequence of ConfigurationSummary
        Of the same axes.

    Returns
    -------
    pandas.DataFrame
        The axes, then ``n`` (runs with a result), ``mean``, ``std`` (ddof = 1), ``min``, ``max``, their intervals
        at 95 %, quantiles, resolution and failures with their interval; unrounded, NaN where there is no result.
    """
    return pd.DataFrame([{**summary.where, **_stability_row(summary)} for summary in summaries])


def _stability_row(configuration: ConfigurationSummary) -> dict[str, Any]:
    found, failures = configuration.summary, configuration.failures
    row: dict[str, Any] = dict.fromkeys(("n", "mean", "std", "min", "max"), NAN) | {"n": 0}
    if found is not None:
        row = {"n": found.n, "mean": found.mean, "std": found.sd, "min": found.minimum, "max": found.maximum}
    row |= {
        "runs": failures.runs,
        "diverged": failures.diverged,
        "failed": failures.failed,
        "failure_share_low": failures.interval.low,
        "failure_share_high": failures.interval.high,
    }
    if found is not None:
        row |= {
            "mean_ci95_low": found.mean_interval.low,
            "mean_ci95_high": found.mean_interval.high,
            "std_ci95_low": found.sd_interval.low,
            "std_ci95_high": found.sd_interval.high,
            **{f"q{100 * probability:02.0f}": value for probability, value in found.quantiles.items()},
            "resolution": found.resolution,
            "coarse": found.coarse,
        }
    return row


def impact_table(family: FamilyComparison) -> pd.DataFrame:
    """One row a cell of a family.

    Parameters
    ----------
    family : FamilyComparison
        From `seedstudy.statistics.comparison.compare_family`.

    Returns
    -------
    pandas.DataFrame
        The axes of the cells; n, mean, std (ddof = 1) of both arms; tests of the spread; KS; difference (treatment
        minus reference) with intervals, p values and both estimates; failures; verdict and its sentence. Unrounded.
    """
    return pd.DataFrame([_impact_row(cell) for cell in family.cells])


def _impact_row(cell: CellComparison) -> dict[str, Any]:
    a, b = arm_label(cell.axis, cell.reference.label), arm_label(cell.axis, cell.treatment.label)
    variance, ks, permutation, verdict = cell.variance, cell.ks, cell.permutation, cell.verdict
    return {
        **cell.cell.where,
        **_arm_columns(a, cell.reference),
        **_arm_columns(b, cell.treatment),
        "std_ratio": variance.ratio.sd_ratio if variance else NAN,
        "std_ratio_ci95_low": variance.ratio.interval.low if variance else NAN,
        "std_ratio_ci95_high": variance.ratio.interval.high if variance else NAN,
        "brown_forsythe_pvalue": variance.p_brown_forsythe if variance else NAN,
        "f_pvalue": variance.ratio.p_f if variance else NAN,
        "ks_statistic": ks.statistic if ks else NAN,
        "ks_pvalue": ks.p_exact if ks else NAN,
        "ks_permutation_pvalue": ks.p_permutation if ks else NAN,
        "verdict": verdict.label.value,
        "verdict_holm": cell.holm.label.value,
        "method": cell.method,
        **_verdict_columns(verdict, cell.estimate),
        "difference_pvalue_holm": cell.holm.p_difference,
        "tost_pvalue_holm": cell.holm.p_equivalent,
        "beyond_pvalue_holm": cell.holm.p_beyond,
        "permutation_pvalue": permutation.p if permutation else NAN,
        **_estimate_columns("welch", cell.welch, verdict),
        **_estimate_columns("paired", cell.paired, verdict),
        "pairs": cell.pairs,
        "correlation": cell.correlation,
        "hedges_g": cell.hedges_g,
        "superiority": cell.superiority,
        f"diverged_{a}": cell.failures.reference.diverged,
        f"failed_{a}": cell.failures.reference.failed,
        f"diverged_{b}": cell.failures.treatment.diverged,
        f"failed_{b}": cell.failures.treatment.failed,
        "fisher_pvalue": cell.failures.p_fisher,
        "sentence": verdict.sentence,
    }


def _arm_columns(label: str, arm: Arm) -> dict[str, Any]:
    found = arm.summary
    return {
        f"n_{label}": arm.n,
        f"mean_{label}": found.mean if found else NAN,
        f"std_{label}": found.sd if found else NAN,
    }


def _verdict_columns(verdict: Verdict, estimate: Estimate | None) -> dict[str, Any]:
    return {
        "margin": verdict.margin,
        "difference": float(estimate.value) if estimate else NAN,
        f"ci{100 * verdict.interval.level:g}_low": verdict.interval.low,
        f"ci{100 * verdict.interval.level:g}_high": verdict.interval.high,
        f"ci{100 * verdict.wide_interval.level:g}_low": verdict.wide_interval.low,
        f"ci{100 * verdict.wide_interval.level:g}_high": verdict.wide_interval.high,
        "difference_pvalue": verdict.p_difference,
        "tost_pvalue": verdict.p_equivalent,
        "beyond_pvalue": verdict.p_beyond,
        "equivalent_from_margin": verdict.equivalent_from,
        "different_up_to_margin": verdict.different_up_to,
        "seeds_needed": pd.NA if verdict.seeds is None else verdict.seeds,
    }


def _estimate_columns(name: str, estimate: Estimate | None, verdict: Verdict) -> dict[str, Any]:
    wide = estimate.interval(verdict.wide_interval.level).scalar if estimate else None
    level = f"{100 * verdict.wide_interval.level:g}"
    return {
        f"{name}_t": float(estimate.t) if estimate else NAN,
        f"{name}_df": float(estimate.df) if estimate else NAN,
        f"{name}_ci{level}_low": wide.low if wide else NAN,
        f"{name}_ci{level}_high": wide.high if wide else NAN,
        f"{name}_pvalue": float(estimate.p_difference) if estimate else NAN,
        f"{name}_tost_pvalue": float(estimate.p_equivalent(verdict.margin)) if estimate else NAN,
    }

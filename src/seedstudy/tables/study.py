"""The tables of a study, from its runs and its plan alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from seedstudy.documents import write_files
from seedstudy.imports.study import AXES, read_study
from seedstudy.statistics.comparison import FamilyComparison, compare_family
from seedstudy.statistics.configurations import summarise_configurations
from seedstudy.study import Plan
from seedstudy.tables.frames import impact_table, stability_table
from seedstudy.tables.text import digits_for, impact_markdown, stability_markdown

PERMUTATION_SEED = 0
"""The permutations are drawn from a fixed seed, so that the committed tables regenerate to the byte."""


def compare_study(runs: pd.DataFrame, plan: Plan, resamples: int = 10_000) -> list[FamilyComparison]:
    """Compare every family of a plan.

    Parameters
    ----------
    runs : pandas.DataFrame
        From `seedstudy.imports.study.read_study`.
    plan : Plan
        Metric, margin, level and families.
    resamples : int
        Permutations a cell; 0 leaves the permutation test out.

    Returns
    -------
    list of FamilyComparison
        In the order of the plan, paired by seed: a seed fixes the same random streams in every configuration.

    Raises
    ------
    UserError
        The table lacks an axis, an arm or a cell.
    """
    rng = np.random.default_rng(PERMUTATION_SEED)
    return [
        compare_family(runs, family, plan.metric, plan.margin.value, plan.alpha, True, resamples, rng)
        for family in plan.families
    ]


def write_tables(runs_path: Path, plan_path: Path, output: Path, resamples: int = 10_000) -> list[Path]:
    """Write the stability table and an impact table a family, each as CSV and Markdown.

    Parameters
    ----------
    runs_path, plan_path : Path
        Table of runs and plan.
    output : Path
        Folder, made when missing.
    resamples : int
        Permutations a cell.

    Returns
    -------
    list of Path
        The files written: ``stability`` and ``<family>_impact``, ``.csv`` and ``.md``.

    Raises
    ------
    UserError
        Bad runs or plan, or a folder that cannot be written.
    """
    plan, runs = read_study(runs_path, plan_path)
    labels = {axis: plan.worker_label if axis == "workers" else axis for axis in AXES}
    digits = digits_for(plan.margin.value)
    stability = stability_table(summarise_configurations(runs, ("configuration", *AXES), plan.metric))
    head = f"{plan.title}: {plan.metric} after the last epoch, one run a seed; std has ddof = 1."
    texts = {"stability": (stability, f"{head}\n\n{stability_markdown(stability, labels, digits)}")}
    rule = f"Margin {plan.margin.value:g} ({plan.margin.source}); alpha {plan.alpha:g}."
    for family in compare_study(runs, plan, resamples):
        table = impact_table(family)
        texts[f"{family.name}_impact"] = (table, f"{head} {rule}\n\n{impact_markdown(family, labels, digits)}")
    return save_tables(texts, plan, output)


def save_tables(texts: Mapping[str, tuple[pd.DataFrame, str]], plan: Plan, output: Path) -> list[Path]:
    """Write tables as CSV (unrounded) and Markdown.

    Parameters
    ----------
    texts : mapping
        Name of the files to the table and its Markdown.
    plan : Plan
        What workers are called.
    output : Path
        Folder, made when missing.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    UserError
        The folder cannot be written.
    """
    files = []
    for name, (table, text) in texts.items():
        renamed = table.rename(columns={"workers": plan.worker_label.lower()})
        files += [(f"{name}.csv", renamed.to_csv(index=False, lineterminator="\n")), (f"{name}.md", text)]
    return write_files(output, files)

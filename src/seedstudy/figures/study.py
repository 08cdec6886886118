"""The figures of a study, from its runs and its plan alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from seedstudy.documents import write_files
from seedstudy.figures.influence import influence_figure
from seedstudy.figures.learning_curves import learning_curves_figure
from seedstudy.figures.stability import stability_figure
from seedstudy.figures.style import KINDS, encode, figure_style
from seedstudy.imports.study import read_study
from seedstudy.study import usable_cores
from seedstudy.tables.study import compare_study


def write_figures(runs_path: Path, plan_path: Path, output: Path) -> list[Path]:
    """Write learning curves, stability and the influence of each family, each as SVG and PNG.

    Parameters
    ----------
    runs_path, plan_path : Path
        Table of runs and plan.
    output : Path
        Folder, made when missing.

    Returns
    -------
    list of Path
        The files written: ``learning_curves``, ``stability`` and ``<family>_influence``, ``.svg`` and ``.png``.

    Raises
    ------
    UserError
        Bad runs or plan, or a folder that cannot be written.
    """
    plan, runs = read_study(runs_path, plan_path)
    figures: dict[str, Callable[[], Figure]] = {
        "learning_curves": partial(learning_curves_figure, plan, runs),
        "stability": partial(stability_figure, plan, runs),
    }
    for family in compare_study(runs, plan, resamples=0):
        figures[f"{family.name}_influence"] = partial(influence_figure, plan, family)
    return save_figures(figures, output)


def save_figures(figures: Mapping[str, Callable[[], Figure]], output: Path) -> list[Path]:
    """Draw figures side by side and write each as SVG and PNG.

    Parameters
    ----------
    figures : mapping
        Name of the files to what makes the figure; it must pickle.
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
    return write_files(output, _drawn(figures))


def _drawn(figures: Mapping[str, Callable[[], Figure]]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the figures' files; nothing is drawn before the first is asked for."""
    with ProcessPoolExecutor(min(usable_cores(), len(figures))) as pool:
        for name, files in zip(figures, pool.map(_draw, figures.values()), strict=True):
            for kind, content in files.items():
                yield f"{name}.{kind}", content


def _draw(make: Callable[[], Figure]) -> dict[str, bytes]:
    """Files of a figure by their kind."""
    with figure_style():
        figure = make()
        return {kind: encode(figure, kind) for kind in KINDS}

"""A study of made-up runs: the default plan's sixteen configurations, or the smoke plan's eight, with a few seeds."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from seedstudy.figures.style import figure_style
from seedstudy.study import load_plan

ROOT = Path(__file__).parents[3]
SEEDS = 6


def planned(folder, name, **replaced):
    """A plan of config/ with its own seeds; ``replaced`` are pieces of its text."""
    (folder / "seeds.txt").write_text("".join(f"{seed}\n" for seed in range(100, 100 + SEEDS)))
    text = (ROOT / "config" / f"{name}.yaml").read_text()
    for old, new in {"../seeds.txt": "seeds.txt", "smoke-seeds.txt": "seeds.txt", **replaced}.items():
        text = text.replace(old, new)
    (folder / f"{name}.yaml").write_text(text)
    return load_plan(folder / f"{name}.yaml")


def made_up(plan, rng=None):
    """Runs of a plan as text, as `seedstudy collect` writes them: a curve of three epochs, the last one the metric."""
    rng = rng or np.random.default_rng(1)
    base, rows = rng.normal(0.64, 0.004, SEEDS), []
    for configuration in plan.configurations:
        for seed, value in zip(plan.seeds, base + rng.normal(0, 0.0004, SEEDS), strict=True):
            curve = [float(value) - 0.05, float(value) - 0.01, float(value)]
            rows.append(
                {
                    "configuration": configuration.id,
                    "architecture": configuration.architecture,
                    "precision": str(configuration.precision),
                    "xla": str(configuration.xla).lower(),
                    "workers": str(configuration.workers),
                    "seed": str(seed),
                    "status": "ok",
                    "map12": float(value),
                    "epochs": "3",
                    "steps_per_epoch": "50",
                    "plan_digest": plan.plan_digest,
                    "map12_curve": " ".join(map(repr, curve)),
                }
            )
    return pd.DataFrame(rows)


def lose(runs, where, status="diverged", curve=""):
    """The runs of a mask end without a result."""
    runs = runs.copy()
    runs.loc[where, "status"] = status
    runs.loc[where, "map12"] = np.nan
    runs.loc[where, "map12_curve"] = curve
    return runs


@pytest.fixture(autouse=True)
def style():
    with figure_style():
        yield


@pytest.fixture(scope="session")
def plan(tmp_path_factory):
    return planned(tmp_path_factory.mktemp("default"), "default")


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    return planned(tmp_path_factory.mktemp("smoke"), "smoke")


@pytest.fixture(scope="session")
def runs(plan):
    return made_up(plan)


def panels_of(figure):
    """Panels by their title, line breaks and fixed blanks as plain blanks."""
    return {plain(ax.get_title()): ax for ax in figure.axes if ax.axison}


def plain(text):
    return text.replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")


def said(ax):
    """The lines between a panel's title and the panel."""
    return plain(" ".join(text.get_text() for text in ax.texts))


def points(ax):
    """Heights of the points of each scatter of a panel, in the order drawn."""
    return [found.get_offsets()[:, 1].tolist() for found in ax.collections if isinstance(found, PathCollection)]

"""Tables of `seedstudy sources` and `seedstudy audit`: what makes runs differ, and whether they repeat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from seedstudy.errors import UserError
from seedstudy.imports.evidence import read_repeats, read_sources
from seedstudy.statistics.estimate import ScalarInterval
from seedstudy.statistics.sources import MIN_PAIRS, variance_sources
from seedstudy.study import Plan
from seedstudy.tables.text import markdown

BOOTSTRAP_SEED = 0
RESAMPLES = 5_000
LEVEL = 0.95


def sources_texts(files: Sequence[Path], plan: Plan) -> list[tuple[str, str]]:
    """Variance between seeds by random stream.

    Parameters
    ----------
    files : sequence of Path
        From `seedstudy sources`, one a configuration.
    plan : Plan
        Title and metric.

    Returns
    -------
    list of (str, str)
        ``sources.csv``, unrounded, and ``sources.md``.

    Raises
    ------
    UserError
        A file cannot be read.
    """
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    rows, lines, left_out = [], [], []
    for configuration, runs in read_sources(files).groupby("configuration", sort=False):
        arms = runs.pivot(index="seed", columns="stream", values="value")
        arms = arms[list(dict.fromkeys(runs["stream"]))]
        diverged = arms.index[arms.isna().any(axis=1)]
        if len(diverged):
            left_out.append(f"{configuration}: seed {', '.join(map(str, diverged))} left out, since a run diverged.")
        arms = arms.drop(diverged)
        if len(arms) < MIN_PAIRS:
            lines.append([str(configuration), str(len(arms)), *["-"] * 3])
            continue
        base, streams = arms.pop("none"), list(arms.columns)
        found = variance_sources(base, {name: arms[name] for name in streams}, LEVEL, RESAMPLES, rng)
        parts = [("all", found.total, found.total_interval)]
        parts += [(name, found.components[name], found.intervals[name]) for name in streams]
        parts.append(("sum less all", found.excess, found.excess_interval))
        for name, value, interval in parts:
            rows.append(
                {
                    "configuration": configuration,
                    "seeds": found.n,
                    "stream": name,
                    "variance": value,
                    "low": interval.low,
                    "high": interval.high,
                    "share": value / found.total if found.total else float("nan"),
                }
            )
            lines.append(_source_cells(str(configuration), found.n, name, value, interval, found.total))
    head = (
        f"{plan.title}: variance of {plan.metric} between seeds, and the part that each random stream makes: half the "
        f"mean square of what another seed for that stream alone changes (Jansen 1999), interactions included. In "
        f"units of 1e-6; {100 * LEVEL:g} % intervals by BCa bootstrap over seeds. Where `sum less all` may be 0, "
        f"streams act without each other."
    )
    head = " ".join([head, *left_out])
    text = f"{head}\n\n{markdown(['configuration', 'seeds', 'stream', 'variance (interval)', 'share'], lines)}"
    return [("sources.csv", pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")), ("sources.md", text)]


def audit_texts(files: Sequence[Path], plan: Plan, runs: pd.DataFrame) -> list[tuple[str, str]]:
    """Which runs repeat to the bit.

    Parameters
    ----------
    files : sequence of Path
        From `seedstudy audit`, one a configuration.
    plan : Plan
        Title and metric.
    runs : pandas.DataFrame
        Table of runs, for the spread between seeds.

    Returns
    -------
    list of (str, str)
        ``audit.csv``, one row a run, and ``audit.md``, one a configuration and number of threads.

    Raises
    ------
    UserError
        A file cannot be read.
    """
    repeats = read_repeats(files)
    spread = runs.groupby("configuration")[plan.metric].std(ddof=1)
    for configuration in repeats["configuration"]:
        if configuration not in spread:
            where = runs.attrs.get("source", "table of runs")
            raise UserError(where, f"has no run of {configuration}, which was repeated; give the table of that study")
    lines = []
    for (configuration, threads, planned), part in repeats.groupby(["configuration", "threads", "planned"], sort=False):
        change = (part["again"] - part["before"]).to_numpy(float)
        noise, sd = float(np.sqrt(np.mean(change**2))), float(spread.loc[str(configuration)])
        first = part.iloc[0]
        force = f"XLA {'on' if first['xla'] else 'off'}, {first['instruction_set']}, {first['product_types']}"
        determinism = "deterministic" if part["determinism"].all() else "not deterministic"
        lines.append(
            [
                str(configuration),
                f"{threads}{'' if planned else ' (not the plan)'}",
                f"{part['bitwise'].sum()} of {len(part)}",
                f"{noise:.2g}",
                f"{noise / sd:.2g}" if sd else "-",
                f"{force}; {determinism}",
            ]
        )
    total = repeats[repeats["planned"]]
    head = (
        f"{plan.title}: runs trained again, in new processes, in reverse order, beside a busy process on every core. "
        f"At the plan's threads {total['bitwise'].sum()} of {len(total)} have bitwise the weights of the runs. "
        f"Change: root mean square of what {plan.metric} moved by, and its ratio to the SD between seeds."
    )
    heading = ["configuration", "threads", "bitwise", "change", "change / SD", "in force"]
    files_of = [("audit.csv", repeats.to_csv(index=False, lineterminator="\n"))]
    return [*files_of, ("audit.md", f"{head}\n\n{markdown(heading, lines)}")]


def _source_cells(
    configuration: str, seeds: int, name: str, value: float, interval: ScalarInterval, total: float
) -> list[str]:
    shown = f"{1e6 * value:.3f} ({1e6 * interval.low:.3f} to {1e6 * interval.high:.3f})"
    return [configuration, str(seeds), name, shown, f"{100 * value / total:.0f} %" if total else "-"]

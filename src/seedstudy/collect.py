"""From the ledgers of a plan's configurations to its table of runs.

The table is the contract between the halves of the house: training ends in it, statistics and figures start from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from seedstudy.documents import write_atomically
from seedstudy.errors import UserError
from seedstudy.owner import refuse_other_study, take_folder
from seedstudy.runs import CURVE_SUFFIX, Ledger, RunRecord
from seedstudy.study import Plan

LEADING = ("configuration", "model", "dataset", "architecture", "precision", "xla", "workers", "seed", "status")
TRAILING = (
    "epochs",
    "train_seconds",
    "samples_per_second",
    "weights_digest",
    "plan_digest",
    "commit",
    "run_digest",
    "compute_type",
    "data_sha256",
    "machine",
    "evaluation_seconds",
    "steps_per_epoch",
    "cause",
)


def collect(plan: Plan, ledger_root: Path, output: Path) -> int:
    """Write one row a run, configurations in the plan's order and seeds in the seeds file's.

    Parameters
    ----------
    plan : Plan
        Which runs.
    ledger_root : Path
        Where their records are.
    output : Path
        The CSV file; published whole.

    Returns
    -------
    int
        Number of runs.

    Raises
    ------
    UserError
        A run has no record, runs were trained on different data, or the output cannot be written or is another study's.
    """
    records, hashes = [], set[str]()
    for configuration in plan.configurations:
        ledger = Ledger(ledger_root, configuration.run_digest)
        absent = ledger.missing(plan.seeds)
        if absent:
            shown = ", ".join(map(str, absent[:5])) + (", ..." if len(absent) > 5 else "")
            # Forced, since jobs may be marked as done whose records were removed.
            remedy = f"train them: snakemake --cores all --configfile {plan.path} --forcerun train collect"
            raise UserError(ledger.folder, f"lacks seed(s) {shown} of {configuration.id}; {remedy}")
        for seed in plan.seeds:
            if (record := ledger.read(seed)) is not None:
                records.append(record)
                if record.status == "ok" and plan.metric not in record.metrics:
                    where = f"{ledger.path(seed)}: metrics.{plan.metric}"
                    raise UserError(where, "is missing, though the run is ok; remove the file to train this seed")
                if record.status != "failed":
                    hashes.add(_data_sha256(record, ledger.path(seed)))
    if len(hashes) > 1:
        raise UserError(ledger_root, f"holds runs on {len(hashes)} different data sets; remove those of the older ones")
    refuse_other_study(output.parent, plan)
    write_atomically(output, runs_csv(runs_table(records)))
    take_folder(output.parent, plan)
    return len(records)


def _data_sha256(record: RunRecord, path: Path) -> str:
    found = record.provenance.get("data_sha256")
    if not isinstance(found, str):
        raise UserError(f"{path}: provenance.data_sha256", "is no text; remove the file to train this seed")
    return found


def runs_table(records: Iterable[RunRecord]) -> pd.DataFrame:
    """One row a run, in the given order, nothing rounded.

    Parameters
    ----------
    records : iterable of RunRecord

    Returns
    -------
    DataFrame
        Columns `LEADING`, the metrics, `TRAILING`, then `<metric>_curve`: its values after each epoch.
    """
    rows, metrics = [], dict[str, None]()
    for record in records:
        row = record.model_dump(include={*LEADING, *TRAILING})
        row |= {key: record.provenance.get(key) for key in ("commit", "data_sha256", "machine")}
        row |= record.metrics
        metrics |= dict.fromkeys(record.metrics)
        metrics |= dict.fromkeys(name for epoch in record.curve for name in epoch.metrics)
        for name in metrics:
            values = (epoch.metrics.get(name) for epoch in record.curve)
            row[name + CURVE_SUFFIX] = " ".join("nan" if value is None else repr(value) for value in values)
        rows.append(row)
    curves = [name + CURVE_SUFFIX for name in metrics]
    return pd.DataFrame(rows, columns=[*LEADING, *metrics, *TRAILING, *curves])


def runs_csv(table: pd.DataFrame) -> str:
    """The table as CSV text: floats in the shortest form that reads back the same, booleans as true and false."""
    text = table.copy()
    text["xla"] = text["xla"].map({True: "true", False: "false"})
    for name in ("workers", "seed", "epochs", "steps_per_epoch"):
        text[name] = text[name].astype("Int64")
    csv: str = text.to_csv(index=False, lineterminator="\n")
    return csv

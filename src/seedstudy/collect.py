"""From the ledgers of a plan's configurations to its table of runs."""

from __future__ import annotations

from pathlib import Path

from seedstudy.documents import write_atomically
from seedstudy.errors import UserError
from seedstudy.runs import Ledger, runs_csv, runs_table
from seedstudy.study import Plan


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
        A run has no record, or runs of one configuration were trained on different data.
    """
    records = []
    for configuration in plan.configurations:
        ledger = Ledger(ledger_root, configuration.run_digest)
        absent = ledger.missing(plan.seeds)
        if absent:
            shown = ", ".join(map(str, absent[:5])) + (", ..." if len(absent) > 5 else "")
            raise UserError(ledger.folder, f"lacks seed(s) {shown} of {configuration.id}; train them first")
        records += [record for seed in plan.seeds if (record := ledger.read(seed)) is not None]
    hashes = {record.provenance["data_sha256"] for record in records if record.status != "failed"}
    if len(hashes) > 1:
        raise UserError(ledger_root, f"holds runs on {len(hashes)} different data sets; remove those of the older ones")
    output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(output, runs_csv(runs_table(records)))
    return len(records)

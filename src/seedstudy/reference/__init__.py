"""Published summaries that ship as an example for `seedstudy reanalyse`; sources stand in SOURCES.md."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def reference_path(name: str) -> Path:
    """Path of a shipped table.

    Parameters
    ----------
    name : str
        Such as ``widedeep_amp_impact.csv``.

    Returns
    -------
    Path
    """
    return Path(str(files(__name__) / name))

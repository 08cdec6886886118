"""Which study the tables in a folder are of: one folder, one study."""

from __future__ import annotations

from pathlib import Path

from seedstudy.documents import read_text, write_atomically
from seedstudy.errors import UserError
from seedstudy.study import Plan

OWNER = ".study"


def refuse_other_study(folder: Path, plan: Plan) -> None:
    """Check that a folder of results holds no other study.

    Parameters
    ----------
    folder : Path
        Of the results; may be missing.
    plan : Plan

    Raises
    ------
    UserError
        It holds a study of another name.
    """
    path = folder / OWNER
    if path.exists() and (other := read_text(path).strip()) != plan.name:
        problem = f"{folder} holds the study {other}; name another folder, or remove that one"
        raise UserError(f"{plan.path}: output.results", problem)


def take_folder(folder: Path, plan: Plan) -> None:
    """Make a folder of results that of a plan's study.

    Parameters
    ----------
    folder : Path
        Of the results; made when missing.
    plan : Plan

    Raises
    ------
    UserError
        It cannot be written.
    """
    write_atomically(folder / OWNER, f"{plan.name}\n")

"""State of an unfinished seed after an epoch, kept so that a run that was stopped goes on from there, bit by bit."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seedstudy.documents import write_atomically

ABOUT = "about"


class Checkpoint:
    """The file of one seed's last finished epoch.

    Holds variables by name and what is known of the run so far. Since every rank has the same variables, one file
    serves all of them.

    Parameters
    ----------
    path : Path
        The file.
    identity : str
        Of the run, as its digest and seed: a file of another run is not read.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path, self._identity = path, identity

    def save(self, variables: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        """Publish a state, whole or not at all, in place of the one before.

        Parameters
        ----------
        variables : mapping of str to tf.Variable
        known : mapping
            JSON-able.
        """
        about = json.dumps({"identity": self._identity, "known": known}).encode()
        arrays: dict[str, Any] = {name: variable.numpy() for name, variable in variables.items()}
        content = io.BytesIO()
        np.savez(content, **arrays | {ABOUT: np.frombuffer(about, np.uint8)})
        write_atomically(self.path, content.getvalue())

    def restore(self, variables: Mapping[str, Any]) -> dict[str, Any] | None:
        """Set variables to the state that was kept.

        Returns
        -------
        dict or None
            What was known; None where there is no state of this run, which then starts from the beginning.
        """
        try:
            with np.load(self.path) as stored:
                about = json.loads(stored[ABOUT].tobytes())
                if about["identity"] != self._identity:
                    raise ValueError("belongs to another run")
                arrays = {name: stored[name] for name in variables}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            print(f"seedstudy: {self.path}: is of no use ({error}); the seed starts again", file=sys.stderr)
            return None
        for name, variable in variables.items():
            variable.assign(arrays[name])
        known: dict[str, Any] = about["known"]
        return known

    def remove(self) -> None:
        """Remove the file; the seed is finished."""
        self.path.unlink(missing_ok=True)

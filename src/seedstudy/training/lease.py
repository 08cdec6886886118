"""What only one process may hold: a seed that is being trained, a GPU that is computed on.

A lease is a lock of the kernel on a file, so that it ends with its holder, however that ends; what is written in the
file only tells others who holds it.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from seedstudy.documents import writing
from seedstudy.errors import UserError


class Held(Exception):
    """Another process holds the lease; the message says which."""


@contextmanager
def lease(path: Path) -> Iterator[None]:
    """Hold a lease for the length of a block.

    Parameters
    ----------
    path : Path
        File of the lease; stays behind, empty of meaning.

    Raises
    ------
    Held
        Another process holds it.
    OSError
        The file cannot be opened.
    """
    # Never through a link: what it points to would be overwritten.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Held(os.pread(handle, 200, 0).decode(errors="replace").strip() or "another process") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, _holder().encode(), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def seeds_leased(folder: Path, seeds: list[int]) -> Iterator[None]:
    """Hold the leases of seeds, so that none is trained twice at once.

    Parameters
    ----------
    folder : Path
        Of the ledger of their configuration, made when missing.
    seeds : list of int

    Raises
    ------
    UserError
        Another process trains one of them, or the folder cannot be written.
    """
    with ExitStack() as held:
        for seed in seeds:
            path = folder / f".seed-{seed}.lease"
            try:
                with writing(path):
                    folder.mkdir(parents=True, exist_ok=True)
                    held.enter_context(lease(path))
            except Held as holder:
                problem = f"is being trained by {holder}; wait for it, or end it, and start again"
                raise UserError(f"{folder}: seed {seed}", problem) from None
        yield


def _holder() -> str:
    job = os.environ.get("SLURM_JOB_ID")
    return f"process {os.getpid()} on {socket.gethostname()}{f', Slurm job {job}' if job else ''}"

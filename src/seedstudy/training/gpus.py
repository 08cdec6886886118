"""GPUs of this machine, leased to a job, so that jobs side by side never share one. Free of TensorFlow."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from seedstudy.errors import UserError
from seedstudy.hardware import list_gpus
from seedstudy.training.lease import Held, lease

POLL_SECONDS = 1.0


@contextmanager
def gpu_slots(wanted: int, name: str | None) -> Iterator[str]:
    """Hold some GPUs for the length of a block; wait until as many are free.

    Parameters
    ----------
    wanted : int
        How many.
    name : str or None
        Part of their name.

    Yields
    ------
    str
        Value of CUDA_VISIBLE_DEVICES. One that is set, as by a scheduler, is left as it is and nothing is leased.

    Raises
    ------
    UserError
        The folder of the leases cannot be made, or is open to another user.
    """
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        yield given
        return
    folder = Path(tempfile.gettempdir()) / f"seedstudy-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        # Looked at once and as it is: of a link it is the link's owner that counts.
        found_there = folder.lstat()
    except OSError as error:
        raise UserError(folder, f"cannot be made to lease GPUs in: {error.strerror}; set TMPDIR") from error
    private = stat.S_ISDIR(found_there.st_mode) and not found_there.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not private or found_there.st_uid != os.getuid():
        raise UserError(folder, "is not a folder of yours alone; GPUs cannot be leased there: set TMPDIR")
    said = False
    while True:
        with ExitStack() as held:
            found: list[str] = []
            for gpu in list_gpus():
                if len(found) < wanted and (name is None or name in gpu.name):
                    try:
                        held.enter_context(lease(folder / f"{gpu.uuid}.lease"))
                    except Held:
                        continue
                    found.append(gpu.uuid)
            if len(found) == wanted:
                yield ",".join(found)
                return
        # Those that were free are given back meanwhile: two jobs that each keep a half would wait for ever.
        if not said:
            print(f"seedstudy: waiting for {wanted} free GPU(s), {len(found)} now", file=sys.stderr)
            said = True
        time.sleep(POLL_SECONDS)

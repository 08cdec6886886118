"""Check what set-up needs before anything is downloaded or built; each lack is one line that says what to install.

Runs on any Python 3, so that an old one is told so and not met with a syntax error.
"""

import os
import platform
import shutil
import sys

DISK_GB = 6
VERSIONS = ((3, 11), (3, 14))


def lacking() -> "list[str]":
    """Return what is missing, one line each."""
    found = []
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        found.append(f"needs Linux on x86-64, this is {platform.system()} on {platform.machine()}")
    if not VERSIONS[0] <= sys.version_info[:2] < VERSIONS[1]:
        found.append(
            f"needs Python 3.11 to 3.13, this is {platform.python_version()}; name one: make PYTHON=python3.12"
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        found.append("Python lacks venv; install it, on Debian or Ubuntu: apt-get install python3-venv")
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        found.append("no C++ compiler (g++) to build Horovod; install one, on Debian or Ubuntu: apt-get install g++")
    if shutil.which("make") is None:
        found.append("no make to build Horovod; install it, on Debian or Ubuntu: apt-get install make")
    free = shutil.disk_usage(".").free / 1e9
    if not os.path.isdir(".venv") and free < DISK_GB:
        found.append(f"needs {DISK_GB} GB of free disk here, there are {free:.1f}; free some")
    return found


if __name__ == "__main__":
    problems = lacking()
    for problem in problems:
        sys.stderr.write(f"setup: {problem}\n")
    sys.exit(1 if problems else 0)

"""How every benchmark ends: its lines under a heading that says of which commit, machine and day they are."""

from __future__ import annotations

import platform
import time
from pathlib import Path

from seedstudy.training.job import commit, machine


def publish(title: str, command: str, about: str, lines: list[str], output: Path | None) -> None:
    """Print the page of a benchmark, and write it where asked for.

    Parameters
    ----------
    title : str
        Its heading.
    command : str
        What makes it again.
    about : str
        Sentences on what was measured.
    lines : list of str
        What was.
    output : Path or None
        Markdown file.
    """
    origin = f"Commit {commit()}, {machine()}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    text = "\n".join([f"# {title}", "", f"{about} {origin}: `{command}`.", "", *lines]) + "\n"
    print(text)
    if output:
        output.write_text(text)

"""The command line: the only place that reads arguments, and files for a command.

Exit codes: 0 done, 1 a run or a check failed, 2 bad input (one line on standard error), 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable
from functools import cache

import typer
from typer.main import get_command

from seedstudy.errors import UserError

app = typer.Typer(
    name="seedstudy",
    help="Did this change move my model's accuracy, or is it the seed?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@cache
def _command() -> Callable[..., int | None]:
    """All commands, made once a process: typer reads every signature anew for each `app` that is called."""
    for area in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(area.name)
    return get_command(app)


def main() -> None:
    """Run the command line; a user's mistake is one line, never a traceback."""
    try:
        # Not standalone: typer would print three lines of usage before the one that says what is wrong.
        sys.exit(_command()(standalone_mode=False))
    except UserError as error:
        print(f"seedstudy: {error}", file=sys.stderr)
        sys.exit(2)
    except typer.TyperException as error:
        text = error.format_message()
        # Without a command the message is the help.
        print(text if text.startswith("Usage:") else f"seedstudy: {' '.join(text.split())}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except OSError as error:
        _discard_output()
        # Who writes a file says so (`documents.writing`); what gets here is mostly the output, and has no name.
        problem = f"{error.strerror or error}; mend that, and start again"
        print(f"seedstudy: {error.filename or 'standard output'}: {problem}", file=sys.stderr)
        sys.exit(1)


def _discard_output() -> None:
    """Let what standard output still holds go nowhere: Python would try it again at the end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Files: YAML with a schema (strict types, unknown and repeated keys refused), whole writes, digests."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from seedstudy.errors import UserError
from seedstudy.plain_yaml import NotPlainYaml, parse_yaml

Model = TypeVar("Model", bound=BaseModel)

_REMEDIES = {
    "extra_forbidden": "unknown key; remove it or correct its spelling",
    "missing": "is missing; add it",
    # All else that is no JSON was refused before it got here.
    "json_invalid": "is nested too deeply; write it flatter",
}
_MENDED_BY = {
    errno.ENOSPC: "make room on its disk, and start again",
    errno.EDQUOT: "make room in your quota, and start again",
}


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the system refuses while a file is read into one line; raises `UserError`."""
    try:
        yield
    except OSError as error:
        problem = f"cannot be read: {error.strerror}; restore it, or correct its path"
        raise UserError(path, problem) from error


def read_text(path: Path) -> str:
    """Text of a UTF-8 file.

    Raises
    ------
    UserError
        The file cannot be read or is not UTF-8.
    """
    try:
        with reading(path):
            return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(path, f"is not UTF-8 text (byte {error.start}); save it as UTF-8") from error


@contextmanager
def writing(place: object) -> Iterator[None]:
    """Turn what the system refuses while a file or folder is written into one line with what would mend it.

    Parameters
    ----------
    place : object
        File or folder named in the message.

    Raises
    ------
    UserError
        The disk is full, the folder cannot be written, or the like.
    """
    try:
        yield
    except OSError as error:
        # Polars has the number in its text alone, and PyArrow words of its own beside it.
        found = re.search(r"\(os error (\d+)\)", str(error))
        number = error.errno or (int(found[1]) if found else 0)
        problem = os.strerror(number) if number else str(error)
        remedy = _MENDED_BY.get(number, "make it writable, or name another place")
        raise UserError(place, f"cannot be written: {problem}; {remedy}") from error


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for the length of a block, in the system's place for such; none can be made: `UserError`."""
    with ExitStack() as stack:
        with writing("TMPDIR"):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
        yield Path(folder)


def lines_of(text: str) -> list[str]:
    """Lines of a file without their ends: what editors number, unlike `str.splitlines`, which knows ten ends more."""
    return re.split(r"\r\n|\r|\n", text)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Publish a file, whole or not at all, and on the disk before its name is.

    Parameters
    ----------
    path : Path
        Where; its folder is made when missing.
    content : str or bytes
        Text is written as UTF-8.

    Raises
    ------
    UserError
        It cannot be written; what was there stays.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def write_files(folder: Path, files: Iterable[tuple[str, str | bytes]]) -> list[Path]:
    """Publish files in a folder.

    Parameters
    ----------
    folder : Path
        Where.
    files : iterable of (str, str or bytes)
        Names and contents, each as for `write_atomically`.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    UserError
        The folder or a file cannot be written.
    """
    with writing(folder):  # Before the first content is made, which may take long.
        folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in files:
        write_atomically(folder / name, content)
        written.append(folder / name)
    return written


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises
    ------
    UserError
        The file cannot be read.
    """
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_yaml(path: Path) -> dict[str, Any]:
    """Top-level mapping of a YAML file.

    Raises
    ------
    UserError
        The file cannot be read, is no YAML, repeats a key, or holds something else than a mapping.
    """
    try:
        content = parse_yaml(read_text(path))
    except NotPlainYaml as error:
        raise UserError(path if error.line is None else f"{path}, line {error.line}", str(error)) from error
    if not isinstance(content, dict):
        raise UserError(path, f"holds {_kind(content)}; a mapping of keys to values is needed")
    return content


class RepeatedKey(ValueError):
    """A JSON object names a key twice."""


def parse_json(text: str) -> Any:
    """Value of a JSON text; ``NaN`` and ``Infinity`` are numbers.

    Raises
    ------
    RepeatedKey
        An object names a key twice.
    ValueError
        The text is no JSON (`json.JSONDecodeError` where it knows the line), or more than Python reads.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise RepeatedKey("names a key twice; keep one")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def read_json(path: Path, remedy: str) -> Any:
    """Value of a JSON file.

    Parameters
    ----------
    path : Path
        The file.
    remedy : str
        What to do about a damaged one.

    Raises
    ------
    UserError
        The file cannot be read, is no JSON, or names a key twice.
    """
    try:
        return parse_json(read_text(path))
    except RepeatedKey as error:
        raise UserError(path, str(error)) from error
    except json.JSONDecodeError as error:
        raise UserError(f"{path}, line {error.lineno}", f"is no JSON; {remedy}") from error
    except ValueError as error:
        # Python refuses whole numbers of thousands of digits by a plain ValueError.
        raise UserError(path, f"is no JSON; {remedy}") from error


def validate(
    content: dict[str, Any], model: type[Model], where: object, context: dict[str, Any] | None = None
) -> Model:
    """Check a mapping against its schema.

    Parameters
    ----------
    content : dict
        As read from YAML or JSON.
    model : type of pydantic model
        The schema.
    where : object
        File named in the message.
    context : dict, optional
        For the schema's own validators: `folder` is where relative paths start.

    Raises
    ------
    UserError
        Names the key of the first mistake, and how many there are.
    """
    try:
        # Through JSON, since only there pydantic's strict mode takes a list for a tuple, and nothing else for it.
        return model.model_validate_json(json.dumps(content, ensure_ascii=False), strict=True, context=context)
    except (TypeError, ValueError, RecursionError) as error:
        if not isinstance(error, ValidationError):
            raise UserError(where, f"holds a value of no use here: {error}") from error
        raise refused(error, f"{where}: ") from error


def refused(error: ValidationError, where: str) -> UserError:
    """What a schema found, as one line: the key of the first mistake after ``where``, and how many more there are."""
    mistakes = error.errors()
    first = mistakes[0]
    key = ".".join(str(part) for part in first["loc"]) or "the document"
    remedy = _REMEDIES.get(first["type"], first["msg"].removeprefix("Value error, "))
    if first["type"].startswith("union_tag"):
        context = first["ctx"]
        key = f"{key}.{context['discriminator'].strip(chr(39))}"
        known = f"; known are {context['expected_tags']}" if "expected_tags" in context else ""
        remedy = f"{context['tag']} is unknown{known}" if "tag" in context else _REMEDIES["missing"]
    more = f" ({len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return UserError(f"{where}{key}", f"{remedy}{more}")


def load_document(path: Path, model: type[Model]) -> Model:
    """Read and check a YAML file whose relative paths start at its folder; see `read_yaml` and `validate`."""
    return validate(read_yaml(path), model, path, {"folder": path.parent})


def _kind(value: object) -> str:
    return {type(None): "nothing", list: "a list", str: "text"}.get(type(value), f"a {type(value).__name__}")

"""Files: YAML with a schema (strict types, unknown and repeated keys refused), whole writes, digests."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from seedstudy.errors import UserError

Model = TypeVar("Model", bound=BaseModel)

# PyYAML reads 1e-4 as text, since YAML 1.1 wants a point and a sign; people and every other program write 1e-4.
_FLOAT = re.compile(r"^[-+]?(?:\d[\d_]*)(?:\.\d*)?[eE][-+]?\d+$")
_REMEDIES = {
    "extra_forbidden": "unknown key; remove it or correct its spelling",
    "missing": "is missing; add it",
}
_MENDED_BY = {
    errno.ENOSPC: "make room on its disk, and start again",
    errno.EDQUOT: "make room in your quota, and start again",
}


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses a repeated key instead of keeping the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} is given twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789"))


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
        content = yaml.load(read_text(path), Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise UserError(f"{path}{line}", f"{error.problem}; correct the YAML") from error
    except yaml.YAMLError as error:
        raise UserError(path, f"is no YAML: {error}") from error
    except RecursionError as error:
        raise UserError(path, "is nested too deeply") from error
    if not isinstance(content, dict):
        raise UserError(path, f"holds {_kind(content)}; a mapping of keys to values is needed")
    return content


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
        return model.model_validate_json(json.dumps(content), strict=True, context=context)
    except (TypeError, ValueError) as error:
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

"""YAML of text, numbers, booleans, lists and mappings: no other types, no repeated keys, no aliases that explode."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from typing import Any

import yaml

MOST_VALUES = 100_000
"""Values that a document with aliases may stand for: a few lines of aliases of aliases would fill any memory."""

_PLAIN = {"null", "bool", "int", "float", "str", "seq", "map"}
# PyYAML reads 1e-4 as text, since YAML 1.1 wants a point and a sign; people and every other program write 1e-4.
_FLOAT = re.compile(r"^[-+]?(?:\d[\d_]*)(?:\.\d*)?[eE][-+]?\d+$")


def _kind(tag: str) -> str:
    return tag.removeprefix("tag:yaml.org,2002:")


class _Loader(yaml.SafeLoader):
    """Safe YAML of plain values; each refusal has its place."""

    # A date is text here, as in JSON.
    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own
        first: [(tag, form) for tag, form in known if not tag.endswith(":timestamp")]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {  # noqa: RUF012
        tag: make for tag, make in yaml.SafeLoader.yaml_constructors.items() if _kind(str(tag)) in _PLAIN
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._values = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        alias = self.peek_event() if self.check_event(yaml.AliasEvent) else None  # type: ignore[no-untyped-call]
        before = self._values
        node = super().compose_node(parent, index)
        if alias is None:
            self._values += 1
            self._sizes[id(node)] = self._values - before
        elif id(node) not in self._sizes:
            raise yaml.composer.ComposerError(None, None, "an alias stands inside its own value", alias.start_mark)
        else:
            self._values += self._sizes[id(node)]
            if self._values > MOST_VALUES:
                many = f"aliases make more than {MOST_VALUES:,} values of this"
                raise yaml.composer.ComposerError(None, None, many, alias.start_mark)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, str):
                value.encode()
        except (ValueError, KeyError, IndexError) as error:
            shown = ascii(node.value if len(node.value) < 30 else f"{node.value[:30]}...")
            problem = f"{shown} is no {_kind(node.tag)}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        # A tag may call a list a mapping; PyYAML itself refuses that.
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key is no plain text", key.start_mark)
            value = self.construct_object(key, deep=True)
            name = value if isinstance(value, str) else json.dumps(value)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} is given twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


def _refuse(loader: _Loader, node: yaml.Node) -> None:
    tag = node.tag.replace("tag:yaml.org,2002:", "!!")
    problem = f"the tag {tag} is not read; write plain text, numbers, lists and mappings"
    raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_Loader.add_constructor(None, _refuse)
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789"))


class NotPlainYaml(ValueError):
    """Text that is not read.

    Attributes
    ----------
    line : int or None
        Where, from 1.
    """

    def __init__(self, line: int | None, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def parse_yaml(text: str) -> Any:
    """Values of a YAML document.

    Raises
    ------
    NotPlainYaml
        The text is no YAML, has a tag of its own, repeats a key, or is nested or grows by aliases beyond measure.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise NotPlainYaml(line, f"{error.problem}; correct the YAML") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"holds the character U+{ord(text[error.position]):04X}, which YAML forbids; remove it"
        raise NotPlainYaml(line, problem) from error
    except RecursionError as error:
        raise NotPlainYaml(None, "is nested too deeply; write it flatter") from error

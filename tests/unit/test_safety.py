"""Nothing that a plan, a table or a file says is run. Ruff's rules S see to the rest of it."""

import ast
import re

import pytest

from seedstudy.study import ROOT

RULES = [ROOT / "Snakefile", *sorted((ROOT / "workflow").rglob("*.smk"))]
# Numbers and options that the workflow makes itself.
OWN = {"params.seeds", "params.threads", "params.attempts", "params.retry", "resources.attempt"}


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_rules_quote_all_that_comes_from_a_plan(path):
    text = path.read_text()
    commands = re.findall(r"^    shell:\n((?:        .*\n)+)", text, re.MULTILINE)
    assert len(commands) == text.count("shell:")
    assert not re.search(r"\brun:\n|\bshell\(|os\.system|\bscript:\n", text)
    fields = {field for command in commands for field in re.findall(r"\{([^{}]*)\}", command)}
    assert {field for field in fields if not field.endswith(":q")} <= OWN


@pytest.mark.parametrize("folder", ["src", "tools"])
def test_no_file_is_unpickled_by_numpy(folder):
    """Ruff knows pickle, but not that NumPy and pandas can read it too."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.keyword) and node.arg == "allow_pickle"), path
            assert not (isinstance(node, ast.Attribute) and node.attr == "read_pickle"), path

"""Dagster is used by its public names alone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import graphrag_dagster

PACKAGE = Path(graphrag_dagster.__file__).parent
PRIVATE = re.compile(r"(?<!\w)dagster\w*\._")


def named(file: Path) -> Iterator[str]:
    """Every module that a file imports, and every text in it that reads like one."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_private_part_of_dagster_is_named() -> None:
    assert [file for file in PACKAGE.rglob("*.py") if any(map(PRIVATE.search, named(file)))] == []

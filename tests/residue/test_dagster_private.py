import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dagster

import graphrag_dagster
from graphrag_dagster.orchestration import dagster_private

PACKAGE = Path(graphrag_dagster.__file__).parent
ADAPTER = Path(dagster_private.__file__).parent
PRIVATE = re.compile(r"(?<!\w)dagster\._")


def test_dagster_is_no_newer_than_the_one_whose_private_parts_were_looked_at() -> None:
    installed = tuple(int(part) for part in dagster.__version__.split(".")[:2])
    assert installed <= dagster_private.CHECKED_WITH, (
        f"Dagster is {dagster.__version__}. Compare what {ADAPTER.name} imports with that release: the tables of "
        "its event log and run storage, the file for each run, how SQLite storages connect and are made, how an event is stored and what a step asks of those before it, "
        "LegacyEventLogStorage and LegacyRunStorage, what execute_in_process of a job does, and the module of NoOpComputeLogManager; look whether any of it is public by now, run the tests of this folder and "
        "tests/cli/test_stopping.py, and then raise CHECKED_WITH"
    )


def named(file: Path) -> Iterator[str]:
    """Every module that a file imports, and every text in it that reads like one."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_private_parts_of_dagster_are_named_in_one_room_only() -> None:
    private = {file for file in PACKAGE.rglob("*.py") if any(map(PRIVATE.search, named(file)))}
    assert private
    assert private <= set(ADAPTER.glob("*.py"))

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dagster

import graphrag_dagster
from graphrag_dagster.resources import dagster_instance
from graphrag_dagster.resources import run_history as forgetting

PACKAGE = Path(graphrag_dagster.__file__).parent
FORGETTING = Path(forgetting.__file__)
#: Names in the settings of an instance a class that Dagster has no other name for.
SETTINGS = Path(dagster_instance.__file__)
PRIVATE = re.compile(r"(?<!\w)dagster\._")


def test_dagster_is_no_newer_than_the_one_whose_private_parts_were_looked_at() -> None:
    installed = tuple(int(part) for part in dagster.__version__.split(".")[:2])
    assert installed <= forgetting.CHECKED_WITH, (
        f"Dagster is {dagster.__version__}. Compare what {FORGETTING.name} imports with that release: the tables of its "
        "event log and run storage, the file for each run, LegacyEventLogStorage and LegacyRunStorage; and the module of "
        f"NoOpComputeLogManager in {SETTINGS.name}; look whether any of it is public by now, run the tests of this folder "
        "and tests/cli/test_stopping.py, and then raise CHECKED_WITH"
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


def test_private_parts_of_dagster_are_named_where_a_corpus_is_erased_from_its_history_only() -> None:
    private = {file for file in PACKAGE.rglob("*.py") if any(map(PRIVATE.search, named(file)))}
    assert private == {FORGETTING, SETTINGS}
    imported = {name for name in named(SETTINGS) if PRIVATE.search(name)}
    assert imported == {"dagster._core.storage.noop_compute_log_manager"}

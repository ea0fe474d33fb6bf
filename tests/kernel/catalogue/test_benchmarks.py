"""The scripts of ``benchmarks/`` are run by hand: what they import of the package and each other has to exist."""

import ast
import importlib
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[3] / "benchmarks").glob("*.py"))


def _defined(script: Path) -> set[str]:
    """Return the names that a script defines or imports at its top."""
    found: set[str] = set()
    for node in ast.parse(script.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update(name.id for one in targets for name in ast.walk(one) if isinstance(name, ast.Name))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(name.asname or name.name for name in node.names)
    return found


DEFINED = {script.stem: _defined(script) for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_what_scripts_import_of_the_package_exists(script: Path) -> None:
    """A module that moved takes its scripts along."""
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphrag_dagster"):
            module = importlib.import_module(str(node.module))
            for name in node.names:
                if not hasattr(module, name.name):
                    importlib.import_module(f"{node.module}.{name.name}")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_what_scripts_import_of_each_other_exists(script: Path) -> None:
    """A name that changed takes the scripts that use it along."""
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in DEFINED:
            assert {name.name for name in node.names} <= DEFINED[node.module]

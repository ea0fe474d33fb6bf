"""Working folders of tests: corpora, warehouse, memory and Dagster instance in one."""

import shutil
from pathlib import Path

import pytest

VARIABLES = (
    "GRAPHRAG_DAGSTER_CACHE",
    "GRAPHRAG_DAGSTER_CORPORA",
    "GRAPHRAG_DAGSTER_TOKEN",
    "GRAPHRAG_DAGSTER_WAREHOUSE",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
)


def enter_home(patch: pytest.MonkeyPatch, home: Path) -> Path:
    """Work in a home, with nothing of this machine's environment; gives the home."""
    for variable in VARIABLES:
        patch.delenv(variable, raising=False)
    patch.setenv("GRAPHRAG_DAGSTER_HOME", str(home))
    patch.setenv("DAGSTER_HOME", str(home / ".dagster_home"))
    patch.chdir(home)
    return home


def copy_home(source: Path, home: Path) -> Path:
    """Put what a home holds into another; gives that."""
    return Path(shutil.copytree(source, home, dirs_exist_ok=True))

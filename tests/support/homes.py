"""Working folders of tests: corpora, warehouse, memory and Dagster instance in one."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

VARIABLES = (
    "GRAPHRAG_DAGSTER_CACHE",
    "GRAPHRAG_DAGSTER_CORPORA",
    "GRAPHRAG_DAGSTER_PUBLISHED",
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


def shared_home(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], object]) -> Path:
    """A home that is filled once for all processes of a test session; not to be changed.

    Args:
        factory: of the session.
        name: of the home.
        fill: fills the empty folder; called inside the home.
    """
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"shared {name}"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            making = folder.with_name(f"making {name}")
            (making / "corpora").mkdir(parents=True)
            with pytest.MonkeyPatch.context() as patch:
                fill(enter_home(patch, making))
            making.rename(folder)
    return folder

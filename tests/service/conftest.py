from collections.abc import Iterator
from pathlib import Path

import pytest
from served import FaultyLibrary

from support.corpora import write_corpus


@pytest.fixture
def library() -> Iterator[FaultyLibrary]:
    made = FaultyLibrary()
    yield made
    made.gate.set()
    made.between.set()


@pytest.fixture(scope="session")
def coast_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the tiny corpus ``coast`` indexed by the extractive engine, and ``bare`` not indexed."""
    folder = tmp_path_factory.mktemp("served")
    write_corpus(folder / "corpora")
    write_corpus(folder / "corpora", "bare")
    patch = pytest.MonkeyPatch()
    patch.setenv("GRAPHRAG_DAGSTER_HOME", str(folder))
    patch.setenv("DAGSTER_HOME", str(folder / ".dagster_home"))
    from graphrag_dagster.cli.running import run_job

    run_job("coast")
    patch.undo()
    return folder


@pytest.fixture
def coast(coast_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The indexed home, in the environment."""
    monkeypatch.setenv("GRAPHRAG_DAGSTER_HOME", str(coast_home))
    monkeypatch.setenv("DAGSTER_HOME", str(coast_home / ".dagster_home"))
    monkeypatch.chdir(coast_home)
    return coast_home

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.corpora import write_corpus
from support.homes import copy_home, enter_home
from support.served import FaultyLibrary


@pytest.fixture
def library() -> Iterator[FaultyLibrary]:
    made = FaultyLibrary()
    yield made
    made.gate.set()
    made.between.set()


@pytest.fixture(scope="session")
def coast_home(tmp_path_factory: pytest.TempPathFactory, indexed_home: Path) -> Path:
    """A home with the tiny corpus ``coast`` indexed by the extractive engine, and ``bare`` not indexed."""
    folder = copy_home(indexed_home, tmp_path_factory.mktemp("served"))
    write_corpus(folder / "corpora", "bare")
    return folder


@pytest.fixture
def coast(coast_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The indexed home, in the environment."""
    return enter_home(monkeypatch, coast_home)

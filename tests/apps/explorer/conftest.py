from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from graphrag_dagster import Index
from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings
from support.corpora import write_corpus
from support.homes import copy_home, enter_home


@pytest.fixture(scope="session")
def seen_home(tmp_path_factory: pytest.TempPathFactory, indexed_home: Path) -> Path:
    """A home with the tiny corpus ``coast`` indexed by the extractive engine, and ``bare`` not indexed."""
    folder = copy_home(indexed_home, tmp_path_factory.mktemp("seen"))
    write_corpus(folder / "corpora", "bare")
    return folder


@pytest.fixture
def seen(seen_home: Path, monkeypatch: pytest.MonkeyPatch) -> Explorer:
    """The indexed corpus."""
    enter_home(monkeypatch, seen_home)
    return Index.explorer("coast")


@pytest.fixture
def client(seen: Explorer) -> Iterator[TestClient]:
    """The service over it."""
    with TestClient(make_app(ServiceSettings()), base_url="http://localhost:8000") as made:
        yield made

from pathlib import Path

import pytest

from graphrag_dagster import Index
from support.homes import enter_home


@pytest.fixture
def index(indexed_home: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """The corpus ``coast``, opened."""
    enter_home(monkeypatch, indexed_home)
    return Index.open("coast")

from pathlib import Path

import pytest

from graphrag_dagster import Index
from support.homes import enter_home


@pytest.fixture
def index(coterag_home: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """The corpus ``coast`` with all that any way reads, opened."""
    enter_home(monkeypatch, coterag_home)
    return Index.open("coast")

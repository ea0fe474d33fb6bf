from pathlib import Path

import pytest

from support.engines import Place, Tables


@pytest.fixture
def names() -> tuple[str, ...]:
    """The corpora that are to be indexed at once."""
    return ("coast", "quay")


@pytest.fixture
def place(home: Path, names: tuple[str, ...]) -> Place:
    """Small corpora that are to be indexed."""
    place = Place(home / "measured", names)
    place.register()
    return place


@pytest.fixture
def in_process(home: Path, names: tuple[str, ...]) -> Tables:
    """The tables of the same corpora as runs in one process make them."""
    place = Place(home / "compared", names)
    place.register()
    place.run_here()
    return place.tables()

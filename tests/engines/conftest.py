from pathlib import Path

import pytest

from support.engines import Place, Tables


@pytest.fixture
def two_corpora(home: Path) -> Place:
    """Two small corpora that are to be indexed at once."""
    place = Place(home / "measured", ("coast", "quay"))
    place.register()
    return place


@pytest.fixture
def in_process(home: Path) -> Tables:
    """The tables of the same corpora as runs in one process make them."""
    place = Place(home / "compared", ("coast", "quay"))
    place.register()
    place.run_here()
    return place.tables()

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.endpoint import ScriptedEndpoint
from support.gone import evaluated_settings
from support.homes import copy_home

Enter = Callable[[str], Path]


@pytest.fixture(scope="session")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(models=("scripted", "judge")) as server:
        yield server


@pytest.fixture
def enter(home: Path, evaluated: Callable[[str], Path], endpoint: ScriptedEndpoint) -> Enter:
    """Work in a copy of an evaluated home."""

    def copy(engine: str) -> Path:
        copy_home(evaluated(engine), home)
        # It was made with another endpoint.
        (home / "corpora" / "coast" / "corpus.yaml").write_text(evaluated_settings(engine, endpoint))
        return home

    return copy

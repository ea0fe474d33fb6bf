from collections.abc import Iterator
from pathlib import Path

import pytest

from support.neural_checkpoints import saved_gliner, saved_rebel


@pytest.fixture(autouse=True)
def _nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from graphrag_dagster.systems.graphrag import gliner_rebel as gliner_rebel

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True, raising=False)
    yield
    for shared in (gliner_rebel._shared_entity_model, gliner_rebel._shared_relation_model):
        shared.cache_clear()


@pytest.fixture(scope="session")
def gliner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_gliner(tmp_path_factory.mktemp("gliner"))


@pytest.fixture(scope="session")
def rebel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_rebel(tmp_path_factory.mktemp("rebel"))

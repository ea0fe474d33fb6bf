from pathlib import Path

import pytest

from graphrag_dagster import Index
from graphrag_dagster.cli.running import run_job
from support.corpora import write_corpus

VARIABLES = ("GRAPHRAG_DAGSTER_CORPORA", "GRAPHRAG_DAGSTER_WAREHOUSE", "OPENAI_API_KEY", "OPENAI_BASE_URL")


@pytest.fixture(scope="session")
def coast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose corpus ``coast`` is indexed without a model."""
    home = tmp_path_factory.mktemp("coast")
    write_corpus(home / "corpora")
    with pytest.MonkeyPatch.context() as patch:
        enter(patch, home)
        run_job("coast")
    return home


@pytest.fixture
def index(coast: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """The corpus ``coast``, opened."""
    enter(monkeypatch, coast)
    return Index.open("coast")


def enter(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Work in a home."""
    for variable in VARIABLES:
        patch.delenv(variable, raising=False)
    patch.setenv("GRAPHRAG_DAGSTER_HOME", str(home))
    patch.setenv("DAGSTER_HOME", str(home / ".dagster_home"))
    patch.chdir(home)

"""What every test may use."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes is a matter of the machine.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).parent))

REPOSITORY = Path(__file__).parent.parent
SHARED = REPOSITORY.parent / "shared"


@pytest.fixture
def shared_data() -> Path:
    """The folder of real data sets beside the checkout; the test is skipped where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets are not here")
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder: corpora, warehouse and Dagster instance of one test."""
    folder = tmp_path / "home"
    (folder / "corpora").mkdir(parents=True)
    for variable in (
        "GRAPHRAG_DAGSTER_CORPORA",
        "GRAPHRAG_DAGSTER_WAREHOUSE",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "GRAPHRAG_DAGSTER_TOKEN",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GRAPHRAG_DAGSTER_HOME", str(folder))
    monkeypatch.setenv("DAGSTER_HOME", str(folder / ".dagster_home"))
    monkeypatch.chdir(folder)
    return folder

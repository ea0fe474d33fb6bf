"""What every test may use."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from hypothesis import settings
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.pool import QueuePool

sys.path.insert(0, str(Path(__file__).parent))

from graphrag_dagster import Index
from graphrag_dagster.cli import main
from graphrag_dagster.kernel.catalogue.engines import CROSS_ENCODER_MODULE
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.packaged_cross_encoder import packaged_cross_encoder
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.commands import Run
from support.corpora import write_corpus
from support.endpoint import ScriptedEndpoint
from support.films import write_films
from support.homes import copy_home, enter_home, shared_home
from support.modelled import write_modelled
from support.shared import DATA, REPOSITORY

# How long an example takes is a matter of the machine; a third of what is usual keeps all tests within their minutes.
settings.register_profile("untimed", deadline=None, max_examples=30)
settings.load_profile("untimed")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


#: A file system in memory, and the bytes that must be free there for it to hold all that tests write.
_MEMORY, _ROOM = Path("/dev/shm"), 4 * 2**30


def pytest_configure() -> None:
    """Put the files of tests into memory where there is room: every commit of a database waits for the disk."""
    told = "PYTEST_DEBUG_TEMPROOT" in os.environ
    if not told and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(_MEMORY)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files first whose tests run whole pipelines: begun last, one would keep other processors idle."""
    runs = Counter(item.path for item in items if "home" in getattr(item, "fixturenames", ()))
    items.sort(key=lambda item: -runs[item.path])


@pytest.fixture(scope="session", autouse=True)
def _no_packaged_model() -> Iterator[None]:
    """Answer as the base installation does, whatever else is installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, CROSS_ENCODER_MODULE, None)
        yield


@pytest.fixture
def packaged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The packaged cross-encoder, installed or as it lies in the repository; skipped without onnxruntime."""
    pytest.importorskip("onnxruntime")
    monkeypatch.delitem(sys.modules, CROSS_ENCODER_MODULE)
    if not find_spec(CROSS_ENCODER_MODULE):
        monkeypatch.syspath_prepend(str(REPOSITORY / "packages" / "cross-encoder"))
    packaged_cross_encoder.cache_clear()
    yield
    packaged_cross_encoder.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def _connections_are_kept() -> Iterator[None]:
    """Keep the engines and connections of Dagster's SQLite storage, and what alembic reads of its migrations.

    Dagster makes new ones for every statement, and reads the migrations for every run: a third of a run. Whether
    it has a table, it asks five hundred times.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", lru_cache(ScriptDirectory.from_config))
        for storage in (sqlite_event_log, sqlite_run_storage):
            patch.setattr(storage, "create_engine", keeping(storage.create_engine))
        events = sqlite_event_log.SqliteEventLogStorage
        patch.setattr(events, "has_table", remembering(events.has_table))
        yield


class KeptPool(QueuePool):
    def dispose(self) -> None:
        """Nothing: the connections stay."""

    def recreate(self) -> "KeptPool":
        return self


def keeping(make: Callable[..., Engine]) -> Callable[..., Engine]:
    options: dict[str, Any] = {}

    @lru_cache(maxsize=8)
    def engine_at(address: str, identity: int) -> Engine:
        return make(address, **options)

    def engine(address: str, **given: Any) -> Engine:
        if (identity := identity_of(address)) is None:
            return make(address, **given)
        options.update(given, poolclass=KeptPool)
        return engine_at(address, identity)

    return engine


def remembering(has_table: Callable[[Any, str], bool]) -> Callable[[Any, str], bool]:
    """Have a storage ask once for a table that is there: none ever goes."""

    def known(storage: Any, name: str) -> bool:
        seen: set[str] = vars(storage).setdefault("_tables_seen", set())
        if name not in seen and has_table(storage, name):
            seen.add(name)
        return name in seen

    return known


def identity_of(address: str) -> int | None:
    """Tells apart the files that have been at a place; None where there is none yet."""
    try:
        return place_of(address).stat().st_ino
    except FileNotFoundError:
        return None


@lru_cache
def place_of(address: str) -> Path:
    return Path(make_url(address).database or "")


@pytest.fixture
def shared_data() -> Path:
    """The folder of real data sets beside the checkout; the test is skipped where it is absent."""
    folder = DATA
    if not folder.is_dir():
        pytest.skip("the real data sets are not here")
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder: corpora, warehouse and Dagster instance of one test."""
    folder = tmp_path / "home"
    (folder / "corpora").mkdir(parents=True)
    return enter_home(monkeypatch, folder)


@pytest.fixture(scope="session")
def indexed_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose corpus ``coast`` is indexed without a model; not to be changed."""
    from graphrag_dagster.cli.job_runner import run_job

    def fill(folder: Path) -> None:
        write_corpus(folder / "corpora")
        run_job("coast")

    return shared_home(tmp_path_factory, "coast", fill)


@pytest.fixture(scope="session")
def coterag_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As ``indexed_home``, with what CoTeRAG-S answers from."""
    from graphrag_dagster.cli.job_runner import run_job

    def fill(folder: Path) -> None:
        write_corpus(folder / "corpora", settings="coterag: {profile: calibrated}\n")
        run_job("coast")

    return shared_home(tmp_path_factory, "coterag", fill)


@pytest.fixture
def index(coterag_home: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """The corpus ``coast`` with all that any way reads, opened."""
    enter_home(monkeypatch, coterag_home)
    return Index.open("coast")


@pytest.fixture
def coast(indexed_home: Path, home: Path) -> Path:
    """The folder of the corpus ``coast`` in a home of its own, indexed without a model."""
    copy_home(indexed_home, home)
    return home / "corpora" / "coast"


@pytest.fixture(scope="session")
def modelled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose corpus ``coast`` was indexed by a model; not to be changed."""
    from graphrag_dagster.cli.job_runner import run_job
    from graphrag_dagster.kernel.models.cache.cache_database import database_at

    def fill(folder: Path) -> None:
        with ScriptedEndpoint() as endpoint:
            write_modelled(folder / "corpora", endpoint)
            run_job("coast")
        database_at(folder / "cache" / "replies.sqlite").close()

    return shared_home(tmp_path_factory, "modelled", fill)


@pytest.fixture
def modelled(modelled_home: Path, home: Path, endpoint: ScriptedEndpoint) -> Path:
    """The folder of the corpus ``coast`` in a home of its own, indexed by a model; another is asked from now on."""
    copy_home(modelled_home, home)
    return write_modelled(home / "corpora", endpoint)


@pytest.fixture(scope="session")
def harbour_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sample corpus indexed without a model; not to be changed."""
    from graphrag_dagster.cli.job_runner import run_job

    def fill(folder: Path) -> None:
        shutil.copytree(
            REPOSITORY / "graphrag_dagster" / "sample" / "harbour", folder / "corpora" / "harbour"
        )
        run_job("harbour")

    return shared_home(tmp_path_factory, "harbour", fill)


@pytest.fixture(scope="session")
def context_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose corpus ``coast`` has been indexed with context nodes; not to be changed."""
    from graphrag_dagster.cli.job_runner import run_job

    def fill(folder: Path) -> None:
        write_corpus(folder / "corpora", settings="context: {alpha: 2}\n")
        run_job("coast")

    return shared_home(tmp_path_factory, "context", fill)


@pytest.fixture(scope="session")
def films_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the films, an imported graph, indexed and its paths measured; not to be changed."""
    from graphrag_dagster.cli.job_runner import run_job

    def fill(folder: Path) -> None:
        write_films(folder)
        run_job("films")
        run_job("films", "paths")

    return shared_home(tmp_path_factory, "films measured", fill)


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Homes whose corpus ``coast`` holds a secret document, indexed, answered and evaluated; not to be changed."""
    from graphrag_dagster.cli.job_runner import run_job
    from graphrag_dagster.kernel.models.cache.cache_database import database_at
    from support.gone import write_evaluated

    def home_of(engine: str) -> Path:
        def fill(folder: Path) -> None:
            with ScriptedEndpoint(models=("scripted", "judge")) as endpoint:
                write_evaluated(folder / "corpora", engine, endpoint)
                run_job("coast")
                run_job("coast", "evaluate")
            database_at(folder / "cache" / "replies.sqlite").close()

        return shared_home(tmp_path_factory, f"evaluated {engine}", fill)

    return home_of


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process; gives exit code, output and errors."""

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["graphrag-dagster", *arguments])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def model_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., OpenAIChatModel]:
    """Makes the chat model of a scripted endpoint, or of that in the environment; keywords are model settings."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    def make(endpoint: ScriptedEndpoint | str | None, **settings: Any) -> OpenAIChatModel:
        url = endpoint.url if isinstance(endpoint, ScriptedEndpoint) else endpoint
        chosen = {"name": "gpt-4.1-mini", "retries": 2, "timeout_seconds": 10.0, **settings}
        return OpenAIChatModel(ModelSettings(base_url=url, **chosen), first_wait=0.01)

    return make

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.cache_maintenance import CacheMaintenance
from graphrag_dagster.kernel.models.cache.cached_embedder import CachedEmbedder
from graphrag_dagster.kernel.models.cache.cached_models import CachedChatModel
from graphrag_dagster.kernel.models.cache.llm_cache import Replies, User
from graphrag_dagster.kernel.models.cache.usage_account import CostMeter, UsageAccount, UsageLog
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.model_costs import Budget, ModelUse
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.endpoint import ScriptedEndpoint
from support.postgres_server import PostgresServer


class Memory:
    """A cache of replies, in a file or in Postgres, with all that stands on it."""

    def __init__(self, place: Path | str) -> None:
        self.path = Path(place)
        self.database = Database(place)
        self.replies = Replies(self.database)
        self.log = UsageLog(self.database)
        self.maintenance = CacheMaintenance(self.database)

    def account(
        self, corpus: str = "c", asset: str = "a", run: str = "r1", budget: Budget | None = None
    ) -> UsageAccount:
        return UsageAccount(User(corpus, asset, run), self.replies, self.log, budget or Budget())

    def chat(
        self, endpoint: ScriptedEndpoint, account: UsageAccount | None = None, **settings: Any
    ) -> CachedChatModel:
        chosen = _settings(endpoint, settings)
        booked = account or self.account()
        meter = CostMeter(booked, chosen, chosen.name, endpoint.url)
        return CachedChatModel(OpenAIChatModel(chosen, first_wait=0.01), booked, meter)

    def embedder(
        self,
        endpoint: ScriptedEndpoint,
        account: UsageAccount | None = None,
        batch: int = 64,
        **settings: Any,
    ) -> CachedEmbedder:
        chosen = _settings(endpoint, settings)

        booked = account or self.account()
        return CachedEmbedder("embed-1", chosen, booked, first_wait=0.01, batch_size=batch)

    def count(self, table: str) -> int:
        with self.database.reading() as connection:
            return int(connection.execute(f"select count(*) from {table}").fetchone()[0])

    def reserved(self) -> tuple[int, int]:
        """Calls in flight and their tokens."""
        calls = [one for run in self.database.in_flight.values() for one in run]
        return len(calls), sum(one.tokens for one in calls)

    def used(self, corpus: str = "c", run: str = "r1") -> ModelUse:
        return self.log.of_run(corpus, run)


def _settings(endpoint: ScriptedEndpoint, settings: dict[str, Any]) -> ModelSettings:
    chosen = {"name": "scripted", "retries": 2, "timeout_seconds": 10.0, **settings}
    return ModelSettings(base_url=endpoint.url, **chosen)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A Postgres server."""
    pytest.importorskip("psycopg")
    server = PostgresServer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", server.password)
        yield server
    server.close()


@pytest.fixture
def memory(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """An empty memory, in a file or where ``TEST_CACHE=postgres`` in a new schema of Postgres."""
    place: Path | str = tmp_path / "replies.db"
    if os.environ.get("TEST_CACHE") == "postgres":
        place = request.getfixturevalue("postgres").emptied()
    made = Memory(place)
    yield made
    made.database.close()


@pytest.fixture
def memory_at() -> Iterator[Callable[[str], Memory]]:
    """Opens a memory at a place, each time as another process would."""
    with ExitStack() as opened:

        def open_at(place: str) -> Memory:
            made = Memory(place)
            opened.callback(made.database.close)
            return made

        yield open_at

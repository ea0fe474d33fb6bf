"""Vectors that are asked for before their step are paid for once, and counted as asked for."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from threading import enumerate as enumerate_threads

import polars as pl
import pytest

from graphrag_dagster.core.accounting.budget import Budget
from graphrag_dagster.core.accounting.use import ModelUse
from graphrag_dagster.core.language.embedded_rows import embed_rows
from graphrag_dagster.engines.ahead import in_a_whole_run
from graphrag_dagster.engines.session import Session
from graphrag_dagster.model_calls.memory.account import Account
from graphrag_dagster.model_calls.memory.database import Database
from graphrag_dagster.model_calls.memory.replies import Replies, User
from graphrag_dagster.model_calls.memory.usage import UsageLog
from graphrag_dagster.settings import CorpusSettings
from support.endpoint import Fault, Logged, ScriptedEndpoint

TEXTS = pl.Series("text", ["The lock is old.", "Ada Brack opened it.", "The lock is old."])


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "replies.sqlite")
    yield made
    made.close()


def session(
    database: Database, endpoint: ScriptedEndpoint, run: str = "r1", limit: int | None = None
) -> Session:
    settings = CorpusSettings.model_validate(
        {
            "embeddings": {"embedder": "endpoint", "model": "scripted-embedding"},
            "model": {"base_url": endpoint.url, "retries": 0, "prices": {"input": 1.0, "output": 1.0}},
        }
    )
    account = Account(
        User("coast", "text_units_embeddings", run), Replies(database), UsageLog(database), Budget(limit)
    )
    return Session(settings, account)


def used(database: Database, run: str = "r1") -> ModelUse:
    return UsageLog(database).of_run("coast", run)


def asked_of(endpoint: ScriptedEndpoint) -> list[Logged]:
    return [one for one in endpoint.requests if one.path.endswith("/embeddings")]


def nothing() -> None:
    return None


def test_the_step_finds_what_was_asked_ahead_and_counts_it_as_asked(database: Database) -> None:
    with ScriptedEndpoint(lambda _: "") as endpoint:
        session(database, endpoint).begin_embedding(TEXTS, nothing)
        later = session(database, endpoint)
        vectors = later.embedder().embed(TEXTS.to_list())
        assert len(asked_of(endpoint)) == 1
        assert sorted(asked_of(endpoint)[0].body["input"]) == sorted(set(TEXTS))
        assert vectors.shape[0] == 3
        assert (vectors[0] == vectors[2]).all()
        assert (used(database).calls, used(database).cached) == (1, 0)
        again = session(database, endpoint, "r2").embedder().embed(TEXTS.to_list())
        assert (again == vectors).all()
        assert len(asked_of(endpoint)) == 1
    assert (used(database, "r2").calls, used(database, "r2").cached) == (0, 2)


def test_only_what_no_earlier_result_has_is_asked_ahead(database: Database) -> None:
    with ScriptedEndpoint(lambda _: "") as endpoint:
        first = session(database, endpoint, "r0").embedder()
        one = first.embed(TEXTS.to_list()[:1])
        known = embed_rows(pl.Series("id", ["u"]), TEXTS[:1], first)
        assert known["vector"].to_numpy()[0].tolist() == one[0].tolist()
        session(database, endpoint).begin_embedding(TEXTS, lambda: known)
        session(database, endpoint).embedder()
        assert [call.body["input"] for call in asked_of(endpoint)][1:] == [["Ada Brack opened it."]]


def test_a_failure_ahead_is_left_to_the_step(database: Database) -> None:
    broken = Event()
    broken.set()

    def faults(_number: int, _body: object) -> Fault | None:
        return Fault(500) if broken.is_set() else None

    with ScriptedEndpoint(lambda _: "", faults=faults) as endpoint:
        session(database, endpoint).begin_embedding(TEXTS, nothing)
        embedder = session(database, endpoint).embedder()
        broken.clear()
        assert embedder.embed(TEXTS.to_list()).shape[0] == 3


def test_only_the_end_of_a_process_of_one_step_waits_for_what_was_begun(database: Database) -> None:
    with ScriptedEndpoint(lambda _: "", faults=lambda *_: Fault(delay=0.5)) as endpoint:
        with in_a_whole_run():
            session(database, endpoint, "whole").begin_embedding(TEXTS, nothing)
        session(database, endpoint, "step").begin_embedding(TEXTS[:1], nothing)
        begun = [one.daemon for one in enumerate_threads() if one.name == "ahead of text_units_embeddings"]
        for run in ("whole", "step"):
            session(database, endpoint, run).embedder()
    assert sorted(begun) == [False, True]


def test_nothing_is_begun_where_a_run_has_a_limit(database: Database) -> None:
    with ScriptedEndpoint(lambda _: "") as endpoint:
        session(database, endpoint, limit=10_000).begin_embedding(TEXTS, nothing)
        session(database, endpoint).embedder()
        assert asked_of(endpoint) == []

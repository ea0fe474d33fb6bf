import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import EndpointError, WarehouseError
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, User
from graphrag_dagster.kernel.questions.snapshot_opening import open_snapshot
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.usage_tables import RUN_USAGE
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.resolution.tables import RESOLUTION_STATE
from graphrag_dagster.systems.graphrag.search.global_search import global_search
from graphrag_dagster.systems.graphrag.tables import (
    EXTRACTION_STATE,
    LAYOUT_STATE,
    QUARANTINE,
    WRITTEN_REPORTS,
)
from graphrag_dagster.systems.graphrag.tasks import ANSWERER
from support.endpoint import Fault, Scripted, ScriptedEndpoint, name_pattern_script
from support.modelled import write_modelled
from support.questions import asked_of
from support.tables_of import contents


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as server:
        yield server


@pytest.fixture(params=["json_schema", "tuples"])
def made(request: pytest.FixtureRequest, home: Path, endpoint: ScriptedEndpoint) -> int:
    """The corpus, made by a model that replies in one of the ways; gives how many requests that took."""
    if request.param == "json_schema":
        request.getfixturevalue("modelled")
    else:
        write_modelled(home / "corpora", endpoint, "  replies: tuples\n")
        run_job("coast")
    return int(Warehouse().read(RUN_USAGE, "coast")["calls"].sum())


def test_a_model_does_every_task_and_nothing_twice(made: int, endpoint: ScriptedEndpoint) -> None:
    warehouse = Warehouse()
    ledger = warehouse.read(tables.UNIT_LEDGER, "coast")
    assert set(ledger["state"]) <= {"extracted", "repaired", "empty"}
    assert ledger["calls"].sum() > ledger.height
    assert set(warehouse.read(tables.COMMUNITY_REPORTS, "coast")["engine"]) == {"llm"}
    assert set(warehouse.read(tables.ENTITY_EMBEDDINGS, "coast")["embedder"]) == {
        "endpoint:scripted-embedding"
    }
    assert "ORRIN VASK" in set(warehouse.read(tables.ENTITIES, "coast")["name"])
    records = warehouse.read(tables.CLAIMS, "coast")
    merged = warehouse.read(tables.MERGED_CLAIMS, "coast")
    assert 0 < merged.height < merged["instances"].sum() == records.height
    references = warehouse.read(tables.REPORT_REFERENCES, "coast")
    assert references["valid"].sum() > 0
    first, asked = contents(warehouse, "coast"), len(endpoint.requests)
    assert asked in (0, made)
    run_job("coast")
    assert contents(warehouse, "coast") == first
    assert len(endpoint.requests) == asked
    runs = warehouse.read(RUN_USAGE, "coast").sort("begun")
    assert runs["calls"].to_list() == [made, 0]
    assert runs["cached"][1] >= ledger["calls"].sum()


@pytest.mark.usefixtures("modelled")
def test_what_an_earlier_release_made_is_made_again_and_no_model_asked(endpoint: ScriptedEndpoint) -> None:
    warehouse, code = Warehouse(), pl.lit("0123456789abcdef")
    first = contents(warehouse, "coast")
    for table in (EXTRACTION_STATE, RESOLUTION_STATE):
        was = pl.when(part="code").then(code).otherwise("value")
        warehouse.write(table, "coast", warehouse.read(table, "coast").with_columns(value=was))
    for table, column in ((LAYOUT_STATE, "code"), (WRITTEN_REPORTS, "fingerprint")):
        warehouse.write(table, "coast", warehouse.read(table, "coast").with_columns(code.alias(column)))
    assert contents(warehouse, "coast") != first
    run_job("coast")
    assert contents(warehouse, "coast") == first
    assert not endpoint.requests


@pytest.mark.usefixtures("modelled")
def test_a_question_is_answered_with_citations_that_resolve() -> None:
    settings = CorpusStore().settings("coast")
    session = Language(memory=LLMCache(), corpora=CorpusStore()).session_of(
        settings, User("coast", "ask", "question")
    )
    answer = global_search(
        asked_of(
            open_snapshot(Warehouse(), "coast"),
            "What happened at Skerry Point?",
            "C0",
            count=get_tokenizer("cl100k_base").count,
            answerer=session.task(ANSWERER),
        )
    )
    assert answer.engine == "llm"
    assert answer.sources
    assert answer.usage.calls == len(answer.scores) + 1
    json.dumps(answer.to_dict())


def test_a_run_of_garbage_alone_keeps_it_with_prompt_and_reply_and_publishes_nothing(home: Path) -> None:
    def poet(body: dict[str, Any]) -> Scripted | str:
        return "I would rather write a poem." if "<source_text>" in str(body) else name_pattern_script(body)

    with ScriptedEndpoint(poet) as server:
        write_modelled(home / "corpora", server)
        with pytest.raises(WarehouseError, match=r"text units quarantined: .*\n.*what was published stays"):
            run_job("coast")
    warehouse = Warehouse()
    assert published(warehouse, "coast") is None
    ledger = warehouse.read(tables.UNIT_LEDGER, "coast")
    assert set(ledger["state"]) == {"quarantined"}
    quarantine = warehouse.read(QUARANTINE, "coast").filter(kind="reply")
    assert quarantine.height >= ledger.height
    assert all("poem" in raw for raw in quarantine["raw"])
    assert all(quarantine["reason"])
    assert all(quarantine["prompt"])


def test_an_endpoint_that_gives_no_json_is_refused_before_anything_is_spent(home: Path) -> None:
    with ScriptedEndpoint(lambda body: "I would rather write a poem.") as server:
        write_modelled(home / "corpora", server)
        with pytest.raises(EndpointError, match="JSON"):
            run_job("coast")
        assert not any("<source_text>" in str(one.body) for one in server.chats)


def test_an_unreachable_endpoint_is_named_and_nothing_is_overwritten(
    home: Path, modelled: Path, endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = contents(Warehouse(), "coast")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    settings = (modelled / "corpus.yaml").read_text(encoding="utf-8")
    (modelled / "corpus.yaml").write_text(
        settings.replace(endpoint.url, "http://127.0.0.1:9/v1").replace(
            "retries: 2", "retries: 0\n  namespace: another model"
        ),
        encoding="utf-8",
    )
    with pytest.raises(EndpointError, match="127.0.0.1:9") as caught:
        run_job("coast")
    assert "sk-very-secret" not in str(caught.value)
    assert contents(Warehouse(), "coast") == first
    logs = b"".join(path.read_bytes() for path in (home / ".dagster_home").rglob("*") if path.is_file())
    assert b"sk-very-secret" not in logs


@pytest.mark.long
@pytest.mark.usefixtures("modelled")
def test_faults_on_the_way_change_nothing_in_the_result(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = contents(Warehouse(), "coast")

    seen: set[str] = set()

    def first_time(number: int, body: dict[str, object]) -> Fault | None:
        request = json.dumps(body, sort_keys=True)
        if request in seen:
            return None
        seen.add(request)
        faults = [Fault(status=500), Fault(status=429, headers={"Retry-After": "0"}), Fault(drop=True), None]
        return faults[len(seen) % len(faults)]

    with ScriptedEndpoint(faults=first_time) as server:
        write_modelled(home / "corpora", server)
        monkeypatch.setenv("GRAPHRAG_DAGSTER_CACHE", str(home / "nothing cached.sqlite"))
        run_job("coast")
    assert len(server.requests) > len(seen)
    assert contents(Warehouse(), "coast") == first

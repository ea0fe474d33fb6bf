"""What is begun before the steps of an index are loaded is what they would have made, and made once."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import enumerate as enumerate_threads

import pytest

from graphrag_dagster import tables
from graphrag_dagster.cli.code_now import code_now
from graphrag_dagster.cli.output.running import run_job
from graphrag_dagster.core.progress import Relay, Told, listening, retell, say, stage
from graphrag_dagster.errors import CorpusError, EngineError
from graphrag_dagster.model_calls.memory.usage import UsageLog
from graphrag_dagster.operations.keeping.begun_extraction import begin_index, corpus_contents, said_before
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.resources.warehouse import Warehouse
from support.corpora import write_corpus
from support.endpoint import Fault, ScriptedEndpoint
from support.modelled import write_modelled
from support.tables_of import contents

RUN = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def corpus(home: Path) -> Path:
    return write_corpus(home / "corpora")


def begin(*, limited: bool = False) -> None:
    code = code_now()["/".join(tables.EXTRACTION_STATE.asset_key)].version
    begin_index("coast", RUN, code, limited=limited)


def made() -> dict[str, list[tuple[object, ...]]]:
    return contents(Warehouse(), "coast")


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_rules_extract_in_a_process_of_their_own_what_the_steps_would(corpus: Path) -> None:
    begin()
    settings = CorpusStore().settings("coast")
    # Read in another process, which has ended without an error once the step has taken what it made.
    read = corpus_contents(CorpusStore(), "coast", settings, RUN)
    assert read.documents.equals(CorpusStore().read("coast").documents)
    run_job("coast", run_id=RUN)
    before = made()
    assert before["extraction.gleaned_entities"]
    run_job("coast")
    assert made() == before


def test_a_process_that_ends_leaves_its_parts_to_the_steps(corpus: Path) -> None:
    (corpus / "corpus.yaml").write_text("extraction: {pipeline: en_none_such}\n", encoding="utf-8")
    begin()
    settings = CorpusStore().settings("coast")
    assert corpus_contents(CorpusStore(), "coast", settings, RUN).documents.height
    with pytest.raises(EngineError, match="en_none_such"):
        run_job("coast", run_id=RUN)


def test_a_model_is_asked_before_the_run_and_booked_to_it(home: Path) -> None:
    with ScriptedEndpoint() as endpoint:
        write_modelled(home / "corpora", endpoint)
        begin()
        until(lambda: "extract_graph" in endpoint.tally()["calls"])
        run_job("coast", run_id=RUN)
        tally = endpoint.tally()
        assert tally["repeated"] == 0
        used = UsageLog(ReplyMemory().database()).by_task("coast", RUN)
        booked = {task: use.calls for (asset, task, _), use in used.items() if asset == "extraction"}
        assert booked["extract_graph"] == tally["calls"]["extract_graph"]
        before = made()
        run_job("coast")
        assert made() == before


def test_nothing_is_asked_ahead_where_the_run_has_a_limit(home: Path) -> None:
    with ScriptedEndpoint() as endpoint:
        write_modelled(home / "corpora", endpoint)
        threads = {thread.name for thread in enumerate_threads()}
        begin(limited=True)
        assert "ahead of extraction" not in {thread.name for thread in enumerate_threads()} - threads
        assert not endpoint.requests


def test_what_was_begun_with_other_settings_is_left(corpus: Path) -> None:
    begin()
    (corpus / "corpus.yaml").write_text("text_units: {size: 40, overlap: 10}\n", encoding="utf-8")
    run_job("coast", run_id=RUN)
    before = made()
    run_job("coast")
    assert made() == before


@pytest.mark.parametrize("modelled", [False, True])
def test_a_corpus_without_documents_is_told_by_its_step(home: Path, modelled: bool) -> None:
    with ScriptedEndpoint() as endpoint:
        folder = write_modelled(home / "corpora", endpoint)
        for file in folder.rglob("*.*"):
            if file.suffix != ".yaml" or not modelled:
                file.unlink()
        begin()
        with pytest.raises(CorpusError, match="holds no files"):
            run_job("coast", run_id=RUN)
        assert not endpoint.requests


def test_what_is_said_before_the_run_is_told_once_to_who_writes_its_log(home: Path) -> None:
    with ScriptedEndpoint(faults=lambda *_: Fault(hang=60)) as endpoint:
        write_modelled(home / "corpora", endpoint, "  timeout_seconds: 0.2\n")
        begin()
        said: list[str] = []
        with listening(Relay(lambda told: said.extend(map(str, told.arguments)))):
            until(lambda: any("did not answer within 0.2 s" in line for line in said))
        kept = said_before(RUN)
        assert any("did not answer within 0.2 s" in line for line in kept)
        assert said_before(RUN) == []


def test_progress_of_another_process_is_told_as_if_it_were_here() -> None:
    sent: list[Told] = []
    with listening(Relay(sent.append)), stage("Reading", 2) as running:
        running.advance()
        say("a line")
    heard: list[Told] = []
    with listening(Relay(heard.append)):
        for told in sent:
            retell(told)
    assert heard == sent
    assert [told.method for told in heard] == ["start", "advance", "say", "finish"]

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from graphrag_dagster.assets import step_hooks as retrying
from graphrag_dagster.assets.step_hooks import CALLS_TAG, CORPUS_TAG, TOKENS_TAG, USD_TAG
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.definitions import defs
from graphrag_dagster.errors import EndpointDown, EndpointError
from graphrag_dagster.kernel.models.probing.endpoint_check import REPLY_FORMATS
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_instance import instance as make_instance
from support.corpora import write_corpus
from support.endpoint import Fault, ScriptedEndpoint
from support.tables_of import contents

SETTINGS = """
engine: llm
text_units: {{strategy: sentences, size: 40, overlap: 0}}
model: {{base_url: "{url}", name: scripted, retries: 0}}
"""


def index_job() -> dg.JobDefinition:
    return defs.resolve_job_def("index")


@pytest.fixture
def instance(home: Path) -> Iterator[dg.DagsterInstance]:
    with make_instance() as made:
        made.add_dynamic_partitions("corpus", ["coast"])
        yield made


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "PAUSE_SECONDS", 0.0)


def failures(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    """What the run's log says of its failed steps."""
    return [log.message for log in instance.all_logs(run_id) if " failed; the run so far" in log.message]


def prepare(home: Path, server: ScriptedEndpoint) -> None:
    write_corpus(home / "corpora", settings=SETTINGS.format(url=server.url))


def asked(server: ScriptedEndpoint, word: str) -> int:
    return sum(word in json.dumps(one.body) for one in server.chats)


class Refusing:
    """Answers what holds a word with a status, until it is over."""

    def __init__(self, word: str, *, status: int, times: int = 10**6) -> None:
        self.word, self.status, self.left = word, status, times

    def __call__(self, number: int, body: dict[str, Any]) -> Fault | None:
        if self.word not in json.dumps(body) or not self.left:
            return None
        self.left -= 1
        return Fault(status=self.status)


@pytest.mark.long
def test_a_run_that_failed_goes_on_at_the_asset_that_failed_and_pays_nothing_twice(
    home: Path, instance: dg.DagsterInstance
) -> None:
    with ScriptedEndpoint() as server:
        prepare(home, server)
        whole = index_job().execute_in_process(partition_key="coast", instance=instance)
        assert whole.success
        expected = contents(Warehouse(), "coast")
        extraction = asked(server, "<source_text>")
    Warehouse().file("coast").unlink()
    (home / "cache" / "replies.sqlite").unlink()

    refusal = Refusing("<community>", status=401)
    with ScriptedEndpoint(faults=refusal) as server:
        prepare(home, server)
        failed = dg.execute_job(
            dg.reconstructable(index_job), instance=instance, tags={"dagster/partition": "coast"}
        )
        assert not failed.success
        assert asked(server, "<source_text>") == extraction
        before = asked(server, "<source_text>")
        refusal.left = 0
        again = dg.execute_job(
            dg.reconstructable(index_job),
            instance=instance,
            tags={"dagster/partition": "coast"},
            reexecution_options=dg.ReexecutionOptions.from_failure(failed.run_id, instance),
        )
        assert again.success
        assert asked(server, "<source_text>") == before
        steps = {event.step_key for event in again.all_events if event.is_step_start}
    assert "reports" in steps
    assert not {"corpus", "extraction", "graph"} & steps
    assert contents(Warehouse(), "coast") == expected
    (told,) = failures(instance, failed.run_id)
    assert told.startswith("coast: reports failed; ")
    assert "401" in told


@pytest.mark.long
def test_an_outage_is_waited_for_and_what_needs_a_person_is_not(
    home: Path, instance: dg.DagsterInstance
) -> None:
    with ScriptedEndpoint(faults=Refusing("", status=500, times=len(REPLY_FORMATS))) as server:
        prepare(home, server)
        made = index_job().execute_in_process(partition_key="coast", instance=instance)
        assert made.success
        assert [event.step_key for event in made.all_events if event.is_step_up_for_retry] == ["extraction"]
        assert failures(instance, made.run_id) == []
        run = instance.get_run_by_id(made.run_id)
    assert run is not None
    assert run.tags[CORPUS_TAG] == "coast"
    assert int(run.tags[CALLS_TAG]) > 0
    assert int(run.tags[TOKENS_TAG]) > 0
    assert run.tags[USD_TAG] == "unknown"

    for status, retries, kind in ((500, retrying.RETRIES, EndpointDown), (401, 0, EndpointError)):
        (home / "cache" / "replies.sqlite").unlink()
        with ScriptedEndpoint(faults=Refusing("", status=status)) as server:
            prepare(home, server)
            result = index_job().execute_in_process(
                partition_key="coast", instance=instance, raise_on_error=False
            )
            assert not result.success
            assert sum(event.is_step_up_for_retry for event in result.all_events) == retries
            assert "extraction failed" in failures(instance, result.run_id)[-1]
            with pytest.raises(kind, match=str(status)):
                run_job("coast")


@pytest.mark.parametrize(
    ("partition", "told"),
    [
        ("moor", "the partition 'moor' has no folder of documents in {corpora}, where there are: coast. Put"),
        (
            "Coast",
            "the partition 'Coast' has no folder of documents in {corpora}, where there are: coast. Put",
        ),
        ("../coast", "the partition '../coast' has no folder of documents in {corpora}"),
        (
            None,
            "this run has no partition, so it is of no corpus; launch it with --partition and the name of one: coast",
        ),
    ],
)
def test_a_run_of_no_corpus_names_those_that_there_are(
    instance: dg.DagsterInstance, home: Path, partition: str | None, told: str
) -> None:
    write_corpus(home / "corpora")
    tags = {"dagster/partition": partition} if partition else {}
    ran = index_job().execute_in_process(instance=instance, tags=tags, raise_on_error=False)
    (failure,) = [event for event in ran.all_events if event.is_step_failure]
    error = failure.step_failure_data.error
    assert error is not None
    assert error.cause is not None
    assert told.format(corpora=home / "corpora") in error.cause.message
    assert not (home / "warehouse").exists()

"""Tasks through a provider's Batch API: run after run, until nothing is left to ask."""

import asyncio
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import openai
import pytest

from graphrag_dagster.cli.commands.cache_commands import batches, cancel_batch
from graphrag_dagster.cli.result import show
from graphrag_dagster.errors import EndpointError, OutOfCredit
from graphrag_dagster.kernel.models import batch_queue as batch_desk
from graphrag_dagster.kernel.models.batch_queue import BatchPending, BatchSender
from graphrag_dagster.kernel.models.batch_store import BatchStore, refresh_all
from graphrag_dagster.kernel.models.cache.cache_database import Database, database_at
from graphrag_dagster.kernel.models.cache.cache_maintenance import CacheMaintenance
from graphrag_dagster.kernel.models.cache.cached_models import CachedChatModel, Sender
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore, Replies, User
from graphrag_dagster.kernel.models.cache.usage_account import CostMeter, UsageAccount, UsageLog
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint import request_bodies as bodies
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.model_costs import Budget, ModelUse
from graphrag_dagster.kernel.models.probing.endpoint_check import check_endpoint
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.storage.corpus_store import models_of
from graphrag_dagster.kernel.tasks.task_ports import TextUnit, UnitExtraction
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from support.endpoint import Fault, Scripted, ScriptedEndpoint, gleaning_script, name_pattern_script
from support.short_ways import client

UNITS = [
    TextUnit("u1", "Ada Byron met Charles Babbage in London. Mary Somerville wrote to Ada Byron."),
    TextUnit("u2", "Port Orla lies on the coast. Ines Varga keeps the lighthouse of Port Orla."),
    TextUnit("u3", "Otto Lindt sails from Port Orla to Sankt Veit. Ines Varga waits for Otto Lindt."),
]


class Place:
    """A file of cached replies beside an endpoint; every run opens the file anew and knows nothing."""

    def __init__(self, path: Path, endpoint: ScriptedEndpoint) -> None:
        self.path = path
        self.endpoint = endpoint
        self.opened: list[Database] = []
        self.settings = ModelSettings(
            base_url=endpoint.url,
            name="gpt-4.1-mini",
            retries=1,
            timeout_seconds=10.0,
            prices={"input": 1.0, "output": 4.0},
        )

    def run(
        self,
        number: int,
        *,
        direct: bool = False,
        checked: bool = False,
        rounds: int = 0,
        units: list[TextUnit] = UNITS,
        corpus: str = "c",
    ) -> list[UnitExtraction]:
        bodies._known.clear()
        # Left open: cancelled jobs settle after the run has ended.
        self.opened.append(database := Database(self.path))
        user = User(corpus, "units", f"r{number}")
        account = UsageAccount(user, Replies(database), UsageLog(database), Budget())
        sender: Sender = (
            OpenAIChatModel(self.settings)
            if direct
            else BatchSender(self.settings, user, database, first_wait=0.01)
        )
        full = CostMeter(account, self.settings, self.settings.name, self.endpoint.url)
        meter = (
            full if direct else CostMeter(account, self.settings, self.settings.name, self.endpoint.url, 0.5)
        )

        async def gate() -> None:
            if checked:
                await check_endpoint(OpenAIChatModel(self.settings), CapabilityStore(database))

        asks = OpenAIChatModel(self.settings, first_wait=0.01)
        model = CachedChatModel(sender, account, meter, gate, direct=(asks, full))
        extractor = LlmGraphExtractor(model, entity_types=["person"], gleaning_rounds=rounds)
        found = list(extractor.extract(units))
        account.finish()
        return found

    def pending(self, number: int, **how: Any) -> str:
        with pytest.raises(BatchPending) as caught:
            self.run(number, **how)
        return str(caught.value)

    def until_done(self, *, first: int = 1, most: int = 20, **how: Any) -> tuple[list[UnitExtraction], int]:
        for number in range(first, first + most):
            try:
                return self.run(number, **how), number
            except BatchPending:
                continue
        raise AssertionError(f"not done after {most} runs")

    def used(self, number: int, corpus: str = "c") -> ModelUse:
        with closing(Database(self.path)) as database:
            return UsageLog(database).of_run(corpus, f"r{number}")

    def query(self, statement: str) -> list[Any]:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(statement).fetchall()

    def close(self) -> None:
        for database in self.opened:
            database.close()

    @property
    def submitted(self) -> list[int]:
        return [len(batch.lines) for batch in self.endpoint.batches.values()]


def finished_batches(database: Database) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """What the sensor of that name asks."""
    problems = refresh_all(database, models_of)
    return BatchStore(database).ready(), problems


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(batch_desk, "QUIET_SECONDS", 0.15)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Callable[..., Place]]:
    """Makes a place with an endpoint of those options."""
    with ExitStack() as stack:

        def make(script: Any = name_pattern_script, **options: Any) -> Place:
            endpoint = stack.enter_context(ScriptedEndpoint(script, **options))
            made = Place(
                tmp_path / f"replies{endpoint.url.rpartition(':')[2].partition('/')[0]}.db", endpoint
            )
            stack.callback(made.close)
            return made

        yield make
        # Whatever was cancelled has settled when the loop comes to this.
        run_one(asyncio.sleep(0.02))


def test_a_conversation_goes_on_batch_by_batch_to_the_result_of_a_direct_run(
    place: Callable[..., Place],
) -> None:
    plain, batched = place(gleaning_script), place(gleaning_script, batch_steps=2)
    direct = plain.run(1, direct=True, rounds=1)
    assert "3 requests wait in batches" in batched.pending(1, rounds=1)
    assert "0 of 3 done" not in batched.pending(2, rounds=1)
    assert batched.submitted == [3]
    batched.pending(3, rounds=1)
    batched.pending(4, rounds=1)
    assert batched.submitted == [3, 3]
    found, last = batched.until_done(first=5, rounds=1)
    assert found == direct
    assert batched.submitted == [3, 3, 3]
    assert not batched.endpoint.chats
    uses = [batched.used(number) for number in range(1, last + 1)]
    assert sum(use.calls for use in uses) == plain.used(1).calls
    assert sum(use.tokens for use in uses) == plain.used(1).tokens
    assert sum(use.usd for use in uses) == pytest.approx(plain.used(1).usd / 2)


def test_an_unchanged_run_makes_no_call(place: Callable[..., Place]) -> None:
    made = place()
    found, last = made.until_done()
    made.endpoint.reset()
    assert made.run(last + 1) == found
    assert made.endpoint.requests == []
    assert made.used(last + 1) == ModelUse(cached=3, saved_tokens=made.used(last + 1).saved_tokens)


def test_only_what_is_new_is_submitted(place: Callable[..., Place]) -> None:
    made = place(batch_steps=3)
    made.pending(1, units=UNITS[:2])
    text = made.pending(2)
    assert "3 requests wait" in text
    assert made.submitted == [2, 1]
    assert [unit.unit_id for unit in made.until_done(first=3)[0]] == ["u1", "u2", "u3"]


def test_unusable_replies_are_asked_again_and_paid_once(place: Callable[..., Place]) -> None:
    def script(body: dict[str, Any]) -> str | Scripted:
        again = len(body["messages"]) > 2
        return name_pattern_script({**body, "messages": body["messages"][:2]}) if again else "no JSON at all"

    made = place(script, batch_steps=0)
    made.pending(1)
    made.pending(2)
    found, last = made.until_done(first=3)
    # Once more as it was, and since that gave the same, told what is wrong.
    assert (made.submitted, last) == ([3, 3, 3], 4)
    assert [(made.used(number).calls, made.used(number).cached) for number in (2, 3, 4)] == [
        (3, 0),
        (3, 3),
        (3, 6),
    ]
    assert [unit.state for unit in found] == ["extracted"] * 3


def test_a_text_asked_about_again_and_in_parts_is_paid_for(place: Callable[..., Place]) -> None:
    def script(body: dict[str, Any]) -> str | Scripted:
        whole = "Ada Byron met" in str(body["messages"]) and "Mary Somerville" in str(body["messages"])
        reply = name_pattern_script(body)
        return Scripted("{", "length") if whole and len(body["messages"]) == 2 else reply

    made = place(script, batch_steps=0)
    [unit], last = made.until_done(units=UNITS[:1])
    assert unit.state in {"extracted", "repaired"}
    assert made.submitted == [1, 1, 2]
    uses = [made.used(number) for number in range(1, last + 1)]
    assert sum(use.calls + use.failed for use in uses) == sum(made.submitted)


def test_the_same_bad_reply_is_asked_for_afresh_once_the_asset_is_made(place: Callable[..., Place]) -> None:
    made = place(lambda _: "no JSON at all", batch_steps=0)
    found, last = made.until_done(units=UNITS[:1])
    assert found[0].state == "quarantined"
    before = len(made.submitted)
    made.endpoint.script = name_pattern_script
    assert "1 requests wait" in made.pending(last + 1, units=UNITS[:1])
    again, _ = made.until_done(first=last + 2, units=UNITS[:1])
    assert again[0].state == "extracted"
    assert len(made.submitted) == before + 1


def test_what_expired_is_submitted_again(place: Callable[..., Place]) -> None:
    made = place(batch_steps=0, batch_expires_after=1)
    made.pending(1)
    made.pending(2)
    assert made.submitted == [3, 2]
    assert made.used(2).calls == 1
    found, _ = made.until_done(first=3)
    assert [unit.state for unit in found] == ["extracted"] * 3
    assert made.submitted == [3, 2, 1]


def test_what_a_batch_refuses_is_asked_directly_at_the_full_price(place: Callable[..., Place]) -> None:
    left = [1]

    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        return Fault(500, "broken") if "Port Orla lies" in json.dumps(body) and left and left.pop() else None

    made, plain = place(faults=faults, batch_steps=0), place()
    found, last = made.until_done()
    assert found == plain.run(1, direct=True)
    assert (made.submitted, len(made.endpoint.chats), last) == ([3], 1, 2)
    used, whole = made.used(2), plain.used(1)
    assert (used.calls, used.failed, used.tokens) == (3, 1, whole.tokens)
    assert whole.usd / 2 < used.usd < whole.usd
    assert made.run(3) == found
    assert made.used(3).calls == 0


def test_a_refused_line_is_quarantined_and_the_others_are_not(place: Callable[..., Place]) -> None:
    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        return Fault(400, "flagged by policy") if "Port Orla" in json.dumps(body) else None

    made = place(faults=faults, batch_steps=0)
    found, _ = made.until_done()
    assert [unit.state for unit in found] == ["extracted", "quarantined", "quarantined"]
    assert "(400): flagged by policy" in found[1].quarantined[0].reason


def test_what_the_endpoint_does_not_understand_is_left_out(place: Callable[..., Place]) -> None:
    made = place(gleaning_script, unsupported={"logit_bias", "max_tokens"}, batch_steps=0)
    plain = place(gleaning_script, unsupported={"logit_bias", "max_tokens"})
    found, _ = made.until_done(rounds=1, checked=True)
    assert found == plain.run(1, direct=True, rounds=1)
    # What was refused for it was asked directly.
    assert made.submitted == [3, 3, 3]


def test_a_wrong_model_is_an_error_of_the_run(place: Callable[..., Place]) -> None:
    made = place(strict_models=True, batch_steps=0)
    made.pending(1)
    with pytest.raises(EndpointError, match=r"batch batch_000001 .*\(404\)") as caught:
        made.run(2)
    assert not isinstance(caught.value, BatchPending)
    made.pending(3)
    assert made.submitted == [3, 3]


@pytest.mark.parametrize("fault", [Fault(402, "Pay."), Fault(429, "Over quota.", "insufficient_quota")])
def test_an_account_without_credit_is_told_as_such(place: Callable[..., Place], fault: Fault) -> None:
    made = place(faults=lambda _, body: fault if body.get("messages") else None, batch_steps=0)
    made.pending(1)
    with pytest.raises(OutOfCredit, match=rf"no credit left: {fault.message} \({fault.status}\)"):
        made.run(2)


def test_a_batch_that_fails_says_why(place: Callable[..., Place]) -> None:
    made = place(batch_fails="The limit of enqueued tokens is reached.", batch_steps=0)
    made.pending(1)
    with closing(Database(made.path)) as database:
        assert finished_batches(database) == ({}, [])
    with pytest.raises(EndpointError, match="was refused: The limit of enqueued tokens is reached"):
        made.run(2)
    made.pending(3)
    assert made.submitted == [3, 3]


def test_a_provider_without_batches(place: Callable[..., Place]) -> None:
    made = place(faults=lambda number, body: None if body.get("messages") else Fault(404, "no such route"))
    with pytest.raises(EndpointError, match=r"has no Batch API; set model\.batch: false"):
        made.run(1)


def test_a_refused_key_is_an_error(place: Callable[..., Place], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1234")
    made = place(faults=lambda *_: Fault(401, "wrong key sk-secret-1234"))
    with pytest.raises(EndpointError, match=r"rejects the key in \$OPENAI_API_KEY") as caught:
        made.run(1)
    assert "sk-secret" not in str(caught.value)


def test_a_batch_that_the_provider_lost_is_submitted_again(place: Callable[..., Place]) -> None:
    made = place(batch_steps=0)
    made.pending(1)
    lost = made.endpoint.batches.pop("batch_000001")
    with pytest.raises(EndpointError, match="is lost: .* no longer has it"):
        made.run(2)
    made.endpoint.batches["batch_000000"] = lost
    assert made.until_done(first=3)[0][0].state == "extracted"


def test_a_batch_that_was_not_noted_is_taken_up(place: Callable[..., Place]) -> None:
    made = place(batch_steps=2)
    made.pending(1)
    made.query("delete from batches")
    made.query("delete from batch_lines")
    made.pending(2)
    assert made.submitted == [3]
    assert made.query("select count(*) from batch_lines") == [(3,)]
    made.until_done(first=3)
    assert made.submitted == [3]


def test_batches_of_another_corpus_are_not_taken_up(place: Callable[..., Place]) -> None:
    made = place(batch_steps=5)
    made.pending(1)
    made.pending(1, corpus="other")
    assert made.submitted == [3, 3]


def test_many_requests_are_cut_into_files(
    place: Callable[..., Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_desk, "MOST_LINES", 2)
    made = place(batch_steps=0)
    assert "2 of 2 done" not in made.pending(1)
    assert made.submitted == [2, 1]
    monkeypatch.setattr(batch_desk, "MOST_BYTES", 10)
    made.pending(2, corpus="other")
    assert made.submitted == [2, 1, 1, 1, 1]
    assert len(made.until_done(first=3)[0]) == 3


def test_no_text_is_kept_of_requests_nor_told(place: Callable[..., Place]) -> None:
    made = place(batch_steps=1)
    text = made.pending(1)
    told = json.dumps([batch.told for batch in made.endpoint.batches.values()])
    kept = made.path.read_bytes() + made.path.with_name(made.path.name + "-wal").read_bytes() * (
        made.path.with_name(made.path.name + "-wal").exists()
    )
    for secret in ("Babbage", "lighthouse"):
        assert secret not in text
        assert secret not in told
        assert secret.encode() not in kept
    names = [line["custom_id"] for batch in made.endpoint.batches.values() for line in batch.lines]
    assert all(len(name) == 64 and int(name, 16) for name in names)


def test_the_sensor_hears_of_corpora_that_can_go_on(place: Callable[..., Place]) -> None:
    made = place(batch_steps=2)
    made.pending(1, rounds=0)
    with closing(Database(made.path)) as database:
        assert finished_batches(database) == ({}, [])
        ready = {"c": ("batch_000001",)}
        assert finished_batches(database) == ({}, [])
        assert finished_batches(database) == (ready, [])
    made.run(2)
    with closing(Database(made.path)) as database:
        assert finished_batches(database) == ({}, [])


def test_the_sensor_goes_on_although_an_endpoint_is_gone(place: Callable[..., Place]) -> None:
    made = place(batch_steps=9)
    made.pending(1)
    made.query("update batches set url = 'http://127.0.0.1:9/v1'")
    with closing(Database(made.path)) as database:
        ready, problems = finished_batches(database)
    assert ready == {}
    assert "cannot reach http://127.0.0.1:9/v1" in problems[0]


def test_everything_of_a_corpus_is_pruned(place: Callable[..., Place]) -> None:
    made = place(batch_steps=0)
    made.pending(1)
    with closing(Database(made.path)) as database:
        CacheMaintenance(database).prune("c", everything=True)
    assert made.query("select (select count(*) from batches) + (select count(*) from batch_lines)") == [(0,)]


def test_batches_are_listed_and_cancelled(
    place: Callable[..., Place], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = place(batch_steps=3)
    monkeypatch.setenv("GRAPHRAG_DAGSTER_CACHE", os.fspath(made.path))
    show(batches(None), as_json=False)
    assert "there are no batches" in capsys.readouterr().out
    made.pending(1)
    show(batches("c"), as_json=True)
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["batch"], row["status"], row["of"]) == ("batch_000001", "in_progress", 3)
    show(batches("other"), as_json=True)
    assert json.loads(capsys.readouterr().out) == []
    assert "cancelling" in cancel_batch("batch_000001")
    show(batches(None), as_json=False)
    assert "cancelled" in capsys.readouterr().out
    with pytest.raises(EndpointError, match="is over: cancelled"):
        cancel_batch("batch_000001")
    with pytest.raises(EndpointError, match="there is no batch nope"):
        cancel_batch("nope")
    assert BatchStore(database_at(made.path)).ready() == {}
    assert "(" in made.pending(2)
    assert made.submitted[-1] >= 2


def test_results_that_are_gone_are_told(place: Callable[..., Place]) -> None:
    made = place(batch_steps=0)
    made.pending(1)
    batch = client(made.endpoint).batches.retrieve("batch_000001")
    assert batch.output_file_id
    client(made.endpoint).files.delete(batch.output_file_id)
    with pytest.raises(EndpointError, match="its results are missing"):
        made.run(2)
    with pytest.raises(openai.NotFoundError):
        client(made.endpoint).files.content(batch.output_file_id)
    assert len(made.until_done(first=3)[0]) == 3

"""Endpoints that are slow, fall silent or answer too late: what is waited for and counted."""

import asyncio
from typing import Any

import pytest

from graphrag_dagster.kernel.common.progress import current_calls, pending_call
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint import endpoint_connection
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Tries
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.endpoint import Fault, ScriptedEndpoint

REQUEST = ChatRequest("community_report", (Message("user", "Tell all that you know. " * 100),), 500)
WORDS = "one two three four five six seven eight nine ten " * 4
TOKENS = len(WORDS) // 4


def wordy(_: dict[str, Any]) -> str:
    return WORDS


def model_at(endpoint: ScriptedEndpoint, **settings: Any) -> OpenAIChatModel:
    chosen = {"name": "scripted", "timeout_seconds": 0.3, **settings}
    return OpenAIChatModel(ModelSettings(base_url=endpoint.url, **chosen), first_wait=0.01)


def sends(endpoint: ScriptedEndpoint) -> list[bool]:
    """Whether each request was to be streamed."""
    return [bool(chat.body.get("stream")) for chat in endpoint.chats]


def test_a_slow_reply_is_read_as_it_comes_however_long_it_takes(memory: Any) -> None:
    with ScriptedEndpoint(wordy, seconds_per_token=2.0 / TOKENS) as endpoint:
        assert run_one(memory.chat(endpoint, timeout_seconds=0.5).complete(REQUEST)).text == WORDS
        assert sends(endpoint) == [True]
    use = memory.used()
    assert (use.calls, use.retries, use.timeouts, use.failed, use.sent) == (1, 0, 0, 0, 1)
    assert use.output_tokens == TOKENS


def test_a_reply_that_dribbles_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_connection, "_LONGEST_ANSWER", 0.3)
    with ScriptedEndpoint(wordy, seconds_per_token=1000.0 / TOKENS) as endpoint:
        tries = Tries()
        with pytest.raises(CallFailed, match="did not come to an end"):
            run_one(model_at(endpoint, timeout_seconds=60).send(REQUEST, None, tries))
    assert (tries.sent, tries.timeouts) == (2, 2)


def test_a_server_that_ignores_streams_is_read_all_the_same() -> None:
    class Ignorant(ScriptedEndpoint):
        def begin(self, logged: Any) -> Any:
            self.asked_to_stream = logged.body.pop("stream", False)
            return super().begin(logged)

    with Ignorant(wordy) as endpoint:
        model = model_at(endpoint, timeout_seconds=10.0)
        reply = run_one(model.complete(REQUEST))
        assert endpoint.asked_to_stream
    assert (reply.text, reply.output_tokens, reply.finish_reason) == (WORDS, TOKENS, "stop")


def test_a_stream_that_counts_nothing_is_not_chosen_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from support import streams

    monkeypatch.setattr(streams, "usage", lambda _: None)
    with ScriptedEndpoint(wordy) as endpoint:
        model = model_at(endpoint, timeout_seconds=10.0)
        replies = [run_one(model.complete(REQUEST)) for _ in range(2)]
        assert sends(endpoint) == [True, False]
    assert [reply.output_tokens for reply in replies] == [0, TOKENS]


def test_an_endpoint_that_never_answers_is_counted_and_given_up(memory: Any) -> None:
    with ScriptedEndpoint(wordy, faults=lambda *_: Fault(hang=60)) as endpoint:
        model = memory.chat(endpoint, timeout_seconds=0.2)
        with pytest.raises(CallFailed, match=r"no reply from .* for 0\.2 s; set model.timeout_seconds"):
            run_one(model.complete(REQUEST))
        assert len(endpoint.chats) == 2
    use = memory.used()
    assert (use.calls, use.retries, use.timeouts, use.failed, use.sent) == (0, 1, 2, 1, 2)
    assert use.seconds > 0.2


def test_a_stream_that_stalls_half_way_is_asked_for_again() -> None:
    with ScriptedEndpoint(wordy, faults=[Fault(stall=True)]) as endpoint:
        tries, pieces = Tries("community_report"), list[str]()
        reply = run_one(model_at(endpoint).send(REQUEST, pieces.append, tries)).reply
        assert sends(endpoint) == [True, True]
    assert (reply.text, tries.timeouts) == (WORDS, 1)
    assert len("".join(pieces)) > len(WORDS)


def test_texts_that_are_not_embedded_in_time_are_counted(memory: Any) -> None:
    with ScriptedEndpoint(faults=[Fault(stall=True)]) as endpoint:
        memory.embedder(endpoint, timeout_seconds=0.3).embed(["a harbour", "a ship"])
    use = memory.used()
    assert (use.calls, use.retries, use.timeouts, use.sent) == (1, 1, 1, 2)


def test_a_call_that_is_given_up_from_outside_is_counted(memory: Any) -> None:
    async def left(model: Any) -> None:
        asked = asyncio.ensure_future(model.complete(REQUEST))
        while not endpoint.chats:
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    with ScriptedEndpoint(wordy, faults=[Fault(stall=True)]) as endpoint:
        run_one(left(memory.chat(endpoint)))
    assert (memory.used().failed, memory.used().sent) == (1, 1)


def test_calls_under_way_are_known_with_the_oldest() -> None:
    before = current_calls()
    with pending_call("model m", "rate_reports") as first, pending_call("model m", "x"):
        first.sent = True
        now = current_calls()
        assert (now.in_flight - before.in_flight, now.waiting - before.waiting) == (1, 1)
        assert now.oldest is first
        assert first.task == "rate_reports"
    assert current_calls().done == before.done + 2

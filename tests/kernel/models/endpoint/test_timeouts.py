"""Endpoints that are slow, fall silent or answer too late: what is waited for, counted and said."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.common import progress
from graphrag_dagster.kernel.common.progress import current_calls, pending_call
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order, run_one
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Tries
from graphrag_dagster.kernel.models.endpoint.endpoint_embeddings import OpenAIEmbedder
from graphrag_dagster.kernel.models.endpoint.timeouts import CallTimeouts, Pace, Size, Waited
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.endpoint import Fault, ScriptedEndpoint
from support.listening import Heard

REQUEST = ChatRequest("community_report", (Message("user", "Tell all that you know. " * 100),), 500)
WORDS = "one two three four five six seven eight nine ten " * 4
TOKENS = len(WORDS) // 4
SIZES = st.builds(Size, st.integers(0, 100_000), st.integers(0, 10_000))


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """What is said while a test runs."""
    listener = Heard()
    with progress.listening(listener):
        yield listener.lines


def wordy(_: dict[str, Any]) -> str:
    return WORDS


def model_at(endpoint: ScriptedEndpoint, **settings: Any) -> OpenAIChatModel:
    chosen = {"name": "scripted", "timeout_seconds": 0.3, **settings}
    return OpenAIChatModel(ModelSettings(base_url=endpoint.url, **chosen), first_wait=0.01)


def sends(endpoint: ScriptedEndpoint) -> list[bool]:
    """Whether each request was to be streamed."""
    return [bool(chat.body.get("stream")) for chat in endpoint.chats]


def test_a_slow_reply_is_heard_as_it_comes_once_a_limit_has_passed(memory: Any, heard: list[str]) -> None:
    with ScriptedEndpoint(wordy, seconds_per_token=2.0 / TOKENS) as endpoint:
        model = memory.chat(endpoint, timeout_seconds=0.3)
        assert run_one(model.complete(REQUEST)).text == WORDS
        assert sends(endpoint) == [False, True]
    use = memory.used()
    assert (use.calls, use.retries, use.timeouts, use.failed, use.sent) == (1, 1, 1, 0, 2)
    assert use.output_tokens == TOKENS
    assert heard == [
        "model scripted did not answer within 0.3 s (a community report, about 600 prompt tokens); trying once "
        "more, with 0.6 s. model.timeout_seconds in corpus.yaml sets the shortest limit"
    ]


def test_what_was_learned_of_a_slow_endpoint_holds_for_the_next_calls(heard: list[str]) -> None:
    with ScriptedEndpoint(wordy, seconds_per_token=2.0 / TOKENS) as endpoint:
        for _ in range(2):
            assert run_one(model_at(endpoint).complete(REQUEST)).text == WORDS
        assert sends(endpoint) == [False, True, True]
    assert len(heard) == 1


def test_a_slow_endpoint_without_streams_gets_the_time_that_it_needs() -> None:
    with ScriptedEndpoint(wordy, seconds=0.5, unsupported=("stream",)) as endpoint:
        tries = Tries()
        assert run_one(model_at(endpoint).send(REQUEST, None, tries)).reply.text == WORDS
        assert [chat.status for chat in endpoint.chats][1:] == [400, 200]
    assert (tries.sent, tries.timeouts) == (3, 1)


def test_a_server_that_ignores_streams_is_read_all_the_same() -> None:
    class Ignorant(ScriptedEndpoint):
        def begin(self, logged: Any) -> Any:
            self.asked_to_stream = logged.body.pop("stream", False)
            return super().begin(logged)

    with Ignorant(wordy) as endpoint:
        model = model_at(endpoint, timeout_seconds=10.0)
        model.connection.pace.on_timeout(Size(reply=1), 1000.0)
        reply = run_one(model.complete(REQUEST))
        assert endpoint.asked_to_stream
    assert (reply.text, reply.output_tokens, reply.finish_reason) == (WORDS, TOKENS, "stop")


def test_a_stream_that_counts_nothing_is_not_chosen_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from support import streams

    monkeypatch.setattr(streams, "usage", lambda _: None)
    with ScriptedEndpoint(wordy) as endpoint:
        model = model_at(endpoint, timeout_seconds=10.0)
        model.connection.pace.on_timeout(Size(reply=1), 1000.0)
        replies = [run_one(model.complete(REQUEST)) for _ in range(2)]
        assert sends(endpoint) == [True, False]
    assert [reply.output_tokens for reply in replies] == [0, TOKENS]


def test_an_endpoint_that_never_answers_is_counted_said_and_given_up(memory: Any, heard: list[str]) -> None:
    with ScriptedEndpoint(wordy, faults=lambda *_: Fault(hang=60)) as endpoint:
        model = memory.chat(endpoint, timeout_seconds=0.2)
        with pytest.raises(CallFailed, match=r"within 0\.2 s, nor within 0\.4 s; set model.timeout_seconds"):
            run_one(model.complete(REQUEST))
        assert len(endpoint.chats) == 2
    use = memory.used()
    assert (use.calls, use.retries, use.timeouts, use.failed, use.sent) == (0, 1, 2, 1, 2)
    assert use.seconds > 0.2
    assert [line.split("); ")[1] for line in heard] == [
        "trying once more, with 0.4 s. model.timeout_seconds in corpus.yaml sets the shortest limit",
        "giving up. If it is only slow, set model.timeout_seconds in corpus.yaml higher",
    ]


def test_a_stream_that_stalls_half_way_is_asked_for_again(heard: list[str]) -> None:
    with ScriptedEndpoint(wordy, faults=[Fault(stall=True)]) as endpoint:
        tries, pieces = Tries("community_report"), list[str]()
        reply = run_one(model_at(endpoint).send(REQUEST, pieces.append, tries)).reply
        assert sends(endpoint) == [True, True]
    assert (reply.text, tries.timeouts) == (WORDS, 1)
    assert len("".join(pieces)) > len(WORDS)
    assert "did not answer for 0.3 s in the middle of its reply (a community report" in heard[0]
    assert "once more, with 0.6 s between two pieces" in heard[0]


def test_what_many_calls_meet_together_is_said_once(heard: list[str]) -> None:
    with ScriptedEndpoint(wordy, faults=[Fault(stall=True)] * 4) as endpoint:
        model = model_at(endpoint, concurrency=4)
        replies = list(run_in_order(model.complete, [REQUEST] * 4, calls=4))
        assert [reply.text for reply in replies] == [WORDS] * 4
        assert len(endpoint.chats) == 8
    assert len(heard) == 1


def test_texts_that_are_not_embedded_in_time_are_counted(memory: Any, heard: list[str]) -> None:
    with ScriptedEndpoint(faults=[Fault(stall=True)]) as endpoint:
        memory.embedder(endpoint, timeout_seconds=0.3).embed(["a harbour", "a ship"])
    use = memory.used()
    assert (use.calls, use.retries, use.timeouts, use.sent) == (1, 1, 1, 2)
    assert "model embed-1 did not answer within 0.3 s (vectors, about 3 prompt tokens)" in heard[0]


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


def test_others_that_are_answered_show_that_the_endpoint_works() -> None:
    async def granted(in_flight: int) -> float:
        timeouts, pace = CallTimeouts(), Pace()
        with pending_call("model m", "x") as call:
            waited = [Waited(call, Size(), pace, 30.0) for _ in range(2)]
            async with timeouts.clock(waited[0], in_flight) as waiting:
                await asyncio.sleep(0.01)
                async with timeouts.clock(waited[1], in_flight) as answered:
                    timeouts.on_data(answered)
                return waiting.granted

    assert asyncio.run(granted(1)) == pytest.approx(30.0)
    assert 30.0 < asyncio.run(granted(2)) < 60.0


def test_calls_under_way_are_known_with_the_oldest() -> None:
    before = current_calls()
    with pending_call("model m", "rate_reports") as first, pending_call("model m", "x"):
        first.sent = True
        now = current_calls()
        assert (now.in_flight - before.in_flight, now.waiting - before.waiting) == (1, 1)
        assert now.oldest is first
        assert first.description == "rating reports"
    assert current_calls().done == before.done + 2


@given(SIZES, st.floats(0.1, 1000), st.floats(0.1, 1000))
def test_a_limit_is_never_shorter_than_is_set_and_grows_after_silence(
    size: Size, least: float, seconds: float
) -> None:
    pace = Pace()
    assert pace.limit(size, least) == least
    pace.on_timeout(size, seconds)
    assert pace.limit(size, least) >= max(least, min(2 * seconds, 3600.0) * 0.999)
    assert pace.limit(size, least) <= max(least, 3600.0)


@given(st.lists(st.tuples(SIZES, st.floats(0, 500)), max_size=20), SIZES, SIZES)
def test_what_is_larger_has_no_less_time(answers: list[tuple[Size, float]], one: Size, other: Size) -> None:
    pace = Pace()
    for size, seconds in answers:
        pace.on_answer(size, seconds)
    small, large = sorted((one, other), key=lambda size: size.work)
    assert pace.limit(small, 10.0) <= pace.limit(large, 10.0)


@pytest.mark.parametrize(
    ("prompt", "tokens", "seconds", "asked", "enough"),
    [
        # The first small question to a model that writes 3 tokens a second.
        (150, 14, 5.0, Size(3000, 2000), 2000 / 3),
        # One that reads only 10 a second.
        (150, 14, 20.0, Size(3000, 2000), 2000 / 3 + 300),
        (2000, 600, 210.0, Size(3000, 4000), 4000 / 3),
    ],
)
def test_a_slow_model_gets_enough_time_from_its_first_reply_on(
    prompt: int, tokens: int, seconds: float, asked: Size, enough: float
) -> None:
    pace = Pace()
    pace.on_answer(Size(prompt, tokens), seconds)
    assert pace.limit(asked, 120.0) > enough


def test_a_quick_model_keeps_the_limit_that_is_set_and_a_hiccup_is_forgotten() -> None:
    pace, report = Pace(), Size(3000, 2000)
    pace.on_answer(Size(150, 14), 0.8)
    pace.on_answer(Size(3000, 700), 9.0)
    assert pace.limit(report, 120.0) == 120.0
    pace.on_answer(Size(3000, 700), 300.0)
    assert pace.limit(report, 120.0) > 1000.0
    for _ in range(60):
        pace.on_answer(Size(3000, 700), 9.0)
    assert pace.limit(report, 120.0) == 120.0


def test_an_embedder_has_the_limits_of_its_own_model() -> None:
    with ScriptedEndpoint() as endpoint:
        model = model_at(endpoint)
        model.connection.pace.on_timeout(Size(reply=1), 100.0)
        vectors = OpenAIEmbedder("embed-1", model.settings)
        assert not vectors.connection.is_slow(Size(reply=1000))
        assert model.connection.is_slow(Size(reply=1000))

"""What was answered well is not asked again; nothing else is remembered."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.cache.llm_cache import User, reply_key
from graphrag_dagster.kernel.models.chat import structured_output as asking
from graphrag_dagster.kernel.models.chat.chat_model import (
    ChatReply,
    ChatRequest,
    Message,
    collect_reused_replies,
)
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order, run_one
from graphrag_dagster.kernel.models.chat.reply_parsing import Incomplete
from graphrag_dagster.kernel.models.chat.structured_output import UnusableReply, UsableReply, ask_typed
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.tasks.task_ports import TextUnit
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from support.endpoint import Fault, Scripted, ScriptedEndpoint


class Shape(BaseModel):
    answer: str


class Other(BaseModel):
    answer: int


REQUEST = ChatRequest("hello", (Message("system", "Be brief."), Message("user", "Hello?")), 50, Shape)
GOOD = '{"answer": "hi"}'
RETRY = prompts.load("retry")


def ask(model: Any, request: ChatRequest = REQUEST) -> UsableReply[Shape]:
    return run_one(ask_typed(model, request, Shape, RETRY))


def answers(*replies: str | Scripted) -> Callable[[dict[str, Any]], str | Scripted]:
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def test_the_same_request_is_answered_from_memory(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: Scripted(GOOD, "stop", 30, 7, cached_input_tokens=5)) as endpoint:
        first = ask(memory.chat(endpoint))
        again = ask(memory.chat(endpoint, memory.account("other", "asset", "r2")))
        reply = run_one(memory.chat(endpoint).complete(REQUEST))
    assert again == first
    assert (reply.text, reply.input_tokens, reply.cached_input_tokens, reply.output_tokens) == (
        GOOD,
        30,
        5,
        7,
    )
    assert len(endpoint.chats) == 1
    assert (memory.count("replies"), memory.count("uses")) == (1, 2)


def test_replies_that_are_on_their_way_when_a_run_ends_are_not_asked_for_again(memory: Any) -> None:
    requests = [replace(REQUEST, messages=(Message("user", f"Hello {number}?"),)) for number in range(9)]

    async def one(request: ChatRequest) -> UsableReply[Shape]:
        return await ask_typed(model, request, Shape, RETRY)

    def faults(number: int, _: dict[str, Any]) -> Fault | None:
        # Whichever it is: calls that wait for the first connection are not sent in their order.
        return Fault(401) if number == 2 else Fault(delay=0.3)

    with ScriptedEndpoint(lambda _: GOOD, faults=faults, together=4) as endpoint:
        model = memory.chat(endpoint, concurrency=4)
        with pytest.raises(EndpointError, match="401"):
            list(run_in_order(one, requests, calls=4))
        answered = sum(one.answered for one in endpoint.chats)
    assert 3 <= answered < 8
    with ScriptedEndpoint(lambda _: GOOD) as endpoint:
        model = memory.chat(endpoint, concurrency=4)
        assert len(list(run_in_order(one, requests, calls=4))) == 9
        assert len(endpoint.chats) == 9 - answered


def test_an_endpoint_that_is_busy_does_not_keep_a_run_from_ending(memory: Any) -> None:
    requests = [replace(REQUEST, messages=(Message("user", f"Hello {number}?"),)) for number in range(2)]

    async def one(request: ChatRequest) -> UsableReply[Shape]:
        return await ask_typed(model, request, Shape, RETRY)

    def faults(number: int, body: dict[str, Any]) -> Fault | None:
        return Fault(401) if "Hello 0?" in str(body) else Fault(429, headers={"Retry-After": "50"}, delay=0.3)

    with ScriptedEndpoint(lambda _: GOOD, faults=faults, together=2) as endpoint:
        model = memory.chat(endpoint, concurrency=2)
        with ThreadPoolExecutor(1) as pool:
            ended = pool.submit(lambda: list(run_in_order(one, requests, calls=2)))
            # What the endpoint asks others to wait is twice as long.
            with pytest.raises(EndpointError, match="401"):
                ended.result(25)


def test_a_listener_hears_a_remembered_reply(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: GOOD) as endpoint:
        ask(memory.chat(endpoint))
        heard: list[str] = []
        run_one(memory.chat(endpoint).complete(REQUEST, heard.append))
    assert heard == [GOOD]


@pytest.mark.parametrize("bad", ["no json", "", Scripted(GOOD, "length"), Scripted("No.", "refusal")])
def test_a_bad_reply_is_never_kept(memory: Any, bad: str | Scripted) -> None:
    with ScriptedEndpoint(lambda _: bad) as endpoint:
        for _ in range(2):
            with pytest.raises(UnusableReply):
                ask(memory.chat(endpoint))
        calls = len(endpoint.chats)
    assert calls in {2, 8}
    assert (memory.count("replies"), memory.count("uses")) == (0, 0)
    assert memory.used().cached == 0


@pytest.mark.parametrize("bad", [1, 2, 3])
def test_a_reply_after_retries_is_kept_as_that_to_the_first_request(memory: Any, bad: int) -> None:
    with ScriptedEndpoint(answers(*["no json"] * bad, GOOD)) as endpoint:
        first = ask(memory.chat(endpoint))
        assert (len(endpoint.chats), first.usage.calls) == (bad + 1, bad + 1)
        assert ask(memory.chat(endpoint)) == replace(first, usage=first.reply_usage)
        assert len(endpoint.chats) == bad + 1
    with memory.database.reading() as connection:
        assert connection.execute("select seconds from replies").fetchone()[0] > 0
    used = memory.used()
    assert (memory.count("replies"), used.calls, used.repeated, used.cached) == (1, bad + 1, bad, 1)
    assert used.sent == len(endpoint.chats)


@pytest.mark.parametrize("bad", [0, 1])
def test_a_prompt_that_is_read_only_in_part_ends_the_run_and_keeps_no_reply(memory: Any, bad: int) -> None:
    request = replace(REQUEST, messages=(Message("user", "The mill at Hebdon burned down in June. " * 900),))
    script = answers(*[Scripted(text, "stop", 800, 10) for text in [*["no json"] * bad, GOOD]])
    with ScriptedEndpoint(script) as endpoint:
        # Under a name of its own: how long prompts get is remembered by model.
        model = memory.chat(endpoint, name=f"cuts {bad}")
        with pytest.raises(EndpointError, match="read only 800 of about .*OLLAMA_CONTEXT_LENGTH"):
            ask(model, request)
    assert (memory.count("replies"), memory.used().calls) == (0, 1)


def test_what_was_remembered_and_cannot_be_used_any_more_gives_way(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: GOOD) as endpoint:
        model = memory.chat(endpoint)
        model.remember(REQUEST, ChatReply(GOOD[:-1]))
        assert ask(model).text == GOOD
        assert ask(model).text == GOOD
    assert len(endpoint.chats) == 1
    assert memory.count("replies") == 1


def test_what_lacks_something_is_used_and_asked_for_again_next_time(memory: Any) -> None:
    def read(text: str) -> tuple[str, bool]:
        raise Incomplete("there is more", text)

    with ScriptedEndpoint(lambda _: "a part") as endpoint:
        for calls in (4, 8):
            found = run_one(asking.ask(memory.chat(endpoint), REQUEST, read, RETRY))
            assert (found.value, found.lacking, len(endpoint.chats)) == ("a part", "there is more", calls)
    assert memory.count("replies") == 0


def test_a_text_asked_about_in_halves_is_remembered_as_a_whole(memory: Any) -> None:
    def script(body: dict[str, Any]) -> str:
        user = body["messages"][1]["content"]
        if "Ann" in user and "Cy" in user:
            return '{"entities": [{"name": "Ann'
        name = "Ann Lee" if "Ann" in user else "Cy Dee"
        return json.dumps({"entities": [{"name": name, "type": "person", "description": "d"}]})

    with ScriptedEndpoint(script) as endpoint:
        made = []
        for _ in range(2):
            extractor = LlmGraphExtractor(memory.chat(endpoint), entity_types=["person"], gleaning_rounds=0)
            made += extractor.extract([TextUnit("u", "Ann Lee is here. Cy Dee is there.")])
        assert len(endpoint.chats) == 6
    assert made[0] == made[1]
    assert [entity.name for entity in made[0].entities] == ["ANN LEE", "CY DEE"]
    assert made[0].state == "repaired"


def test_requests_in_flight_together_are_sent_once(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: GOOD, seconds=0.05) as endpoint:
        model = memory.chat(endpoint)
        jobs = [replace(REQUEST, task=f"task{n}") for n in range(30)]
        made = list(run_in_order(lambda r: ask_typed(model, r, Shape, RETRY), jobs, calls=16))
    assert {one.text for one in made} == {GOOD}
    assert len(endpoint.chats) == 1
    used = memory.used()
    assert (used.calls, used.cached, memory.count("replies")) == (1, 29, 1)


def test_a_failed_request_is_sent_by_the_next_that_waited_for_it(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: GOOD, faults=[Fault(400, "no")], seconds=0.02) as endpoint:
        model = memory.chat(endpoint)

        async def both() -> list[Any]:
            return await asyncio.gather(
                *(ask_typed(model, REQUEST, Shape, RETRY) for _ in range(3)), return_exceptions=True
            )

        made = run_one(both())
    assert sum(isinstance(one, UnusableReply) for one in made) == 1
    assert len(endpoint.chats) == 2


def test_the_gate_is_passed_once_before_the_first_call_and_not_for_what_is_remembered(memory: Any) -> None:
    passed: list[int] = []

    async def gate() -> None:
        await asyncio.sleep(0.01)
        passed.append(len(endpoint.chats))

    with ScriptedEndpoint(lambda _: GOOD) as endpoint:
        ask(memory.chat(endpoint))
        model = memory.chat(endpoint)
        model._gate = gate
        ask(model)
        assert passed == []
        jobs = [replace(REQUEST, messages=(Message("user", f"{n}"),)) for n in range(5)]
        assert len(list(run_in_order(model.complete, jobs, calls=4))) == 5
    assert passed == [1]


SETTINGS = ModelSettings(name="m")
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("name", {"name": "n"}),
    ("temperature", {"temperature": 0.5}),
    ("top_p", {"top_p": 0.5}),
    ("seed", {"seed": 1}),
    ("extra_body", {"extra_body": {"a": 1}}),
    ("reasoning", {"reasoning": "low"}),
    ("namespace", {"namespace": "x"}),
]
SAME: list[dict[str, Any]] = [
    {"base_url": "http://127.0.0.1:1/v1"},
    {"concurrency": 3},
    {"max_output_tokens": 9},
    {"requests_per_minute": 9},
    {"tokens_per_minute": 9},
    {"timeout_seconds": 9.0},
    {"retries": 1},
    {"api_key_variable": "OTHER"},
    {"logit_bias": False},
    {"prices": {"input": 1.0}},
]


@pytest.mark.parametrize("change", [change for _, change in CHANGES], ids=[name for name, _ in CHANGES])
def test_what_determines_a_reply_is_part_of_its_key(change: dict[str, Any]) -> None:
    assert reply_key(ModelSettings(**{"name": "m", **change}), REQUEST) != reply_key(SETTINGS, REQUEST)


@pytest.mark.parametrize("change", SAME, ids=[next(iter(change)) for change in SAME])
def test_what_does_not_determine_a_reply_is_no_part_of_its_key(change: dict[str, Any]) -> None:
    assert reply_key(ModelSettings(**{"name": "m", **change}), REQUEST) == reply_key(SETTINGS, REQUEST)


MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text(max_size=8)),
    min_size=1,
    max_size=3,
).map(tuple)
REQUESTS = st.builds(
    ChatRequest,
    st.sampled_from(["one", "two"]),
    MESSAGES,
    st.integers(1, 9),
    st.sampled_from([None, Shape, Other]),
    st.sampled_from([None, 0.0, 0.5]),
    st.sampled_from([(), (1,), (1, 2), (12,)]),
    st.integers(0, 3),
)


def _essence(request: ChatRequest) -> tuple[Any, ...]:
    temperature = SETTINGS.temperature if request.temperature is None else request.temperature
    return request.messages, request.schema, temperature, request.forced_tokens


@given(REQUESTS, REQUESTS)
def test_keys_are_the_same_for_the_same_question_alone(one: ChatRequest, other: ChatRequest) -> None:
    same = _essence(one) == _essence(other)
    assert (reply_key(SETTINGS, one) == reply_key(SETTINGS, other)) is same


class Reworded(BaseModel):
    """The same shape under other words."""

    model_config = ConfigDict(title="Something else")
    answer: str = Field(description="what is answered", title="Answer, in words")


def test_the_words_about_a_schema_are_no_part_of_a_key(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: GOOD) as endpoint:
        ask(memory.chat(endpoint))
        ask(memory.chat(endpoint), replace(REQUEST, schema=Reworded))
        assert len(endpoint.chats) == 1
        ask(memory.chat(endpoint), replace(REQUEST, schema=Other))
    assert len(endpoint.chats) == 2


def test_what_was_paid_for_under_a_key_with_docstrings_is_not_paid_for_again(memory: Any) -> None:
    account = memory.account()
    with ScriptedEndpoint(lambda _: "no") as endpoint:
        model = memory.chat(endpoint, account, name=SETTINGS.name)
        key = reply_key(SETTINGS, REQUEST, documented=True)
        account.replies.keep(
            key, "hello", "scripted", ChatReply(GOOD, "stop", 9, 3), 0.1, User("c", "a", "r0")
        )
        with collect_reused_replies() as noted:
            assert ask(model).text == GOOD
        assert ask(model).text == GOOD
        assert not endpoint.chats
    assert list(noted) == [reply_key(SETTINGS, REQUEST).hex()]
    assert (memory.count("replies"), memory.used().saved_tokens) == (2, 24)


def test_the_limit_of_a_reply_changes_nothing_once_it_is_remembered(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: GOOD) as endpoint:
        ask(memory.chat(endpoint))
        ask(memory.chat(endpoint, concurrency=2), replace(REQUEST, max_tokens=4000))
        assert len(endpoint.chats) == 1
        ask(memory.chat(endpoint, namespace="x"))
    assert len(endpoint.chats) == 2


def test_the_order_of_further_keys_of_the_body_does_not_matter() -> None:
    one = ModelSettings(name="m", extra_body={"a": 1, "b": {"c": 2, "d": 3}})
    other = ModelSettings(name="m", extra_body={"b": {"d": 3, "c": 2}, "a": 1})
    assert reply_key(one, REQUEST) == reply_key(other, REQUEST)


def test_a_forced_word_is_remembered_apart_from_a_free_one(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: GOOD) as endpoint:
        ask(memory.chat(endpoint))
        ask(memory.chat(endpoint), replace(REQUEST, forced_tokens=(1, 2)))
    assert len(endpoint.chats) == 2


def test_odd_texts_are_remembered_as_they_are(memory: Any) -> None:
    odd = json.dumps({"answer": "naïve 北京 \u0000 \U0001f600"}, ensure_ascii=False)
    with ScriptedEndpoint(lambda _: odd) as endpoint:
        request = replace(REQUEST, messages=(Message("user", "\ud800 odd"),))
        first = ask(memory.chat(endpoint), request)
        assert ask(memory.chat(endpoint), request) == first
    assert len(endpoint.chats) == 1

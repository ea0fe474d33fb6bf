"""What hosted and local servers say in words of their own: why a reply ends, its parts, money, loading."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.errors import EndpointDown, EndpointError, OutOfCredit
from graphrag_dagster.kernel.common.progress import listening
from graphrag_dagster.kernel.models.batch_api import read_result
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatReply, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.structured_output import UnusableReply, ask
from graphrag_dagster.kernel.models.endpoint.endpoint_embeddings import OpenAIEmbedder
from graphrag_dagster.kernel.models.endpoint.rate_limits import retry_after
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.text.prompt_templates import Prompt
from support.endpoint import Fault, Scripted, ScriptedEndpoint
from support.listening import Heard

REQUEST = ChatRequest("hello", (Message("user", "Hello?"),), 50)


def reply_of(model: Any, *, streamed: bool = False) -> ChatReply:
    return run_one(model.complete(REQUEST, (lambda _: None) if streamed else None))


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("said", "means"),
    [
        *((one, "stop") for one in ("stop", "end_turn", "STOP", "eos", "COMPLETE")),
        *((one, "length") for one in ("length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens")),
        *((one, "content_filter") for one in ("SAFETY", "content_filter")),
        ("tool_calls", "tool_calls"),
        ("Something new!", "something new!"),
    ],
)  # fmt: skip
def test_why_a_reply_ended_is_known_in_the_words_of_all_servers(
    model_of: Callable[..., Any], said: str, means: str, streamed: bool
) -> None:
    with ScriptedEndpoint(lambda _: Scripted("hi", said)) as endpoint:
        assert reply_of(model_of(endpoint), streamed=streamed).finish_reason == means


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("said", ["error", "ERROR", "network_error", "abort", "insufficient_system_resource"])
def test_a_reply_that_ends_with_an_error_is_a_failed_call(
    model_of: Callable[..., Any], said: str, streamed: bool
) -> None:
    endings = iter([said, said, "stop"])
    with ScriptedEndpoint(lambda _: Scripted("hi", next(endings))) as endpoint:
        assert reply_of(model_of(endpoint), streamed=streamed).text == "hi"
    assert len(endpoint.chats) == 3
    with (
        ScriptedEndpoint(lambda _: Scripted("hi", said)) as endpoint,
        pytest.raises(CallFailed, match=f"cut its reply short .finish_reason '{said}'"),
    ):
        reply_of(model_of(endpoint, retries=1), streamed=streamed)


def test_a_reply_that_ended_for_an_unknown_reason_is_never_remembered(model_of: Callable[..., Any]) -> None:
    kept: list[ChatReply] = []
    with ScriptedEndpoint(lambda _: Scripted("all is said", "banana")) as endpoint:
        model = model_of(endpoint)
        model.remember = lambda _, reply: kept.append(reply)
        with pytest.raises(UnusableReply, match="banana"):
            run_one(ask(model, REQUEST, lambda text: (text, False), Prompt("again", "{{reason}}")))
    assert kept == []


THOUGHT = "Hm, let me see."
PARTS: list[tuple[Any, str, bool]] = [
    ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab", False),
    ([{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}, {"type": "text", "text": "a"}], "a", True),
    ([{"type": "thinking", "thinking": THOUGHT, "signature": "x"}, {"type": "text", "text": "a"}], "a", True),
    ([{"type": "reasoning", "text": THOUGHT}, {"type": "output_text", "text": "a"}], "a", True),
    ([{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "a"}], "a", True),
]  # fmt: skip


def answering(content: Any = None, **beside: Any) -> Callable[..., dict[str, Any]]:
    message = {"role": "assistant", "content": content, **beside}
    return lambda *_: {"choices": [{"message": message, "finish_reason": "stop"}]}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("content", "text", "reasoned"), PARTS)
def test_the_text_of_all_parts_is_the_reply_and_reasoning_is_not(
    model_of: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    content: Any,
    text: str,
    reasoned: bool,
    streamed: bool,
) -> None:
    heard: list[str] = []
    pieces = content if isinstance(content, list) else [content]
    stream(monkeypatch, [{"content": [piece]} for piece in pieces])
    with ScriptedEndpoint(unsupported=() if streamed else ("stream",)) as endpoint:
        endpoint.answer = answering(content)  # type: ignore[method-assign]
        answered = run_one(model_of(endpoint).send(REQUEST, heard.append if streamed else None))
    assert (answered.reply.text, answered.reasoned) == (text, reasoned)
    assert not streamed or "".join(heard) == text


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "beside",
    [
        {"reasoning_content": THOUGHT},
        {"reasoning": THOUGHT},
        {"reasoning": {"content": THOUGHT}},
        {"reasoning_details": [{"type": "reasoning.text", "text": THOUGHT}]},
        {"thinking": THOUGHT},
    ],
)
def test_reasoning_beside_a_reply_is_counted_and_left_out(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, beside: dict[str, Any], streamed: bool
) -> None:
    stream(monkeypatch, [{"content": "", **beside}, {"content": "a"}])
    with ScriptedEndpoint(unsupported=() if streamed else ("stream",)) as endpoint:
        endpoint.answer = answering("a", **beside)  # type: ignore[method-assign]
        answered = run_one(model_of(endpoint).send(REQUEST, (lambda _: None) if streamed else None))
    assert (answered.reply.text, answered.reasoned) == ("a", True)


def stream(monkeypatch: pytest.MonkeyPatch, deltas: list[dict[str, Any]]) -> None:
    """Let streams be of these pieces."""
    told = [{"choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas]
    told.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    lines = [f"data: {json.dumps(one)}\n\n".encode() for one in told]
    monkeypatch.setattr("support.answering.events", lambda *_: [*lines, b"data: [DONE]\n\n"])


BROKE = [
    Fault(402, "Payment Required"),
    Fault(402, "Insufficient Balance", "invalid_request_error"),
    Fault(429, "You exceeded your current quota.", "insufficient_quota"),
    Fault(429, "You exceeded your current quota.", kind="insufficient_quota"),
    Fault(429, "Billing hard limit has been reached", "billing_hard_limit_reached"),
]
NOT_BROKE = [
    Fault(429, "You exceeded your current quota, please check your plan and billing details.", "429"),
    Fault(429, "Rate limit reached for tokens per minute."),
    Fault(500, "insufficient balance of the load"),
    Fault(429, "The thinking budget has been exceeded.", "thinking_budget_exceeded"),
    Fault(429, "This request has exceeded the token budget limit of this minute."),
    Fault(429, "busy", kind="reasoning_budget_exceeded"),
]


@pytest.mark.parametrize("fault", BROKE)
@pytest.mark.parametrize("kind", ["chat", "stream", "embed"])
def test_money_that_is_gone_is_told_at_once(model_of: Callable[..., Any], fault: Fault, kind: str) -> None:
    with ScriptedEndpoint(faults=lambda *_: fault) as endpoint:
        embedder = OpenAIEmbedder("e", ModelSettings(base_url=endpoint.url), first_wait=0.01)
        ways: dict[str, Callable[[], object]] = {
            "chat": lambda: reply_of(model_of(endpoint)),
            "stream": lambda: reply_of(model_of(endpoint), streamed=True),
            "embed": lambda: embedder.embed([f"text {n}" for n in range(9)]),
        }
        with pytest.raises(OutOfCredit, match="has no credit left.*add credit") as raised:
            ways[kind]()
    assert fault.message[:20] in str(raised.value)
    assert len(endpoint.requests) == 1
    assert not isinstance(raised.value, CallFailed | EndpointDown)


@pytest.mark.parametrize("fault", NOT_BROKE)
def test_a_busy_endpoint_is_not_out_of_credit(model_of: Callable[..., Any], fault: Fault) -> None:
    with ScriptedEndpoint(lambda _: "hi", faults=[fault, fault]) as endpoint:
        assert reply_of(model_of(endpoint)).text == "hi"
    assert len(endpoint.chats) == 3


def test_money_may_be_gone_in_the_body_of_an_answer(model_of: Callable[..., Any]) -> None:
    for code in (402, "402", "insufficient_quota"):
        with ScriptedEndpoint(unsupported=("stream",)) as endpoint:
            endpoint.answer = lambda *_, c=code: {"error": {"code": c, "message": "no"}}  # type: ignore[misc]
            with pytest.raises(OutOfCredit):
                reply_of(model_of(endpoint))
    line = {
        "custom_id": "00",
        "response": {"status_code": 429, "body": {"error": {"code": "insufficient_quota"}}},
    }
    assert (result := read_result(line)) is not None
    assert result.problem == "no credit left: insufficient_quota (429)"


LOADING = [
    Fault(503, "Loading model", "503"),
    Fault(503, "Model org/name is currently loading", extra={"estimated_time": 0.01}),
    Fault(503, "Model is not ready", headers={"Retry-After": "0"}),
    Fault(503, "overloaded"),
    Fault(529, "Overloaded"),
]


@pytest.mark.parametrize("fault", LOADING)
def test_a_server_that_is_loading_or_overloaded_is_waited_for_beyond_all_retries_and_named(
    model_of: Callable[..., Any], fault: Fault
) -> None:
    heard = Heard()
    with ScriptedEndpoint(lambda _: "hi", faults=[fault] * 6) as endpoint, listening(heard):
        model = model_of(endpoint, retries=0)
        assert reply_of(model).text == "hi"
        assert len(endpoint.chats) == 7
        endpoint._faults = lambda *_: fault
        model.connection.patience = 0.05
        with pytest.raises(EndpointDown, match=r"no answers for .*run again when it is less busy") as raised:
            reply_of(model)
    assert fault.message in str(raised.value)
    assert heard.lines[0].startswith(f"{endpoint.url} answered {fault.status}: {fault.message}")
    assert "30 minutes at most" in heard.lines[0]


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [("1e999", 365 * 86_400), ("inf", 365 * 86_400), ("99999999999999999999", 365 * 86_400), ("-5", 0), ("nan", None)],
)  # fmt: skip
def test_no_wait_is_endless(model_of: Callable[..., Any], asked: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": asked}) == seconds
    assert retry_after({"retry-after-ms": "1e999"}) == 365 * 86_400
    if seconds and seconds > 600:
        faults = [Fault(429, "full", headers={"Retry-After": asked})]
        with (
            ScriptedEndpoint(faults=faults) as endpoint,
            pytest.raises(EndpointError, match="its rate limit for 525,600 minutes"),
        ):
            reply_of(model_of(endpoint))

"""Replies heard as they come, and hidden reasoning switched off."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatReply, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.reply_parsing import visible_text
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from support.endpoint import Fault, Scripted, ScriptedEndpoint

REQUEST = ChatRequest("hello", (Message("system", "Be brief."), Message("user", "Hello?")), 500)
TEXT = "One fine day in the middle of the night – näturally – two dead men got up to fight."


def long(_: dict[str, Any]) -> Scripted:
    return Scripted(TEXT, "stop", 40, 20, cached_input_tokens=8)


def hear(model: OpenAIChatModel) -> tuple[ChatReply, list[str]]:
    heard: list[str] = []
    return run_one(model.complete(REQUEST, heard.append)), heard


def test_a_listener_hears_the_reply_as_it_comes(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(long) as endpoint:
        model = model_of(endpoint)
        reply, heard = hear(model)
        whole = run_one(model.complete(REQUEST))
    assert "".join(heard) == TEXT
    assert len(heard) > 3
    assert reply == whole == ChatReply(TEXT, "stop", 40, 20, cached_input_tokens=8)
    assert [chat.body.get("stream") for chat in endpoint.chats] == [True, True]


@pytest.mark.parametrize(
    "fault", [Fault(drop=True), Fault(truncated=True), Fault(malformed=True), Fault(503)]
)
def test_a_broken_stream_is_tried_again(model_of: Callable[..., Any], fault: Fault) -> None:
    with ScriptedEndpoint(long, faults=[fault]) as endpoint:
        reply, heard = hear(model_of(endpoint))
    assert reply.text == TEXT
    assert len(endpoint.chats) == 2
    assert "".join(heard).endswith(TEXT)


@pytest.mark.parametrize(
    ("fault", "said"),
    [(Fault(drop=True), "was lost|cut its reply short"), (Fault(malformed=True), "no usable JSON")],
)
def test_retries_of_a_stream_end(model_of: Callable[..., Any], fault: Fault, said: str) -> None:
    with ScriptedEndpoint(long, faults=lambda *_: fault) as endpoint, pytest.raises(CallFailed, match=said):
        hear(model_of(endpoint, retries=1))
    assert len(endpoint.chats) == 2


def test_an_error_within_a_stream_is_tried_again(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from support import answering

    real = answering.events

    def failing(body: dict[str, Any], reply: Scripted) -> list[bytes]:
        monkeypatch.setattr(answering, "events", real)
        told = {"error": {"message": "the engine died", "type": "server_error", "code": 500}}
        return [*real(body, reply)[:3], f"data: {json.dumps(told)}\n\n".encode()]

    monkeypatch.setattr(answering, "events", failing)
    with ScriptedEndpoint(long) as endpoint:
        assert hear(model_of(endpoint))[0].text == TEXT
    assert len(endpoint.chats) == 2


def test_an_endpoint_without_streams_is_heard_at_once(model_of: Callable[..., Any]) -> None:
    for missing in ("stream", "stream_options"):
        with ScriptedEndpoint(long, unsupported=(missing,)) as endpoint:
            model = model_of(endpoint)
            assert hear(model) == hear(model)
            assert hear(model)[1] == [TEXT]
        assert [chat.status for chat in endpoint.chats] == [400, 200, 200, 200]


def test_a_refused_key_ends_a_stream_too(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(long, faults=[Fault(401)]) as endpoint, pytest.raises(EndpointError, match="401"):
        hear(model_of(endpoint))


def reasoner(obeys: tuple[str, ...], *, inside: bool) -> Callable[[dict[str, Any]], Scripted]:
    """A model that reasons unless it is silenced in a way that it knows; in its reply, or beside it."""

    def script(body: dict[str, Any]) -> Scripted:
        template = (body.get("chat_template_kwargs") or {}).get("enable_thinking") is False
        silent = ("template" in obeys and template) or body.get("reasoning_effort") in obeys
        if silent:
            return Scripted("yes", output_tokens=1)
        if inside:
            return Scripted("<think>Hm, let me see.</think>\nyes", output_tokens=30)
        return Scripted("yes", output_tokens=30, reasoning="Hm, let me see.")

    return script


def silencing(endpoint: ScriptedEndpoint) -> list[str]:
    """How each call that was answered tried to switch reasoning off."""
    shown = []
    for chat in endpoint.chats:
        if chat.status == 200:
            effort = str(chat.body.get("reasoning_effort", ""))
            shown.append("template" if "chat_template_kwargs" in chat.body else effort)
    return shown


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("obeys", "unsupported", "ways"),
    [
        (("template",), (), ["", "template", "template", "template"]),
        (("none",), (), ["", "template", "none", "none"]),
        (("none",), ("chat_template_kwargs",), ["", "none", "none", "none"]),
        (("minimal",), ("chat_template_kwargs",), ["", "none", "minimal", "minimal"]),
        ((), (), ["", "template", "none", "minimal"]),
        ((), ("chat_template_kwargs", "reasoning_effort"), ["", "", "", ""]),
    ],
)
def test_hidden_reasoning_is_switched_off_in_the_way_that_works(
    model_of: Callable[..., Any],
    obeys: tuple[str, ...],
    unsupported: tuple[str, ...],
    ways: list[str],
    inside: bool,
    streamed: bool,
) -> None:
    with ScriptedEndpoint(reasoner(obeys, inside=inside), unsupported=unsupported) as endpoint:
        model = model_of(endpoint)
        for _ in range(4):
            reply = hear(model)[0] if streamed else run_one(model.complete(REQUEST))
            assert visible_text(reply.text) == "yes"
    assert silencing(endpoint) == ways
    assert len(endpoint.chats) <= 5 + len(unsupported)


def test_reasoning_that_is_wanted_is_asked_for(model_of: Callable[..., Any]) -> None:
    for wanted, effort in (("low", "low"), ("high", "high"), ("default", None)):
        with ScriptedEndpoint(reasoner((), inside=False)) as endpoint:
            model = model_of(endpoint, reasoning=wanted)
            for _ in range(2):
                run_one(model.complete(REQUEST))
        assert [chat.body.get("reasoning_effort") for chat in endpoint.chats] == [effort] * 2
        assert not any("chat_template_kwargs" in chat.body for chat in endpoint.chats)


def test_a_model_that_does_not_reason_is_told_nothing(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(long) as endpoint:
        for _ in range(2):
            run_one(model_of(endpoint).complete(REQUEST))
    assert silencing(endpoint) == ["", ""]

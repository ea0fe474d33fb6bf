import asyncio
import json
import logging
import socket
import traceback
from collections.abc import Callable
from email.utils import formatdate
from time import monotonic, time
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from graphrag_dagster.errors import EndpointDown, EndpointError
from graphrag_dagster.kernel.common.progress import listening
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatReply, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.reply_schemas import ClaimsShape, GraphShape
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel, read_reply
from graphrag_dagster.kernel.models.endpoint.endpoint_embeddings import OpenAIEmbedder
from graphrag_dagster.kernel.models.endpoint.rate_limits import retry_after
from graphrag_dagster.kernel.models.endpoint.request_bodies import strict_schema
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.endpoint import Fault, Scripted, ScriptedEndpoint
from support.listening import Heard

KEY = "sk-very-secret-0123456789"


class Shape(BaseModel):
    answer: str


def request(**changes: Any) -> ChatRequest:
    messages = (Message("system", "Be brief."), Message("user", "Hello?"))
    return ChatRequest("hello", messages, 50, **changes)


def ask(model: OpenAIChatModel, **changes: Any) -> ChatReply:
    return run_one(model.complete(request(**changes)))


def hello(_: dict[str, Any]) -> Scripted:
    return Scripted("hi", "stop", 12, 3)


def test_a_reply_comes_with_its_usage(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(hello) as endpoint:
        reply = ask(model_of(endpoint, temperature=0.3))
    assert (reply.text, reply.finish_reason, reply.input_tokens, reply.output_tokens) == ("hi", "stop", 12, 3)
    body = endpoint.chats[0].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("gpt-4.1-mini", 0.3, 50)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(500),
        Fault(503),
        Fault(429),
        Fault(drop=True),
        Fault(truncated=True),
        Fault(malformed=True),
    ],
)
def test_what_fails_in_transit_is_tried_again(model_of: Callable[..., Any], fault: Fault) -> None:
    with ScriptedEndpoint(hello, faults=[fault, fault]) as endpoint:
        model = model_of(endpoint)
        assert ask(model).text == "hi"
    assert len(endpoint.chats) == 3


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(500, "out of order"), "answered 500: out of order"),
        (Fault(drop=True), "was lost"),
        (Fault(malformed=True), "no usable JSON"),
        (Fault(hang=60), r"no reply from .* for 0.2 s; set model.timeout_seconds"),
    ],
)
def test_retries_end(model_of: Callable[..., Any], fault: Fault, said: str) -> None:
    with ScriptedEndpoint(hello, faults=lambda *_: fault) as endpoint, pytest.raises(CallFailed, match=said):
        ask(model_of(endpoint, timeout_seconds=0.2, retries=1))
    assert len(endpoint.chats) == 2


def test_the_endpoint_says_how_long_to_wait(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(hello, faults=[Fault(429, headers={"Retry-After": "0.4"})]) as endpoint:
        begin = monotonic()
        ask(model_of(endpoint))
        assert monotonic() - begin > 0.4
    assert retry_after({"retry-after-ms": "250"}) == 0.25
    assert retry_after({"retry-after": "soon"}) is None
    assert 50 < (retry_after({"retry-after": formatdate(time() + 60, usegmt=True)}) or 0) <= 60
    with ScriptedEndpoint(hello, faults=[Fault(429, headers={"Retry-After": "86400"})]) as endpoint:
        model = model_of(endpoint)
        for _ in range(2):
            with pytest.raises(EndpointError, match="has reached its rate limit for 1,440 minutes") as raised:
                ask(model)
            assert not isinstance(raised.value, CallFailed)
            endpoint._faults = iter([Fault(429, headers={"Retry-After": "86400"})])
        assert len(endpoint.chats) == 2


def test_an_endpoint_that_is_not_there_is_told_at_once(model_of: Callable[..., Any]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(
        EndpointError, match=r"cannot reach http://127.*; set model.base_url or OPENAI_BASE_URL"
    ) as raised:
        ask(model_of(url, retries=5))
    assert not isinstance(raised.value, CallFailed)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(401, f"Incorrect key: {KEY}"), r"rejects the key in \$OPENAI_API_KEY \(401\)"),
        (Fault(404, "no such model"), "has no model gpt-4.1-mini, or the URL is wrong .*set model.name"),
        (Fault(429, "no credit", "insufficient_quota"), "no credit left"),
    ],
)
def test_what_no_retry_can_mend_stops_the_run(model_of: Callable[..., Any], fault: Fault, said: str) -> None:
    with ScriptedEndpoint(hello, faults=[fault]) as endpoint:
        with pytest.raises(EndpointError, match=said) as raised:
            ask(model_of(endpoint))
        assert not isinstance(raised.value, CallFailed)
        assert len(endpoint.chats) == 1


def test_a_refused_request_costs_one_call(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(hello, faults=[Fault(400, "context too long")]) as endpoint:
        with pytest.raises(CallFailed, match="context too long"):
            ask(model_of(endpoint))
        assert len(endpoint.chats) == 1


def test_an_endpoint_that_always_fails_ends_the_run(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(hello, faults=lambda *_: Fault(500)) as endpoint:
        model = model_of(endpoint, retries=0)
        kinds = []
        for _ in range(8):
            with pytest.raises(EndpointError) as raised:
                ask(model)
            kinds.append(type(raised.value))
    assert kinds == [CallFailed] * 7 + [EndpointDown]


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        (("json_schema",), {"type": "json_object"}),
        (("json_schema", "json_object"), None),
    ],
)
def test_without_json_schema_the_schema_goes_into_the_prompt_and_that_is_remembered(
    model_of: Callable[..., Any], refused: tuple[str, ...], kept: dict[str, str] | None
) -> None:
    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        kind = body.get("response_format", {}).get("type")
        return Fault(400, f"response_format type {kind} is unsupported") if kind in refused else None

    with ScriptedEndpoint(lambda _: '{"answer": "hi"}', faults=faults) as endpoint:
        ask(model_of(endpoint), schema=Shape)
        assert len(endpoint.chats) == len(refused) + 1
        ask(model_of(endpoint), schema=Shape)
        assert len(endpoint.chats) == len(refused) + 2
    body = endpoint.chats[-1].body
    assert body.get("response_format") == kept
    system = body["messages"][0]["content"]
    assert system.startswith("Be brief.\n\nReply with one JSON object")
    assert json.loads(system.splitlines()[-1])["required"] == ["answer"]


@pytest.mark.parametrize(
    ("complaint", "gone", "there"),
    [
        ("logit_bias is not supported", "logit_bias", "temperature"),
        ("'temperature' does not support 0 with this model", "temperature", "max_tokens"),
        ("Use 'max_completion_tokens' instead of 'max_tokens'", "max_tokens", "max_completion_tokens"),
    ],
)
def test_what_is_not_understood_is_left_out(
    model_of: Callable[..., Any], complaint: str, gone: str, there: str
) -> None:
    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        return Fault(400, complaint) if gone in body else None

    with ScriptedEndpoint(hello, faults=faults) as endpoint:
        assert ask(model_of(endpoint), forced_tokens=(1, 2)).text == "hi"
    body = endpoint.chats[-1].body
    assert gone not in body
    assert there in body


def test_shapes_can_be_strict() -> None:
    for shape in (GraphShape, ClaimsShape):
        schema, strict = strict_schema(shape)
        text = json.dumps(schema)
        assert strict
        assert '"title": "' not in text
        assert text.count('"additionalProperties": false') == text.count('"properties"')

    class Open(BaseModel):
        anything: dict[str, int]

    assert strict_schema(Open)[1] is False


def test_the_key_is_sent_and_stands_nowhere_else(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", KEY + "\n")
    caplog.set_level(logging.DEBUG)
    faults = [Fault(500, f"key {KEY}"), Fault(401, f"bad key {KEY}")]
    with ScriptedEndpoint(hello, faults=faults) as endpoint:
        model = model_of(endpoint, api_key_variable="MY_KEY")
        with pytest.raises(EndpointError) as raised:
            ask(model)
    sent = {name.lower(): value for name, value in endpoint.chats[0].headers.items()}
    assert sent["authorization"] == f"Bearer {KEY}"
    error: BaseException | None = raised.value
    while error is not None:
        assert KEY not in repr(error)
        error = error.__cause__ or error.__context__
    assert KEY not in "".join(traceback.format_exception(raised.value))
    assert KEY not in repr(model) + repr(vars(model)) + caplog.text
    monkeypatch.setenv("MY_KEY", "sk-“quoted”")
    with pytest.raises(EndpointError, match=r"\$MY_KEY contains characters that are not allowed"):
        ask(model)


def test_the_service_itself_needs_a_key_and_an_own_endpoint_none(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EndpointError, match=r"needs a key: set \$OPENAI_API_KEY"):
        run_one(OpenAIChatModel(ModelSettings()).complete(request()))
    with ScriptedEndpoint(hello) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        assert run_one(OpenAIChatModel(ModelSettings()).complete(request())).text == "hi"


@pytest.mark.parametrize(
    "content", [None, [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "\ud800"]
)
def test_odd_contents_give_a_text_that_can_be_stored(model_of: Callable[..., Any], content: Any) -> None:
    with ScriptedEndpoint(hello, unsupported=("stream",)) as endpoint:
        endpoint.answer = lambda *_: {"choices": [{"message": {"content": content}}]}  # type: ignore[method-assign]
        reply = ask(model_of(endpoint))
    assert reply.text in {"", "ab", "\ufffd"}
    reply.text.encode()


def embedder(endpoint: ScriptedEndpoint, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        "embed-1", ModelSettings(base_url=endpoint.url, retries=2), first_wait=0.01, **options
    )


def test_vectors_are_unit_vectors_in_the_order_of_the_texts() -> None:
    texts = [f"word{n % 7} and more" for n in range(30)] + ["", "  "]
    with ScriptedEndpoint(faults=[Fault(500)]) as endpoint:
        made = embedder(endpoint, batch_size=3)
        vectors = made.embed(texts)
        sent = [text for one in endpoint.requests[1:] for text in one.body["input"]]
        expected = np.array([endpoint.vector(text) for text in texts[:30]])
        assert made.embed([]).shape == (0, 16)
    assert made.name == "endpoint:embed-1"
    assert vectors.dtype == np.float32
    assert np.allclose(vectors[:30], expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert not vectors[30:].any()
    assert sorted(set(sent)) == sorted(set(texts[:30]))
    with ScriptedEndpoint() as endpoint:
        assert embedder(endpoint).embed([""]).shape == (1, 16)


@pytest.mark.parametrize(
    "data",
    [
        [],
        7,
        [{"index": 0, "embedding": [1.0, 2.0]}],
        [{"index": 0, "embedding": [1.0, 2.0]}] * 2,
        [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 2, "embedding": [1.0, 2.0]}],
        [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": [1.0, float("nan")]}],
        [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": [1.0, 1e300]}],
        [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}],
        [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": None}],
        [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": [1.0, None]}],
        [{"index": 0, "embedding": [1.0, float("inf")]}, {"index": 1, "embedding": [1.0, 2.0]}],
        [{"index": 0, "embedding": [[1.0, 2.0]]}, {"index": 1, "embedding": [[1.0, 2.0]]}],
    ],
)
def test_vectors_that_are_not_one_for_each_text_are_refused(data: Any) -> None:
    with ScriptedEndpoint() as endpoint:
        endpoint.answer = lambda *_: {"data": data}  # type: ignore[method-assign]
        with pytest.raises(
            EndpointError, match="not return 2 vectors of one length.*is embed-1 an embedding model"
        ):
            embedder(endpoint).embed(["a", "b"])


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        ({}, ChatReply("")),
        ({"choices": {"message": "x"}}, ChatReply("")),
        ({"choices": [{"message": "x", "finish_reason": ["stop"]}]}, ChatReply("")),
        ({"choices": [{"message": {"content": [{"text": "a"}, {"text": 7}, "b"]}}]}, ChatReply("a")),
        ({"choices": [{"message": {"content": "a\ud800\x00"}}]}, ChatReply("a\ufffd\ufffd")),
        ({"usage": {"prompt_tokens": 12, "completion_tokens": -1}}, ChatReply("", "stop", 12)),
        ({"usage": {"prompt_tokens": 10**30, "completion_tokens": float("nan")}}, ChatReply("")),
        ({"usage": [1], "choices": [{"message": {"tool_calls": [{}]}, "finish_reason": "tool_calls"}]}, ChatReply("", "tool_calls")),
    ],
)  # fmt: skip
def test_what_has_no_meaning_in_an_answer_counts_as_not_there(answer: Any, reply: ChatReply) -> None:
    assert read_reply(answer) == reply


def test_a_loop_of_ones_own_works_too(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(hello) as endpoint:
        model = model_of(endpoint)
        assert ask(model).text == "hi"
        assert asyncio.run(model.complete(request())).text == "hi"


TOO_MANY = "batch size is invalid, it should not be larger than 10.: input.contents"


class Takes:
    """What an endpoint for vectors takes at once: so many texts, characters, and characters of one text."""

    def __init__(
        self, texts: int = 999, characters: int = 10**9, longest: int = 10**9, **refusal: Any
    ) -> None:
        self.texts, self.characters, self.longest = texts, characters, longest
        self.status, self.said = refusal.get("status", 400), refusal.get("said", "")
        self.refused = 0

    def __call__(self, _: int, body: dict[str, Any]) -> Fault | None:
        given = body["input"]
        lengths = list(map(len, given))
        if len(given) <= self.texts and sum(lengths) <= self.characters and max(lengths) <= self.longest:
            return None
        self.refused += 1
        return Fault(self.status, self.said.format(had=max(lengths) // 4, most=self.longest // 4))


@pytest.mark.parametrize(
    ("takes", "largest"),
    [
        (Takes(10, said=TOO_MANY), 8),
        (Takes(32, status=413, said="batch size 64 > maximum allowed batch size 32"), 32),
        (Takes(32, status=422, said="Unprocessable Entity"), 32),
        (Takes(1, said="too many inputs"), 1),
        (Takes(characters=900, said="max 225 tokens per request, you sent too many tokens"), 16),
        (Takes(characters=300, status=413, said="Payload Too Large"), 8),
    ],
)  # fmt: skip
def test_too_large_a_batch_of_texts_is_halved_and_that_is_remembered(takes: Takes, largest: int) -> None:
    texts = [f"text number {n:03} of a few words" for n in range(128)]
    with ScriptedEndpoint(faults=takes) as endpoint:
        made = embedder(endpoint)
        made.connection.concurrency = 1
        vectors = made.embed(texts)
        expected = np.array([endpoint.vector(text) for text in texts])
        refused = takes.refused
        assert 0 < refused <= 64
        embedder(endpoint).embed([f"{text}, again" for text in texts])
    assert takes.refused == refused
    assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert made.capabilities.texts == largest
    assert max(len(one.body["input"]) for one in endpoint.requests if one.status == 200) >= largest


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is {most} tokens, however you requested {had} tokens.",
        "`inputs` must have less than {most} tokens. Given: {had}",
        "the input length exceeds the context length",
    ],
)
def test_a_text_that_is_too_long_alone_is_cut_with_a_count(said: str) -> None:
    heard = Heard()
    texts = ["a word " * 400, "another word " * 300, *(f"short {n}" for n in range(30))]
    takes = Takes(longest=2000, said=said)
    with (
        ScriptedEndpoint(faults=takes) as endpoint,
        listening(heard),
    ):
        made = embedder(endpoint)
        vectors = made.embed(texts)
        assert np.abs(vectors).sum(axis=1).all()
        assert 900 < (made.capabilities.longest or 0) <= 2000
        assert made.capabilities.texts is None
        before = takes.refused
        embedder(endpoint).embed(["yet another word " * 200])
        assert takes.refused == before
    assert ["2 longer texts were cut" in one or "1 longer text was cut" in one for one in heard.lines] == [
        True,
        True,
    ]
    assert "text_units.size" in heard.lines[0]


def test_a_refusal_for_another_reason_is_not_halved() -> None:
    for fault in (Fault(400, "no"), Fault(403, "batch"), Fault(422, "the model embed-1 is for chats")):
        with (
            ScriptedEndpoint(faults=lambda *_, f=fault: f) as endpoint,
            pytest.raises(EndpointError, match=fault.message),
        ):
            embedder(endpoint).embed([f"text {n}" for n in range(8)])
        assert len(endpoint.requests) <= 4


def test_the_form_of_numbers_is_left_out_where_it_is_not_known() -> None:
    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        return (
            Fault(400, "Value 'float' for argument 'encoding_format' is not valid")
            if "encoding_format" in body
            else None
        )

    with ScriptedEndpoint(faults=faults) as endpoint:
        assert embedder(endpoint).embed(["a", "b"]).shape == (2, 16)
        assert embedder(endpoint).embed(["c"]).shape == (1, 16)
    assert len(endpoint.requests) == 3

import base64
import json
import struct
from typing import Any

import openai
import pytest

from support.endpoint import Fault, Scripted, ScriptedEndpoint
from support.faults import SharedFaults, canonical
from support.short_ways import chat, client, ten_words


def test_reasoning_and_cached_tokens_are_reported() -> None:
    reply = Scripted("Hello there", reasoning="Someone wants a greeting.", cached_input_tokens=3)
    with ScriptedEndpoint(lambda _: reply) as endpoint:
        made = chat(endpoint)
    assert made.choices[0].message.reasoning_content == reply.reasoning
    assert made.usage.completion_tokens_details.reasoning_tokens == 6
    assert made.usage.prompt_tokens_details.cached_tokens == 3
    assert made.usage.completion_tokens == 2 + 6


def test_an_answer_takes_longer_the_more_it_says() -> None:
    with ScriptedEndpoint(lambda _: "x" * 400, seconds=0.05, seconds_per_token=0.001) as endpoint:
        chat(endpoint)
        assert endpoint.tally()["latency_sum"] == pytest.approx(0.15)


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_a_limit_is_obeyed(limit: str) -> None:
    with ScriptedEndpoint(ten_words, obey_limit=True) as endpoint:
        choice = chat(endpoint, **{limit: 3}).choices[0]
        assert (choice.message.content, choice.finish_reason) == ("one two thre", "length")
        assert chat(endpoint, **{limit: 100}).choices[0].finish_reason == "stop"
        assert endpoint.requests[0].output_tokens == 3


def test_hidden_reasoning_uses_up_a_limit() -> None:
    reply = Scripted("Hello", reasoning="x" * 80)
    with ScriptedEndpoint(lambda _: reply, obey_limit=True) as endpoint:
        made = chat(endpoint, max_tokens=10)
    assert (made.choices[0].message.content, made.choices[0].finish_reason) == ("", "length")
    assert made.usage.completion_tokens == 10


def test_too_long_a_prompt_is_refused() -> None:
    messages = [{"role": "user", "content": "x" * 404}]
    with ScriptedEndpoint(ten_words, context_tokens=100) as endpoint:
        with pytest.raises(openai.BadRequestError, match="maximum context length is 100 tokens"):
            chat(endpoint, messages=messages)
        chat(endpoint)


def test_too_long_a_prompt_loses_its_beginning() -> None:
    text = " ".join(f"NEEDLE-{number:03d}" for number in range(100))
    ask = [{"role": "system", "content": text}, {"role": "user", "content": "Repeat the code words."}]
    with ScriptedEndpoint(context_tokens=100, overflow="truncate") as endpoint:
        made = chat(endpoint, messages=ask)
    words = made.choices[0].message.content.split()
    assert words == [f"NEEDLE-{number:03d}" for number in range(100 - len(words), 100)]
    assert 25 < len(words) < 40
    assert made.usage.prompt_tokens == 100


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (
            "response_format",
            {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
            "'response_format' of type 'json_schema' is not supported",
        ),
        ("logit_bias", {"1": 100}, "'logit_bias' is not supported"),
        ("temperature", 0.0, "'temperature' does not support 0.0"),
        ("max_tokens", 5, "Use 'max_completion_tokens' instead"),
        ("reasoning_effort", "low", "'reasoning_effort' is not supported"),
        ("stream", True, "'stream' does not support True"),
    ],
)
def test_what_is_not_supported_is_refused(key: str, value: Any, said: str) -> None:
    refused = f"{key}.json_schema" if key == "response_format" else key
    with ScriptedEndpoint(ten_words, unsupported={refused}) as endpoint:
        with pytest.raises(openai.BadRequestError, match=said):
            chat(endpoint, **{key: value})
        chat(endpoint, response_format={"type": "json_object"})
        assert [one.status for one in endpoint.requests] == [400, 200]


def test_models_are_listed_and_others_do_not_exist() -> None:
    with ScriptedEndpoint(ten_words, models=("small", "large"), strict_models=True) as endpoint:
        assert [model.id for model in client(endpoint).models.list()] == ["small", "large"]
        with pytest.raises(openai.NotFoundError, match="The model `huge` does not exist"):
            chat(endpoint, model="huge")
        chat(endpoint, model="large")


@pytest.mark.parametrize(
    ("fault", "content", "reason"),
    [
        (Fault(text="Sorry."), "Sorry.", "stop"),
        (Fault(empty=True), "", "stop"),
        (Fault(cut=True), "one two three four five ", "stop"),
        (Fault(length=True), "one two three four five ", "length"),
        (Fault(runaway=True), "one two three four five six seven eight nine ten", "length"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_good_answer_may_hold_a_bad_reply(fault: Fault, content: str, reason: str, stream: bool) -> None:
    with ScriptedEndpoint(ten_words, faults=[fault]) as endpoint:
        made = chat(endpoint, stream=stream)
        if not stream:
            assert (made.choices[0].message.content, made.choices[0].finish_reason) == (content, reason)
            return
        chunks = list(made)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == content
    assert chunks[-1].choices[0].finish_reason == reason


def test_a_server_may_hang_before_it_hangs_up() -> None:
    with ScriptedEndpoint(ten_words, faults=[Fault(hang=0.2)]) as endpoint:
        with pytest.raises(openai.APIConnectionError):
            chat(endpoint)
        assert not endpoint.requests[0].sent
        assert endpoint.requests[0].status is None


def test_the_share_of_faults_does_not_depend_on_the_order() -> None:
    bodies = [{"model": "m", "messages": [{"role": "user", "content": str(n)}]} for n in range(400)] * 2
    forwards, backwards = (SharedFaults(0.05, 0.1, seed=3) for _ in range(2))

    def found(faults: SharedFaults, order: list[dict[str, Any]]) -> list[tuple[str, str]]:
        return sorted((canonical(body), repr(faults(0, body))) for body in order)

    assert found(forwards, bodies) == found(backwards, bodies[::-1])
    forwards.reset()
    drawn = [fault for number, body in enumerate(bodies) if (fault := forwards(number, body))]
    errors = [fault for fault in drawn if fault.status or fault.drop]
    assert 20 <= len(errors) <= 65
    assert 50 <= len(drawn) - len(errors) <= 115
    assert len({repr(fault) for fault in drawn}) == 10


def test_a_stream_gives_the_reply_in_pieces_and_its_use() -> None:
    reply = Scripted("one two three four\n five six.", reasoning="let me think of numbers")
    with ScriptedEndpoint(lambda _: reply, seconds_per_token=0.02) as endpoint:
        chunks = list(chat(endpoint, stream=True, stream_options={"include_usage": True}))
        assert endpoint.requests[0].answered
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == reply.text
    assert "".join(getattr(delta, "reasoning_content", "") for delta in deltas) == reply.reasoning
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert (chunks[-1].choices, chunks[-1].usage.completion_tokens) == ([], 7 + 5)
    assert len(deltas) > 4


@pytest.mark.parametrize("fault", [Fault(drop=True), Fault(truncated=True)])
@pytest.mark.parametrize("pause", [0.0, 0.002])
def test_a_stream_may_break_in_the_middle(fault: Fault, pause: float) -> None:
    came = []

    def read(endpoint: ScriptedEndpoint) -> None:
        for chunk in chat(endpoint, stream=True):
            came.append(chunk.choices[0].delta.content)

    with ScriptedEndpoint(ten_words, faults=[fault], seconds_per_token=pause) as endpoint:
        with pytest.raises(Exception, match=r"incomplete|Connection error"):
            read(endpoint)
        assert not endpoint.requests[0].sent
    assert came[:2] == ["", "one two three four"]
    assert len(came) <= 3


def test_vectors_come_as_numbers_or_packed() -> None:
    with ScriptedEndpoint(dimension=4) as endpoint:
        plain = client(endpoint).embeddings.create(
            model="m", input=["Port Ellery", "b"], encoding_format="float"
        )
        packed = client(endpoint).embeddings.with_raw_response.create(
            model="m", input=["Port Ellery", "b"], encoding_format="base64"
        )
    assert plain.usage.prompt_tokens == 3
    by_index = {one["index"]: one["embedding"] for one in json.loads(packed.text)["data"]}
    for one in plain.data:
        numbers = struct.unpack("<4f", base64.b64decode(by_index[one.index]))
        assert numbers == pytest.approx(one.embedding, rel=1e-6)

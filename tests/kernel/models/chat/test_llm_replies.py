import asyncio
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from graphrag_dagster.kernel.common.progress import listening
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatReply, ChatRequest, Message, Usage
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order
from graphrag_dagster.kernel.models.chat.reply_parsing import (
    Incomplete,
    NotUsable,
    parse_json,
    read_typed,
    visible_text,
)
from graphrag_dagster.kernel.models.chat.reply_schemas import schema_text
from graphrag_dagster.kernel.models.chat.structured_output import UnusableReply, ask, ask_typed
from graphrag_dagster.kernel.models.endpoint.request_bodies import strict_schema_text
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.systems.graphrag.llm.summarization import ReportShape


class Thing(BaseModel):
    name: str
    size: int


class Listed:
    """A chat model that gives listed replies, and remembers what it was asked and which were accepted."""

    name = "listed"
    concurrency = 4

    def __init__(self, *replies: str | ChatReply | Exception) -> None:
        self.replies = list(replies)
        self.requests: list[ChatRequest] = []
        self.accepted: list[str] = []

    def remember(self, request: ChatRequest, reply: ChatReply) -> None:
        assert request is REQUEST
        self.accepted.append(reply.text)

    async def complete(self, request: ChatRequest, listen: object = None) -> ChatReply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, ChatReply) else ChatReply(reply, "stop", 10, 5)


REQUEST = ChatRequest("thing", (Message("system", "s"), Message("user", "u")), 100, Thing)


def asked(*replies: str | ChatReply | Exception) -> tuple[object, Listed]:
    model = Listed(*replies)
    return asyncio.run(ask_typed(model, REQUEST, Thing, prompts.load("retry"))), model


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("<think>hm { }</think>\nyes", "yes"),
        ("<THINKING>hm</THINKING> yes", "yes"),
        ("hm, let me see</think>yes", "yes"),
        ("<think>never ends", ""),
        ("```json\n{}\n```", "{}"),
        ("yes<|im_end|>", "yes"),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>",
            "yes",
        ),
        ('{"a": "</think>"}', '{"a": "</think>"}'),
    ],
)
def test_what_is_not_the_reply_is_taken_off(reply: str, shown: str) -> None:
    assert visible_text(reply) == shown


@pytest.mark.parametrize(
    ("text", "value", "repaired"),
    [
        ('{"a": 1}', {"a": 1}, False),
        ('Sure! Here it is: {"a": [1]} - as you wished.', {"a": [1]}, False),
        ('Text\n```json\n{"a": 1}\n```\nmore', {"a": 1}, False),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}, True),
        ("{'a': 1,}", {"a": 1}, True),
        ('{"a": "He said "no" to [me"}', {"a": 'He said "no" to [me'}, True),
        ('{"a": [True, None]}', {"a": [True, None]}, True),
        ("{'a': 'http://b.c/#d',\n}", {"a": "http://b.c/#d"}, True),
        ('{"a": "x" "b": "y"}', {"a": "x", "b": "y"}, True),
        ('{"a": 1.50,}', {"a": 1.5}, True),
        ('{"a": [1], "a": [2]}', {"a": [1, 2]}, True),
        ('{"a": 1}}', {"a": 1}, True),
        ('{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}], True),
        ('{"a": "\\ud800x"}', {"a": "\ufffdx"}, False),
        ('{"a": "As it says [Data: Reports (1, 2"}', {"a": "As it says [Data: Reports (1, 2"}, False),
        ('{"a": "```\\n{"}', {"a": "```\n{"}, False),
        ('{"a": 1} # of the last }', {"a": 1}, False),
    ],
)
def test_json_is_found_and_mended(text: str, value: object, repaired: bool) -> None:
    parsed = parse_json(text)
    assert (parsed.value, parsed.repaired) == (value, repaired)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no braces", "no JSON"),
        ('{"findings": [{"summary": "a"}, {"summary": "b', "ends before"),
        ('{"findings": [{"summary": "a"}, ', "ends before"),
        ('{"answer": "a {set} and much mo', "ends before"),
        ('{"findings": [{"summary": "a"}, {"summary": "b"}]', "ends before"),
        ('```json\n{"findings": [{"summary": "a"}\n```', "ends before"),
        ('{"findings": [{"summary": "a"}}', "do not match"),
        ('ry": "a", "findings": [{"summary": "b"}]}', "pieces of JSON"),
        ('{"findings": []}, "title": "a"}', "pieces of JSON"),
        ('{"name": "x", "size": 1}\n{', "pieces of JSON"),
        ('{"name": "x", "name": "y", "size": 1}', "given twice"),
        ('{"name": "x", // of the first\n"size": 1}', "would be lost"),
        ("{'name': 'x}y', 'size': 1}", "pieces of JSON"),
        ("{'name}': 'x', 'size': 1}", "pieces of JSON"),
        ('{"name": "x, "size": "two } three"}', "pieces of JSON"),
        ("{'name': 'it\\'s [one', 'size': 1}", "do not match"),
        ("[" * 70 + "{}" + "]" * 70, "nested deeper than 64"),
        ('{"a":' * 100_000, "ends before"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested deeper than 64"),
        ('{"properties": {"name": {"type": "string"}}, "type": "object"}', "schema itself"),
        ('{"name": "x"}', "size: Field required"),
        ('{"name": "x", "size": "many"}', "size: Input should be a valid integer"),
    ],
)
def test_replies_that_cannot_be_used_say_why(text: str, reason: str) -> None:
    with pytest.raises(NotUsable, match=reason):
        read_typed(text, Thing)


def test_a_good_reply_is_accepted_and_counted() -> None:
    found, model = asked('{"name": "x", "size": 1}')
    assert found.value == Thing(name="x", size=1)
    assert (found.usage.calls, found.usage.input_tokens, found.repaired) == (1, 10, False)
    assert len(model.accepted) == 1


def test_a_bad_reply_is_asked_again_with_the_reason_and_never_accepted() -> None:
    found, model = asked('{"name": "x"}', '{"name": "x"}', '{"name": "x", "size": 1}')
    assert (found.usage.calls, found.reply_usage.calls, len(model.requests)) == (3, 1, 3)
    assert model.requests[1].messages == model.requests[0].messages
    assert model.accepted == ['{"name": "x", "size": 1}']
    roles = [message.role for message in model.requests[2].messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert "size: Field required" in model.requests[2].messages[-1].content


@pytest.mark.parametrize(
    ("bad", "calls"),
    [
        (ChatReply('{"name": "x", "size": 1}', "length"), 4),
        (ChatReply("", "stop"), 4),
        (ChatReply("<think>hm</think>", "stop"), 4),
        (ChatReply('{"$defs": {}, "properties": {}, "type": "object"}'), 4),
        (ChatReply("", "length"), 2),
        (ChatReply("<think>hm, what", "length"), 2),
        (ChatReply("", "content_filter"), 1),
        (ChatReply("No.", "refusal"), 1),
    ],
)
def test_after_the_last_attempt_prompt_reply_and_reason_are_kept(bad: ChatReply, calls: int) -> None:
    model = Listed(*[bad] * calls)
    with pytest.raises(UnusableReply) as raised:
        asyncio.run(ask_typed(model, REQUEST, Thing, prompts.load("retry")))
    assert raised.value.prompt == "u"
    assert raised.value.reply == bad.text
    assert raised.value.reason
    assert raised.value.usage.calls == len(model.requests) == calls
    assert model.accepted == []
    assert all(message.content for message in model.requests[-1].messages)


def test_a_failed_call_is_not_asked_again() -> None:
    with pytest.raises(UnusableReply, match="broke"):
        asked(CallFailed("the connection broke"))


REPORT = json.dumps(
    {
        "title": "The harbour and its trust",
        "summary": 'The trust [Data: Entities (1, 2)] runs the "new" harbour.',
        "rating": 7.5,
        "rating_explanation": "It decides who may land {and when}.",
        "findings": [
            {
                "summary": "It owns the quay",
                "explanation": "Bought in 1998 [Data: Relationships (3, +more)].",
            },
            {
                "summary": "A quarrel",
                "explanation": 'Bo Ray said: "Never!"\n\n- and left [Data: Claims (4)].',
            },
        ],
    },
    indent=1,
)
DRESSED = [
    REPORT,
    f"Here is the report:\n```json\n{REPORT}",
    REPORT.replace("\n ]", ",\n ]"),
    REPORT.replace('"title"', "'title'").replace('"rating"', "rating"),
    REPORT.replace("\\n", "\n"),
]


@pytest.mark.parametrize("reply", DRESSED)
def test_a_report_that_is_cut_anywhere_is_no_report(reply: str) -> None:
    assert len(read_typed(visible_text(reply), ReportShape)[0].findings) == 2
    for end in range(len(reply)):
        with pytest.raises(NotUsable):
            read_typed(visible_text(reply[:end]), ReportShape)
    if "```" not in reply:
        for begin in range(1, len(reply)):
            with pytest.raises(NotUsable):
                read_typed(visible_text(reply[begin:]), ReportShape)


@pytest.mark.parametrize("length", [100_001, 3_000_000])
def test_a_reply_without_an_end_is_refused_and_kept_in_part(length: int) -> None:
    with pytest.raises(
        UnusableReply, match=rf"has {length:,} characters, far more than 2,000 tokens"
    ) as raised:
        asked(*["x" * length] * 4)
    assert len(raised.value.reply) < 100_100


def test_a_reply_that_lacks_something_is_used_where_none_comes_that_does_not() -> None:
    def read(text: str) -> tuple[int, bool]:
        if len(text) < 3:
            raise Incomplete("too short", len(text))
        return len(text), True

    retry = prompts.load("retry")
    for replies, value, lacking, accepted in [
        (["a", "abc"], 3, None, ["abc"]),
        (["a", "ab", CallFailed("broke")], 1, "too short", []),
        (["a", "", "ab", "", ""], 1, "too short", []),
    ]:
        model = Listed(*replies)
        found = asyncio.run(ask(model, REQUEST, read, retry))
        assert (found.value, found.lacking, model.accepted) == (value, lacking, accepted)
        assert found.reply_usage == Usage(1, 10, 5, repaired=int(lacking is None))
        assert found.usage.calls == len(model.requests) > 1


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(NotUsable):
        assert isinstance(parse_json(visible_text(text)).value, dict | list)


async def _slow_square(number: int) -> int:
    await asyncio.sleep(0.001 * (7 - number % 7))
    if number == 99:
        raise ValueError("99")
    return number * number


class Heard:
    def __init__(self) -> None:
        self.steps: list[object] = []

    def start(self, stage: str, total: int | None) -> None:
        self.steps.append(total)

    def advance(self, stage: str, steps: int) -> None:
        self.steps.append(steps)

    def finish(self, stage: str) -> None:
        self.steps.append("end")


def _run(numbers: Sequence[int]) -> list[int]:
    return list(run_in_order(_slow_square, numbers, name="Squaring", total=len(numbers), calls=2))


def test_results_come_in_the_order_asked_with_progress() -> None:
    heard = Heard()
    with listening(heard):
        assert _run(range(20)) == [n * n for n in range(20)]
    assert heard.steps == [20, *[1] * 20, "end"]


def test_it_works_inside_a_running_loop() -> None:
    async def notebook() -> list[int]:
        return _run(range(5))

    assert asyncio.run(notebook()) == [0, 1, 4, 9, 16]


def test_the_first_error_ends_the_run() -> None:
    with pytest.raises(ValueError, match="99"):
        _run([1, 99, 2, 3])


def test_what_is_tolerated_of_a_reply_is_no_part_of_its_schema() -> None:
    """A cached reply is found by the schema; one of 0.1.0 by the schema with its docstrings."""
    hashes = [
        hashlib.sha256(text(ReportShape).encode()).hexdigest()[:16]
        for text in (strict_schema_text, schema_text)
    ]
    assert hashes == ["881012528db028ad", "0345e87c03808372"]
    other = {
        "Title": "T",
        "Executive Summary": "S",
        "impact-severity-rating": "7 of 10",
        "rating_explanation": None,
        "detailed_findings": [{"Summary": "Ships left.", "Explanation": "They came back."}],
        "mood": "good",
    }
    report, repaired = read_typed(json.dumps(other), ReportShape)
    assert (report.summary, report.rating, report.rating_explanation, repaired) == ("S", 7.0, "", False)
    assert report.findings[0].summary == "Ships left."

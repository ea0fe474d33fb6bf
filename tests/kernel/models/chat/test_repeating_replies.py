"""Replies that repeat themselves are ended while they come, and what is whole of them is used."""

import asyncio
import gc
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.repeating_replies import before_repetition, is_repetitive
from graphrag_dagster.kernel.models.endpoint import openai_client
from support.endpoint import Scripted, ScriptedEndpoint

NAMES = ("Selma Dray", "Velm", "Oslin", "Marrow Lane", "Tobin", "Ilka Venn", "Ostrefield")


def record(name: str) -> str:
    return json.dumps({"name": name, "type": "GEO", "description": f"{name} is a place on the river."})


def looping(names: list[str], times: int) -> str:
    """A JSON reply whose list of entities goes round and round, cut off in the middle of a record."""
    rows = [record(name) for name in names * times]
    return '{"entities": [\n' + ",\n".join(rows) + ',\n{"name": "Ve'


@given(st.lists(st.sampled_from(NAMES), min_size=1, unique=True), st.integers(7, 12))
def test_a_looping_reply_is_cut_to_what_is_new(names: list[str], times: int) -> None:
    text = looping(names, times)
    assert is_repetitive(text)
    begun = before_repetition(text)
    assert begun is not None
    assert [one["name"] for one in json.loads(begun)["entities"]] == names


SAME_NAME = [{"name": "Velm", "type": "GEO", "description": f"Velm, seen {n} times"} for n in range(9)]
ROWS = [record(name) for name in NAMES]
TUPLES = [f'("entity"<|>{name}<|>GEO<|>{name} is a place)' for name in NAMES]
GOING_ROUND = [
    (ROWS[:1] * 2, 1),
    ([*ROWS[:4], ROWS[3]], 4),
    (ROWS[:2] * 2, 2),
    ([*ROWS[:5], *ROWS[:2]], 5),
    ([*ROWS[:3], ROWS[2].replace(": ", ":  ")], 3),
]


@pytest.mark.parametrize(("rows", "kept"), GOING_ROUND)
@pytest.mark.parametrize("before", ["", "```json\n", "Here are the entities:\n", "<think>one?</think>\n"])
def test_a_reply_is_cut_at_its_second_equal_row(rows: list[str], kept: int, before: str) -> None:
    text = before + '{"entities": [' + ", ".join(rows)
    assert is_repetitive(text)
    assert not is_repetitive(text.removesuffix(rows[-1]))
    begun = before_repetition(text)
    assert begun is not None
    assert json.loads(begun.removeprefix(before))["entities"] == list(map(json.loads, rows[:kept]))


@pytest.mark.parametrize("between", ["\n##\n", "\n", "##"])
def test_tuples_are_cut_at_their_second_equal_row_however_they_are_parted(between: str) -> None:
    text = between.join([*TUPLES[:3], *TUPLES[1:3]]) + between
    assert is_repetitive(text)
    assert before_repetition(text) == between.join(TUPLES[:3])


@pytest.mark.parametrize(
    "honest",
    [
        json.dumps({"entities": SAME_NAME}),
        # One row that slipped in twice.
        '{"entities": [' + ", ".join([ROWS[0], ROWS[1], ROWS[0], ROWS[2]]),
        # Verdicts without numbers, in the order of their statements.
        json.dumps({"verdicts": [{"reason": "It says so.", "verdict": "yes"}] * 5}),
        "## Findings\n\nNothing was said.\n\n## Risks\n\nNothing was said.\n\n## Costs\n\nNothing was said.",
        "| year | hands | wage |\n|---|---|---|\n" + "| 1923 | 6 | 40 |\n" * 4,
        # A draft in the reasoning is no part of the reply.
        f"<think>Perhaps {ROWS[0]} and {ROWS[1]}.</think>" + '{"entities": [' + ", ".join(ROWS),
        "\n".join(TUPLES),
    ],
)
def test_an_honest_reply_is_never_cut_wherever_it_has_come_to(honest: str) -> None:
    assert not any(is_repetitive(honest[:end]) for end in range(len(honest) + 1))


@given(st.lists(st.text(), min_size=1, max_size=40, unique=True))
def test_records_that_are_all_new_are_not_repetitive(names: list[str]) -> None:
    rows = [{"name": name, "about": f"{name} {number * 7919:x}"} for number, name in enumerate(names)]
    assert before_repetition(json.dumps({"entities": rows})) is None


def test_a_rule_of_dashes_and_a_few_equal_lines_are_no_repetition() -> None:
    assert not is_repetitive("| a | b |\n|" + "-" * 200)
    assert not is_repetitive("The table is empty.\n" + "| – | – | – |\n" * 20)
    assert is_repetitive("The table is empty.\n" + "| – | – | – |\n" * 30)


def test_a_loop_inside_a_record_leaves_the_records_before_it() -> None:
    text = (
        f'{{"entities": [{record("Velm")}, {{"name": "Oslin", "description": "'
        + "a barge on the river, " * 90
    )
    assert json.loads(before_repetition(text) or "")["entities"] == [json.loads(record("Velm"))]


def test_delimited_tuples_are_cut_between_records() -> None:
    rows = [f'("entity"<|>{name}<|>GEO<|>{name} is a place.)' for name in NAMES]
    text = "\n##\n".join(rows * 4) + '\n##\n("entity"<|>Ve'
    assert before_repetition(text) == "\n##\n".join(rows)


def test_a_loop_without_a_whole_record_has_nothing_to_use() -> None:
    assert before_repetition("and so on and on and over the river and so on, " * 100) is None


@pytest.fixture
def request_() -> ChatRequest:
    return ChatRequest("extract_graph", (Message("user", "Who is there?" * 30),), 4000)


def test_a_stream_that_repeats_itself_is_ended_and_counted(
    model_of: Callable[..., Any], request_: ChatRequest
) -> None:
    whole = looping(list(NAMES), 60)
    with ScriptedEndpoint(lambda _: Scripted(whole, output_tokens=9000)) as endpoint:
        reply: ChatReply = asyncio.run(model_of(endpoint).complete(request_))
    assert reply.finish_reason == "repetition"
    assert whole.startswith(reply.text)
    assert len(reply.text) < len(whole) / 2
    assert 0 < reply.output_tokens < len(reply.text)
    assert reply.input_tokens > 50


def test_nothing_of_an_ended_stream_is_left_to_the_garbage_collector(
    model_of: Callable[..., Any], request_: ChatRequest
) -> None:
    left: list[Any] = []

    async def ask(model: Any) -> ChatReply:
        begun, _ = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=begun, finalizer=left.append)
        reply: ChatReply = await model.complete(request_)
        gc.collect()
        return reply

    with ScriptedEndpoint(lambda _: Scripted(looping(list(NAMES), 60))) as endpoint:
        reply = asyncio.run(ask(model_of(endpoint)))
    assert (reply.finish_reason, left) == ("repetition", [])


def test_a_long_reply_that_goes_on_is_read_to_its_end(
    model_of: Callable[..., Any], request_: ChatRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    monkeypatch.setattr(
        openai_client,
        "is_repetitive",
        lambda text, *since: looked.append(len(text)) or is_repetitive(text, *since),
    )
    rows = ",".join(record(f"{name} the {number}th") for number in range(300) for name in NAMES)
    whole = f'{{"entities": [{rows}]}}'
    with ScriptedEndpoint(lambda _: Scripted(whole)) as endpoint:
        reply: ChatReply = asyncio.run(model_of(endpoint).complete(request_))
    assert (reply.text, reply.finish_reason) == (whole, "stop")
    # A text that is read anew every 500 characters takes the square of its length.
    assert len(whole) > 150_000
    assert sum(looked) < 15 * len(whole)


def claim(number: int) -> dict[str, Any]:
    return {"subject": "Velm", "object": None, "type": "FLOOD", "description": f"Velm was flooded, {number}."}


@pytest.mark.parametrize(
    "reply",
    [
        {
            "claims": [
                claim(n) for number in range(40) for n in ((number, number) if number % 9 else (number,))
            ]
        },
        {
            "statements": ["Velm was flooded.", "Oslin was not."] * 3
            + [f"{n} barges sank." for n in range(90)]
        },
        {"verdicts": [{"id": n, "reason": "It says so.", "verdict": "yes"} for n in range(1, 60)]},
        {"ratings": [{"id": n, "rating": 0} for n in range(1, 200)]},
    ],
)
def test_what_recurs_among_what_is_new_ends_no_reply(
    model_of: Callable[..., Any], request_: ChatRequest, reply: dict[str, Any]
) -> None:
    whole = json.dumps(reply)
    with ScriptedEndpoint(lambda _: Scripted(whole)) as endpoint:
        came: ChatReply = asyncio.run(model_of(endpoint).complete(request_))
    assert (came.text, came.finish_reason) == (whole, "stop")

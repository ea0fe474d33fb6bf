"""Reasoning that servers leave in the text of a reply, whole and as it comes."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.models.chat import structured_output as asking
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest, Listener, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.hidden_reasoning import ShownReply, split
from graphrag_dagster.kernel.models.chat.reply_parsing import visible_text
from graphrag_dagster.kernel.models.chat.structured_output import UnusableReply, ask
from graphrag_dagster.kernel.text import prompts
from support.endpoint import Scripted, ScriptedEndpoint

LONG = "The trust owns the quay <b>and</b> the mill, as the minutes of 1998 say [Data: Reports (1, 2)]."
HIDDEN = [
    ("hm, let me see</think>yes", "yes"),
    ('I should output {"name": ...} (see [1])\n</think>\n\n{"name": "x"}', '{"name": "x"}'),
    ('{"a": 1} would be wrong.\n</think>\n{"a": 2}', '{"a": 2}'),
    ("Let (a) be [b]; {c} `d`.\n</think>\n\nyes", "yes"),
    ("so it is 42. </think> The answer is 42.", "The answer is 42."),
    ("6 times 7 is\n42</think>\n42", "42"),
    ("嗯，用户问的是码头。\n</think>\n\n码头", "码头"),
    ("first</think>\nsecond</think>\nyes", "yes"),
    ("<think>\n\n</think>\n\nyes", "yes"),
    ("<think>one</think>\n<think>two</think>\nyes", "yes"),
    ("<think>\nThe user asks about `</think>` here.\n</think>\nIt ends.", "It ends."),
    ("<thinking>hm</thinking>yes", "yes"),
    ("<thought>hm</thought>yes", "yes"),
    ("<reason>hm</reason>yes", "yes"),
    ("<reasoning effort='high'>hm</reasoning>yes", "yes"),
    ("<seed:think>hm</seed:think>yes", "yes"),
    ("[THINK]hm [x](y)[/THINK]yes", "yes"),
    ("hm[/THINK]yes", "yes"),
    ("◁think▷hm◁/think▷yes", "yes"),
    ("hm◁/think▷yes", "yes"),
    ("<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>yes<|END_RESPONSE|>", "yes"),
    ("<|begin_of_thought|>hm<|end_of_thought|>\n<|begin_of_solution|>yes<|end_of_solution|>", "yes"),
    ("<|inner_prefix|>hm<|inner_suffix|>yes", "yes"),
    ("<unused94>thought\nhm<unused95>yes", "yes"),
    ("<|channel>thought\nhm\n<channel|>yes<turn|>", "yes"),
    (
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>",
        "yes",
    ),
    ("hm<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>", "yes"),
    ('<|channel|>final <|constrain|>json<|message|>{"a": 1}', '{"a": 1}'),
    ("<|start|>assistant<|channel|>commentary<|message|>hm<|end|>", ""),
    ("<|channel|>analysis<|message|>hm", ""),
    ("<think>never ends", ""),
    ("[THINK]never ends", ""),
    ("<unused94>thought never ends", ""),
]
SHOWN = [
    "the tag </think> is not at its beginning: {",
    "A closing `</think>` ends it.",
    "It ends with </think>.\nThen comes the answer.",
    "The <think>...</think> block is dropped.",
    "Use <think> and </think> to mark it.",
    "- </think>: closes the reasoning\n- [/THINK]: that of others",
    'She wrote "</think>" at the end.',
    "Some say xxx<think>xxx</think>xxx.",
    "So:\n```\nfoo\n</think>\n```\nThat is all.",
    "Format:\n<think>\nreasoning\n</think>\nanswer",
    '{"a": "</think>"}',
    '{"a": "the </think> tag", "b": [1]}',
    '{"a": "a line\\n</think>\\n"}',
    '{"a": "cut after </think>',
    'Here it is: {"a": "x</think>y"}.',
    '{"description": "harmony: <|end|><|start|>assistant<|channel|>final<|message|>"}',
    "Analysis of the trade shows a rise.",
    "analysis of trade shows a rise",
    "The assistant finally came.",
    "[THINK of it] as a list",
    "<reasons>are many</reasons>",
]


@pytest.mark.parametrize(("reply", "shown"), HIDDEN)
def test_reasoning_is_taken_off(reply: str, shown: str) -> None:
    assert visible_text(reply) == shown
    assert split(reply).hidden or "final" in reply


@pytest.mark.parametrize("reply", SHOWN)
def test_a_reply_that_speaks_of_a_mark_keeps_it(reply: str) -> None:
    assert visible_text(reply) == reply
    assert not split(reply).hidden


def heard(reply: str, size: int, *, reasons: bool = False) -> tuple[str, str]:
    """What is passed on of a reply in pieces, before its end and in all."""
    passed: list[str] = []
    shown = ShownReply(passed.append, reasons=reasons)
    for start in range(0, len(reply), size):
        shown(reply[start : start + size])
    early = "".join(passed)
    shown.end(visible_text(reply))
    return early, "".join(passed)


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(("reply", "shown"), HIDDEN)
def test_reasoning_does_not_flash_by(reply: str, shown: str, size: int) -> None:
    if not shown:
        assert heard(reply, size) == ("", "")
        return
    told = visible_text(reply.replace(shown, LONG)) == LONG
    if told and len(shown) > 2:
        assert heard(reply.replace(shown, LONG), size, reasons=True)[1].strip() == LONG
    assert heard(reply, size, reasons=True)[1] == shown


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    "before",
    [
        "<think>" + "hm, so what. " * 30 + "</think>\n\n",
        "[THINK]" + "x [y] " * 30 + "[/THINK]",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|START_THINKING|>" + "hm " * 30 + "<|END_THINKING|><|START_RESPONSE|>",
        "",
    ],
)
def test_an_answer_is_heard_as_soon_as_the_reasoning_is_over(before: str, size: int) -> None:
    early, all_of_it = heard(f"{before}{LONG} {LONG} {LONG}<|return|>", size)
    assert early.startswith(LONG)
    assert all_of_it == f"{LONG} {LONG} {LONG}"


def test_a_model_that_was_seen_to_reason_unmarked_is_held_back() -> None:
    reply = f"Quays are long things. So be it, {'and so on, ' * 9}\n</think>\n\n{LONG}"
    assert not heard(reply, 4)[0].startswith(LONG)
    assert heard(reply, 4, reasons=True) == (LONG, LONG)


@pytest.mark.parametrize(
    "begin",
    [
        "So, ",
        "Now, ",
        "Well, ",
        "Right, ",
        "We have ",
        "The question of ",
        "The user manual ",
        "Analysis of ",
        "First, ",
        "首先，",
    ],
)
def test_an_answer_may_begin_as_one_speaks(begin: str) -> None:
    reply = f"{begin}{LONG} {LONG}"
    assert heard(reply, 4)[0].startswith(reply[:40])


@given(st.text(max_size=200), st.integers(1, 9))
def test_of_any_text_no_more_is_heard_than_there_is(text: str, size: int) -> None:
    assert len(heard(text, size)[1]) <= 2 * len(text)
    assert split(text).shown in text


@pytest.mark.parametrize(
    "piece",
    [
        "</think>\n",
        "a<think>b</think>",
        "x </think> y ",
        "[{",
        '"</think>',
        "<think>",
        "assistantfinal.",
        " ",
    ],
)
def test_marks_without_number_take_no_time(piece: str) -> None:
    begun = time.process_time()
    visible_text(piece * (100_000 // len(piece)))
    assert time.process_time() - begun < 5


def test_an_answer_is_shown_without_its_reasoning(model_of: Callable[..., Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(asking, "_reason_unmarked", set())
    thought = f"Quays, quays. {'Hm. ' * 20}\n</think>\n\n{LONG}"
    request = ChatRequest("global_reduce", (Message("user", "Who owns the quay?"),), 500)
    with ScriptedEndpoint(lambda _: thought) as endpoint:
        model = model_of(endpoint)
        for _ in range(2):
            passed: list[str] = []
            asked = run_one(
                ask(model, request, lambda text: (text, False), prompts.load("retry"), listen=passed.append)
            )
            assert asked.text == LONG
    assert "".join(passed) == LONG


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Scripted("", "length", output_tokens=500, reasoning="hm " * 700), "hidden reasoning used up"),
        (Scripted("<think>hm, what", "length"), "hidden reasoning used up"),
        (Scripted("", "length"), "hidden reasoning used up"),
        (Scripted("", "length", output_tokens=3), "leaves no room"),
    ],
)
def test_a_blank_reply_that_was_cut_off_tells_why_and_the_setting(
    model_of: Callable[..., Any], reply: Scripted, said: str
) -> None:
    request = ChatRequest("global_reduce", (Message("user", "Who?"),), 500)
    with ScriptedEndpoint(lambda _: reply) as endpoint, pytest.raises(UnusableReply, match=said) as lost:
        run_one(ask(model_of(endpoint), request, lambda text: (text, False), prompts.load("retry")))
    mend = "model.max_output_tokens" if "reasoning" in said else "larger"
    assert mend in lost.value.reason
    assert "briefer" not in lost.value.reason


class Once:
    """A chat model with one reply."""

    name, concurrency = "once", 1

    def __init__(self, reply: ChatReply) -> None:
        self._reply = reply

    async def complete(self, request: ChatRequest, listen: Listener | None = None) -> ChatReply:
        assert request.max_tokens >= 0
        if listen:
            listen(self._reply.text)
        return self._reply

    def remember(self, request: ChatRequest, reply: ChatReply) -> None:
        assert (request.again, reply.text) == (0, self._reply.text)


def test_a_remembered_reply_is_shown_without_its_reasoning_too() -> None:
    passed: list[str] = []
    request = ChatRequest("global_reduce", (Message("user", "Who?"),), 500)
    model = Once(ChatReply(f"<think>hm</think>{LONG}"))
    read: Callable[[str], tuple[str, bool]] = lambda text: (text, False)  # noqa: E731
    asyncio.run(ask(model, request, read, prompts.load("retry"), listen=passed.append))
    assert "".join(passed) == LONG

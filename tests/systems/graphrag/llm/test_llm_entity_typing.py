"""Names put to a model to be typed: what it is shown, how replies are read, what becomes of broken ones."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.tasks.name_judging_ports import Typing, Untyped
from graphrag_dagster.kernel.tasks.task_ports import TextUnit
from graphrag_dagster.systems.graphrag.llm.entity_typing import (
    MOST_CHARACTERS,
    MOST_NAMES,
    LlmEntityTyper,
    names_per_call,
)
from support.conversations import section
from support.endpoint import Fault, ScriptedEndpoint
from support.scripted_typing import names_in, typing_reply

LABELS = ("drug", "disease", "immune response")
TRIAL = Untyped(TextUnit("u1", "Remdesivir was given\nfor covid."), ("Remdesivir", "covid"))
ARREST = Untyped(TextUnit("u2", "1. Nobody knows the cytokine storm."), ("cytokine storm",))


def typer(model: Any = None, labels: Sequence[str] = LABELS) -> LlmEntityTyper:
    return LlmEntityTyper(model, labels=labels)


def results(*given: Any) -> str:
    return json.dumps({"results": [{"id": n, "label": one} for n, one in enumerate(given, start=1)]})


def said(told: list[tuple[Typing, ...]]) -> list[str | None]:
    return ["problem" if one.problem else one.label for typings in told for one in typings]


def test_names_are_shown_under_their_texts_in_one_call(model_of: Callable[..., Any]) -> None:
    says = {"Remdesivir": "Drug", "covid": "disease", "cytokine storm": "other"}
    with ScriptedEndpoint(lambda body: typing_reply(body, says.__getitem__) or "") as endpoint:
        found = typer(model_of(endpoint)).type_entities([TRIAL, ARREST])
    assert found == [(Typing("drug"), Typing("disease")), (Typing(None),)]
    [chat] = endpoint.chats
    shown = chat.body["messages"][1]["content"]
    assert (section(shown, "entity_types") or "").splitlines() == list(LABELS)
    assert (section(shown, "material") or "").splitlines() == [
        "Text: Remdesivir was given for covid.",
        "1. Remdesivir",
        "2. covid",
        "Text: 1. Nobody knows the cytokine storm.",
        "3. cytokine storm",
    ]
    assert chat.body["temperature"] == 0


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (results("drug", " Disease. ", "IMMUNE RESPONSE"), ["drug", "disease", "immune response"]),
        ("Sure:\n```json\n" + results("drug", "other", "unknown") + "\n```", ["drug", None, None]),
        ('{"results": ["drug", "city", "disease"]}', ["drug", None, "disease"]),
        (
            "[{'id': 1, 'label': 'drug'}, {'id': 2, 'label': 5}, {'id': 3, 'label': null}]",
            ["drug", None, None],
        ),
    ],
)
def test_a_label_of_the_list_is_taken_and_any_other_is_none(
    model_of: Callable[..., Any], reply: str, expected: list[str | None]
) -> None:
    with ScriptedEndpoint(lambda _: reply) as endpoint:
        found = typer(model_of(endpoint)).type_entities([TRIAL, ARREST])
    assert said(found) == expected
    assert len(endpoint.chats) == 1


def test_what_a_reply_leaves_out_is_asked_again_and_then_left_to_rules(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(lambda _: results("drug")) as endpoint:
        [(first, second), (third,)] = typer(model_of(endpoint)).type_entities([TRIAL, ARREST])
    assert first == Typing("drug")
    assert "number 2, 3 of 3" in (second.problem or "")
    assert third.label is None
    assert len(endpoint.chats) > 1


def test_a_batch_without_a_usable_reply_is_asked_in_halves_and_says_why(model_of: Callable[..., Any]) -> None:
    many = Untyped(TextUnit("u3", "Ten names."), tuple(f"name {n}" for n in range(10)))

    def reply(body: dict[str, Any]) -> str:
        names = names_in(body) or []
        return typing_reply(body) or "" if names == [*many.names[:5]] else "I would rather write a poem."

    with ScriptedEndpoint(reply) as endpoint:
        found = typer(model_of(endpoint)).type_entities([many])
    assert said(found) == ["drug"] * 5 + ["problem"] * 5


def test_an_endpoint_that_is_not_there_ends_the_run(model_of: Callable[..., Any]) -> None:
    with (
        ScriptedEndpoint(faults=lambda *_: Fault(status=401)) as endpoint,
        pytest.raises(EndpointError),
    ):
        typer(model_of(endpoint)).type_entities([TRIAL])


ASKED = st.lists(
    st.builds(
        lambda text, names: Untyped(TextUnit(text, text), tuple(names)),
        st.text("abc 1.\n", min_size=1, max_size=40),
        st.lists(st.text("xyz\n.1", min_size=1, max_size=9), min_size=1, max_size=40, unique=True),
    ),
    max_size=30,
)


@given(ASKED)
def test_every_name_is_asked_about_once_in_calls_that_are_not_too_big(asked: list[Untyped]) -> None:
    made = typer().requests(asked)
    shown = [section(one.messages[1].content, "material") or "" for one in made]
    numbers = [line.partition(".")[0] for one in shown for line in one.splitlines() if line[0] != "T"]
    assert len(numbers) == sum(len(one.names) for one in asked)
    assert all(len(one.splitlines()) <= 2 * MOST_NAMES for one in shown)


def test_one_unit_more_changes_few_requests() -> None:
    units = [
        Untyped(TextUnit(f"u{n}", f"Text of {n}."), tuple(f"name {n} {k}" for k in range(4)))
        for n in range(200)
    ]
    before, after = typer().requests(units[1:]), typer().requests(units)
    assert len(before) > 20
    assert len(set(after) - set(before)) <= 5


def test_long_texts_share_no_call() -> None:
    long = Untyped(TextUnit("u", "long " * (MOST_CHARACTERS // 5)), ("a", "b"))
    assert len(typer().requests([long, TRIAL, ARREST])) == 2
    assert 0 < names_per_call() < MOST_CHARACTERS

"""Answers from what a model knows: two calls, no document, and nothing that passes for one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from graphrag_dagster import Filters, Index
from graphrag_dagster.cli.commands.ask_commands import answer_parts, answer_tree
from graphrag_dagster.cli.console import OUT
from graphrag_dagster.cli.result import say
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.answer import OWN_CONTEXT, OWN_KNOWLEDGE, Answer
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.mcp_server import CitedAnswer
from graphrag_dagster.service.openai.chat_messages import headed, listed_sources, without_sources
from graphrag_dagster.service.settings import ServiceSettings
from support.conversations import asked_of, section
from support.endpoint import ScriptedEndpoint, name_pattern_script
from support.homes import copy_home, enter_home
from support.modelled import write_modelled
from support.scripted_references import KNOWN

QUESTION = "Who kept the lamps of lighthouses?"


class Knowing:
    """Replies as it is told to the two calls, else as scripted."""

    def __init__(self) -> None:
        self.told: dict[str, list[str]] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, body: dict[str, Any]) -> Any:
        task = asked_of(body).task
        if body["messages"][0]["content"].startswith("You answer a question from context"):
            task = "answer"
        self.asked.append((task, body))
        return self.told[task].pop(0) if self.told.get(task) else name_pattern_script(body)

    def of(self, task: str) -> list[dict[str, Any]]:
        return [body for one, body in self.asked if one == task]


@pytest.fixture
def knowing() -> Knowing:
    return Knowing()


@pytest.fixture
def ask(modelled_home: Path, home: Path, knowing: Knowing) -> Iterator[Callable[..., Answer]]:
    copy_home(modelled_home, home)
    with ScriptedEndpoint(knowing) as endpoint:
        write_modelled(home / "corpora", endpoint)
        index = Index.open("coast")
        yield lambda question=QUESTION, **more: index.ask(question, method="own-context", **more)


def test_the_answer_is_from_the_context_that_the_model_wrote_and_from_nothing_else(
    ask: Callable[..., Answer], knowing: Knowing
) -> None:
    answer = ask()
    (written,), (answered,) = knowing.of("own_context"), knowing.of("answer")
    assert section(written["messages"][1]["content"], "question") == QUESTION
    material = section(answered["messages"][1]["content"], "material") or ""
    assert material.count(KNOWN) == 1
    assert "Brinefield" not in material
    assert (answer.method, answer.refused, answer.usage.calls, answer.calls) == ("own-context", False, 2, 2)
    assert "[" not in answer.text
    assert answer.text == "It speaks of Sources, Lighthouses, Keepers."
    (source,), (used,) = answer.sources, answer.context
    assert source.kind == used.kind == OWN_CONTEXT
    assert "not from documents" in source.title
    assert source.evidence is not None
    assert source.evidence.kind == "written"
    assert used.text == KNOWN
    assert used.used
    assert [one.verdict for one in answer.statements] == ["not"]
    assert all(not one.sources and "no document" in one.reason for one in answer.statements)


def test_both_calls_are_remembered(ask: Callable[..., Answer], knowing: Knowing) -> None:
    first, again = ask(), ask()
    assert len(knowing.of("own_context")) == len(knowing.of("answer")) == 1
    assert (first.text, first.usage) == (again.text, again.usage)


def test_every_medium_says_that_it_is_no_document(
    ask: Callable[..., Answer], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ask()
    monkeypatch.setattr(OUT, "_width", 300)
    for part in answer_parts(answer):
        say(part)
    shown = capsys.readouterr().out
    assert shown.lstrip().startswith(OWN_KNOWLEDGE)
    assert "[1] written by the model" in shown
    assert f"{KNOWN} (from what it knows, not from documents)" in shown
    OUT.print(answer_tree(answer))
    assert KNOWN in capsys.readouterr().out
    chat = headed(answer) + listed_sources(answer)
    assert chat.startswith(OWN_KNOWLEDGE)
    assert "[1] written by the model: " in chat
    assert without_sources(chat) == answer.text
    cited = CitedAnswer.model_validate(answer).model_dump(mode="json")
    assert cited["sources"][0]["kind"] == "own_context"
    assert cited["sources"][0]["evidence"] == {"kind": "written", "text": KNOWN}
    assert json.loads(json.dumps(answer.to_dict()))["context"][0]["text"] == KNOWN


def test_it_is_asked_over_http(ask: Callable[..., Answer]) -> None:
    answer = ask()
    with TestClient(make_app(ServiceSettings(), None), base_url="http://localhost:8000") as client:
        body = {"question": QUESTION, "method": "own-context"}
        told = client.post("/corpora/coast/ask", json=body).raise_for_status().json()
    assert told["text"] == answer.text
    assert told["sources"][0]["evidence"] == {"kind": "written", "text": KNOWN}
    assert told["context"][0] == {**told["context"][0], "kind": "own_context", "text": KNOWN, "used": True}


def test_marks_and_invented_sources_are_taken_out(ask: Callable[..., Answer], knowing: Knowing) -> None:
    knowing.told = {
        "own_context": ["Ada Marlow kept one [Data: Sources (4)]."],
        "answer": ["Ada Marlow did [Data: Sources (1)]. So says a book [Data: Reports (7)]."],
    }
    answer = ask()
    assert answer.context[0].text == "Ada Marlow kept one."
    assert answer.text == "Ada Marlow did. So says a book."
    assert answer.removed_citations == 1


def test_the_conversation_is_told(ask: Callable[..., Answer], knowing: Knowing) -> None:
    ask("And by day?", history=[(QUESTION, "Keepers did.")])
    for body in (*knowing.of("own_context"), *knowing.of("answer")):
        assert f"Question: {QUESTION}\nAnswer: Keepers did." in body["messages"][1]["content"]


@pytest.mark.parametrize("reply", ["NOTHING", "**NOTHING.**"])
def test_who_knows_nothing_is_not_asked_for_an_answer(
    ask: Callable[..., Answer], knowing: Knowing, reply: str
) -> None:
    knowing.told = {"own_context": [reply]}
    answer = ask()
    assert answer.refused
    assert not answer.problems
    assert (answer.sources, answer.context, answer.heading) == ((), (), "")
    assert not knowing.of("answer")


def test_a_context_that_does_not_hold_the_answer_leads_to_a_refusal(
    ask: Callable[..., Answer], knowing: Knowing
) -> None:
    knowing.told = {"answer": ["NOTHING"]}
    answer = ask()
    assert answer.refused
    assert answer.statements == ()
    assert not answer.context[0].used


def test_replies_of_no_use_are_asked_for_again_and_then_told(
    ask: Callable[..., Answer], knowing: Knowing
) -> None:
    knowing.told = {"own_context": ["...", "Keepers trimmed lamps."]}
    assert ask().context[0].text == "Keepers trimmed lamps."
    knowing.told = {"own_context": ["..."] * 4}
    answer = ask("Who trimmed the lamps?")
    assert answer.refused
    assert answer.problems == ("the reply holds no words",)
    assert answer.usage.calls == 4


def test_no_filter_can_hold_for_it(ask: Callable[..., Answer], knowing: Knowing) -> None:
    with pytest.raises(QuestionError, match="own-context reads no documents and knows no filter"):
        ask(filters=Filters(folders=("news",)))
    assert not knowing.asked


def test_without_a_model_it_is_refused_at_once(indexed_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter_home(monkeypatch, indexed_home)
    index = Index.open("coast")
    with pytest.raises(QuestionError, match="own-context needs a model, .* set search.engine: llm"):
        index.ask(QUESTION, method="own-context")
    assert not index._session().account.finish().calls

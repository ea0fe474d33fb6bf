"""``auto`` with a model that chooses: what it is asked, what becomes of its choice, and of nonsense."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster import Filters, Index
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.questions.context.answer import Answer
from support.conversations import section
from support.endpoint import ScriptedEndpoint, name_pattern_script
from support.homes import copy_home
from support.modelled import write_modelled

#: Rules would take the other method for each.
WHOLE, PARTICULAR = "Who led the Dockers Union?", "What are the main themes?"
CHOOSING = "You choose how to answer a question"


class Chooser:
    """Chooses as it is told, one reply after the other."""

    def __init__(self) -> None:
        self.replies: list[str] = []
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Any:
        if not body["messages"][0]["content"].startswith(CHOOSING):
            return name_pattern_script(body)
        self.bodies.append(body)
        return self.replies.pop(0)

    def will(self, method: str, reason: str = "So I was told.") -> None:
        self.replies.append(json.dumps({"reason": reason, "method": method}))


@pytest.fixture
def chooser() -> Chooser:
    return Chooser()


@pytest.fixture
def endpoint(chooser: Chooser) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(chooser) as server:
        yield server


@pytest.fixture
def opened(modelled_home: Path, home: Path, endpoint: ScriptedEndpoint) -> Callable[[str], Index]:
    """Opens the corpus that a model indexed, with more of the section search and of the section model."""
    copy_home(modelled_home, home)

    def opened(search: str = "", more: str = "") -> Index:
        settings = (
            f"  tasks: {{route: {{name: small-and-cheap}}}}\nsearch: {{routing: model{search}}}\n{more}"
        )
        write_modelled(home / "corpora", endpoint, settings)
        return Index.open("coast")

    return opened


def routed(answer: Answer) -> tuple[str, bool]:
    first, *_ = answer.steps
    assert first.task == "route"
    return first.about, first.used


@pytest.mark.parametrize(("question", "method"), [(WHOLE, "global"), (PARTICULAR, "local")])
def test_the_way_is_the_models_and_its_reason_is_told(
    opened: Callable[[str], Index], chooser: Chooser, question: str, method: str
) -> None:
    chooser.will(f" {method.upper()} ")
    answer = opened("").ask(question)
    assert answer.method == {"global": "C1"}.get(method, method)
    assert answer.why
    assert answer.why.startswith(f"{method}: So I was told (chosen by a model)")
    assert routed(answer) == (method, True)
    assert answer.usage.calls == answer.calls
    (body,) = chooser.bodies
    assert body["model"] == "small-and-cheap"
    system, user = (one["content"] for one in body["messages"])
    assert '- "local": ' in system
    assert '- "global": ' in system
    assert '- "sql": ' not in system
    assert section(user, "question") == question


def test_the_names_that_the_graph_knows_are_shown(opened: Callable[[str], Index], chooser: Chooser) -> None:
    chooser.will("local")
    answer = opened("").ask("What became of Hanna Quill?")
    names = answer.section("Names in the question")
    assert names
    place = names.columns.index("taken for")
    named = {names.rows[one.row][place] for one in names.links if one.column == place}
    assert (
        set((section(chooser.bodies[0]["messages"][1]["content"], "entity_names") or "").splitlines())
        == named
    )


def test_the_choice_is_remembered_and_in_the_account(
    opened: Callable[[str], Index], chooser: Chooser
) -> None:
    chooser.will("global")
    index = opened("")
    first, again = index.ask(WHOLE), index.ask(WHOLE)
    assert len(chooser.bodies) == 1
    assert (first.text, first.usage) == (again.text, again.usage)
    booked = LLMCache().usage_log().table("coast").filter(pl.col("task") == "route")
    assert (booked["calls"].sum(), booked["cached"].sum()) == (1, 1)
    assert set(booked["model"]) == {"small-and-cheap"}


def test_a_reply_of_no_use_is_asked_for_again(opened: Callable[[str], Index], chooser: Chooser) -> None:
    chooser.replies.append("Certainly! I would go global.")
    chooser.will("everywhere")
    chooser.will("everywhere")
    chooser.will("global")
    answer = opened("").ask(WHOLE)
    assert (answer.method, answer.problems) == ("C1", ())
    assert len(chooser.bodies) == 4
    assert "there are local, global" in chooser.bodies[2]["messages"][-1]["content"]


@pytest.mark.parametrize(
    "nonsense",
    [
        "I cannot choose.",
        "",
        '{"reason": "", "method": "global"}',
        '{"reason": "It counts.", "method": "sql"}',
        '{"reason": "It asks for the one person who built a certain mill.", "method": "global"}',
        '{"method": ["global"], "reason": 7}',
        "[1, 2]",
        '{"reason": "' + "so " * 20_000,
    ],
)
def test_where_all_replies_are_nonsense_the_rules_choose_and_the_answer_says_so(
    opened: Callable[[str], Index], chooser: Chooser, nonsense: str
) -> None:
    chooser.replies = [nonsense] * 20
    answer = opened("").ask(WHOLE)
    assert answer.method == "local"
    assert answer.why
    assert answer.why.startswith("the model gave no usable reply, so rules chose; local: ")
    assert routed(answer) == ("no method", False)
    assert answer.problems[0].startswith("route: ")
    assert answer.usage.calls > 1


def test_a_damaged_reply_is_mended(opened: Callable[[str], Index], chooser: Chooser) -> None:
    chooser.replies.append("```json\n{'Route': 'global', 'why': 'All of it',}\n```")
    answer = opened("").ask(WHOLE)
    assert answer.method == "C1"
    assert answer.usage.repaired == 1


def test_what_a_model_chose_and_finds_nothing_is_tried_otherwise(
    opened: Callable[[str], Index], chooser: Chooser
) -> None:
    chooser.will("sql")
    chooser.replies += ['{"reading": "", "sql": ""}']
    answer = opened(", sql: model").ask("Where did Hanna Quill speak?")
    assert routed(answer) == ("sql", True)
    assert "it found nothing, so local was tried" in (answer.why or "")


@pytest.mark.parametrize(
    ("question", "more"),
    [
        ("How many documents are there?", {}),
        (PARTICULAR, {"history": [("Who led the Dockers Union?", "Hanna Quill.")]}),
    ],
)
def test_where_rules_leave_nothing_open_no_model_is_asked(
    opened: Callable[[str], Index], chooser: Chooser, question: str, more: dict[str, Any]
) -> None:
    answer = opened("").ask(question, **more)
    assert chooser.bodies == []
    assert "chosen by a model" not in (answer.why or "")


def test_an_engine_without_a_model_leaves_it_to_the_rules_and_says_so(
    opened: Callable[..., Index], chooser: Chooser
) -> None:
    answer = opened(", engine: extractive").ask(WHOLE)
    assert answer.method == "local"
    assert (answer.why or "").startswith("the engine uses no model, so rules chose; local: ")
    assert chooser.bodies == []


def test_of_few_documents_without_reports_the_texts_are_read(
    opened: Callable[[str], Index], chooser: Chooser
) -> None:
    chooser.will("global")
    index = opened("")
    title = index.searcher.index.documents["title"][0]
    answer = index.ask(PARTICULAR, filters=Filters(documents=(title,)))
    assert (answer.method, routed(answer)) == ("TS", ("global", True))

"""What the prompts of answers say, and answers of the conditions that read text units."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, PartialAnswer
from graphrag_dagster.kernel.text.answer_form import AnswerForm
from graphrag_dagster.kernel.text.prompt_templates import Turn
from graphrag_dagster.systems.graphrag.llm.llm_answerer import LlmAnswerer
from graphrag_dagster.systems.graphrag.search.basic_search import vector_rag
from graphrag_dagster.systems.graphrag.search.global_search import global_search
from support.endpoint import ScriptedEndpoint
from support.index_frames import DOCUMENT, index_of
from support.questions import asked_of

QUESTION = "Who built the quay?"
FIRST = "The quay was built by Orrin Vask in 1998."
CITED = f"{FIRST.rstrip('.')} [Data: Sources (1)]."


def nearest(answerer: LlmAnswerer) -> Answer:
    return vector_rag(asked_of(index_of({}), QUESTION, "SS", count=len, answerer=answerer), ["u"])


def whole(answerer: LlmAnswerer) -> Answer:
    return global_search(asked_of(index_of({}), QUESTION, "TS", count=len, answerer=answerer))


def sent(endpoint: ScriptedEndpoint) -> list[list[dict[str, str]]]:
    return [chat.body["messages"] for chat in endpoint.chats]


@pytest.mark.parametrize(
    ("options", "map_digest"),
    [
        ({}, "1ace7b72fbfc9a3f"),
        ({"replies": "tuples"}, "db659e52e2234e82"),
        ({"unit": "points"}, "714a0d726e9bdd9d"),
    ],
)
def test_without_wishes_prompts_over_reports_are_those_whose_replies_are_remembered(
    model_of: Callable[..., Any], options: dict[str, Any], map_digest: str
) -> None:
    with ScriptedEndpoint() as endpoint:
        answerer = LlmAnswerer(model_of(endpoint), **options)
        answerer.map("What?", [[ContextUnit(1, "T", "x")]], ["id|title|content\n1|T|x"])
        answerer.reduce("What?", [PartialAnswer("A", 80, (1,))])
        answerer.answer("What?", [], "rows", [Turn("q", "a")])
    told = [[(one["role"], one["content"]) for one in messages] for messages in sent(endpoint)]
    digests = [hashlib.sha256(json.dumps(one).encode()).hexdigest()[:16] for one in told]
    assert digests == [map_digest, "370b5c1c8f02673d", "d5eb3d42efcd84d3"]


@pytest.mark.parametrize(
    ("options", "reply"),
    [
        ({}, json.dumps({"answer": CITED})),
        ({}, json.dumps({"answer": CITED, "score": "very helpful"})),
        ({"replies": "tuples"}, CITED),
        ({"unit": "points"}, json.dumps({"points": [{"description": CITED}]})),
    ],
)
@pytest.mark.parametrize("method", ["SS", "TS"])
def test_only_a_scored_map_answer_is_dropped_for_want_of_a_score(
    model_of: Callable[..., Any], options: dict[str, Any], reply: str, method: str
) -> None:
    with ScriptedEndpoint(lambda _: reply) as endpoint:
        answerer = LlmAnswerer(model_of(endpoint), **options)
        answer = nearest(answerer) if method == "SS" else whole(answerer)
    assert answer.refused == (method == "TS")
    assert "no number in the score" in (answer.steps[0].problem or "")
    assert len(answer.problems) == (method == "TS")
    assert answer.scores == (() if method == "SS" else (0,))
    if method == "SS":
        assert FIRST.rstrip(".") in answer.text
        assert [(one.kind, one.evidence.quotation) for one in answer.sources] == [("source", FIRST)]


@pytest.mark.parametrize(
    "reply", ['{"answer": "", "score": 0}', '{"answer": "Nothing is said.", "score": 0}', '{"answer": " "}']
)
def test_an_answer_that_says_it_is_of_no_help_is_a_refusal(model_of: Callable[..., Any], reply: str) -> None:
    with ScriptedEndpoint(lambda _: reply) as endpoint:
        assert nearest(LlmAnswerer(model_of(endpoint, retries=0))).refused


@pytest.mark.parametrize("options", [{}, {"replies": "tuples"}, {"unit": "points"}])
def test_text_units_are_called_sources_wherever_a_model_reads_them(
    model_of: Callable[..., Any], options: dict[str, Any]
) -> None:
    with ScriptedEndpoint() as endpoint:
        answerer = LlmAnswerer(model_of(endpoint), **options)
        answer = whole(answerer)
    assert [one.kind for one in answer.sources] == ["source", "source"]
    assert not answer.removed_citations
    assert len(sent(endpoint)) == 2
    for system, user in sent(endpoint):
        assert "[Data: Sources (4" in system["content"]
        assert "report" not in (system["content"] + user["content"]).lower()
    assert f"<sources>\nid|title|content\n1|Doc|{DOCUMENT.strip()}" in sent(endpoint)[0][1]["content"]


def test_wishes_are_told_as_material(model_of: Callable[..., Any]) -> None:
    form = AnswerForm.checked(" single\nsentence </response_type> ", general_knowledge=True)
    with ScriptedEndpoint() as endpoint:
        answerer = LlmAnswerer(model_of(endpoint), form=form)
        answerer.map("What?", [[ContextUnit(1, "T", "x")]], ["id|title|content\n1|T|x"])
        answerer.reduce("What?", [PartialAnswer("A", 80, (1,))])
        answerer.answer("What?", [], "rows")
    for system, user in sent(endpoint):
        assert "\n\nFurther rules:\n- The length and layout" in system["content"]
        assert "mark [LLM: verify]" in system["content"]
        assert "sentence" not in system["content"].partition("Further rules")[2].partition("stand")[0]
        wish = "<response_type>\nsingle sentence &lt;/response_type>\n</response_type>"
        reminder = "Whatever the length, cite the rows after each sentence, as in the rules above."
        assert user["content"].endswith(f"Requested length and layout:\n{wish}\n\n{reminder}")


KNOWING = (
    f"Quays are built of stone. [LLM: verify] Some float [LLM: verify]. {CITED}\n\nThey sink. They rise "
    "[llm:verify]."
)


@pytest.mark.parametrize("allowed", [True, False])
def test_general_knowledge_is_marked_and_neither_supported_nor_unsupported(
    model_of: Callable[..., Any], allowed: bool
) -> None:
    with ScriptedEndpoint(lambda _: json.dumps({"answer": KNOWING, "score": 70})) as endpoint:
        answer = nearest(LlmAnswerer(model_of(endpoint), form=AnswerForm(general_knowledge=allowed)))
    assert answer.text.count("[LLM: verify]") == 2
    assert "1998 [1]." in answer.text
    told = {one.text.strip(" ."): (one.general, one.verdict) for one in answer.statements}
    if not allowed:
        assert not answer.general
        return
    assert told == {
        "Quays are built of stone": (True, None),
        "Some float": (True, None),
        FIRST.strip("."): (False, "supported"),
        "They sink": (False, "not"),
        "They rise": (True, None),
    }
    assert (answer.general, answer.unsupported) == (3, 1)
    assert answer.to_dict()["general"] == 3

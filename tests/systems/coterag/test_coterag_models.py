"""Summaries, routes, answers and verdicts of a model: what it is shown, and what becomes of its replies."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.coterag.extractive import ExtractiveCommunitySummariser
from graphrag_dagster.systems.coterag.llm.community_summaries import LlmCommunitySummariser, _filled
from graphrag_dagster.systems.coterag.llm.evidence_answering import (
    LlmAnswerValidator,
    LlmEvidenceAnswerer,
    LlmEvidenceRouter,
)
from graphrag_dagster.systems.coterag.tasks import (
    EvidenceAnswer,
    RouteCues,
    SummaryEntity,
    SummaryRequest,
    SummaryTriple,
)
from support.conversations import section
from support.endpoint import ScriptedEndpoint

ROWS = [
    ContextUnit(1, "Drugs", "All of drugs."),
    ContextUnit(2, "A – B", "A treats B.", kind="relationship"),
    ContextUnit(3, "doc", "The manual\nsays SEARCH_MORE.", kind="source"),
]
CUES = RouteCues(("Skarn",), 0.3, 0.4)
ANSWER = EvidenceAnswer("A treats B.", "llm")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Any, ScriptedEndpoint]]]:
    """Serves replies in turn, the last again and again."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    running: list[ScriptedEndpoint] = []

    def serve(*replies: str) -> tuple[Any, ScriptedEndpoint]:
        def script(_: dict[str, Any]) -> str:
            # The request that is answered is logged before.
            return replies[min(len(endpoint.chats), len(replies)) - 1]

        endpoint = ScriptedEndpoint(script)
        running.append(endpoint.__enter__())
        settings = ModelSettings(base_url=endpoint.url, name="gpt-4.1-mini", retries=1)
        return OpenAIChatModel(settings, first_wait=0.01), endpoint

    yield serve
    for one in running:
        one.__exit__(None, None, None)


def user_of(endpoint: ScriptedEndpoint) -> str:
    content: str = endpoint.chats[0].body["messages"][1]["content"]
    return content


def test_the_answer_is_asked_for_with_every_row_under_its_section(served: Any) -> None:
    model, endpoint = served("A treats B [Data: Relationships (2)].")
    answer = LlmEvidenceAnswerer(model).answer("What </question> treats B?", ROWS)
    assert (answer.text, answer.search_more) == ("A treats B [Data: Relationships (2)].", False)
    assert section(user_of(endpoint), "material") == (
        "-----Reports-----\n1. Drugs: All of drugs.\n\n-----Relationships-----\n2. A treats B.\n\n"
        "-----Sources-----\n3. doc: The manual says SEARCH_MORE."
    )
    assert "&lt;/question> treats" in user_of(endpoint)


def test_an_overview_is_asked_for_where_it_is_wanted(served: Any) -> None:
    model, endpoint = served("A.")
    LlmEvidenceAnswerer(model, overview=True).answer("?", ROWS)
    LlmEvidenceAnswerer(model).answer("?", ROWS)
    with_it, without = (one.body["messages"][0]["content"] for one in endpoint.chats)
    (rule,) = set(with_it.splitlines()) - set(without.splitlines())
    assert "begin with an overview" in rule
    assert without == with_it.replace(f"{rule}\n", "")


@pytest.mark.parametrize(
    ("reply", "text", "more"),
    [
        ("SEARCH_MORE", "", True),
        ("**SEARCH_MORE**\nA is known.", "A is known.", True),
        ("Search more.", "", True),
        ("A is known. SEARCH_MORE", "A is known.", True),
        ("A is known [Data: Sources (3)].\nSEARCH_MORE", "A is known [Data: Sources (3)].", True),
        ("The manual says SEARCH_MORE", "The manual says SEARCH_MORE", False),
        ('It says "SEARCH_MORE" [Data: Sources (3)].', 'It says "SEARCH_MORE" [Data: Sources (3)].', False),
        ("SEARCH_MORE stands in the manual.", "SEARCH_MORE stands in the manual.", False),
    ],
)
def test_the_signal_is_told_from_a_text_that_says_it(served: Any, reply: str, text: str, more: bool) -> None:
    model, _ = served(reply)
    answer = LlmEvidenceAnswerer(model).answer("?", ROWS)
    assert (answer.text, answer.search_more) == (text, more)


def test_no_answer_at_all_asks_for_more(served: Any) -> None:
    model, _ = served("")
    answer = LlmEvidenceAnswerer(model).answer("?", [])
    assert (answer.text, answer.search_more, answer.problem is not None) == ("", True, True)


def test_a_general_question_is_shown_alone(served: Any) -> None:
    model, endpoint = served("Four.")
    answer = LlmEvidenceAnswerer(model).answer_directly("Two and two?")
    assert (answer.text, answer.search_more) == ("Four.", False)
    assert section(user_of(endpoint), "material") is None


@pytest.mark.parametrize(
    ("reply", "route", "problem"),
    [
        ('{"reason": "Small talk.", "route": "general"}', "general", False),
        ('{"why": "It names Skarn.", "Route": "SPECIFIC"}', "specific", False),
        ("I would say general.", "specific", True),
        ('{"reason": "?", "route": "both"}', "specific", True),
    ],
)
def test_on_any_doubt_a_question_is_specific(served: Any, reply: str, route: str, problem: bool) -> None:
    model, endpoint = served(reply)
    found = LlmEvidenceRouter(model).route("Who kept Skarn?", CUES)
    assert (found.route, found.problem is not None) == (route, problem)
    assert section(user_of(endpoint), "entity_names") == "Skarn"


@pytest.mark.parametrize(
    ("reply", "verdict", "problem"),
    [
        ('{"reason": "All of it holds.", "verdict": "ok"}', "ok", False),
        ('{"reason": "B is left open.", "verdict": "Insufficient."}', "insufficient", False),
        ("The answer is insufficient, I am afraid, since B is left open.", "ok", True),
        ('{"verdict": "perhaps"}', "ok", True),
    ],
)
def test_a_validator_that_cannot_be_read_lets_the_answer_pass(
    served: Any, reply: str, verdict: str, problem: bool
) -> None:
    model, endpoint = served(reply)
    found = LlmAnswerValidator(model).validate("?", ROWS, ANSWER)
    assert (found.verdict, found.problem is not None) == (verdict, problem)
    assert section(user_of(endpoint), "answer_1") == "A treats B."


def community(triples: int = 2, *, tiny: bool = False) -> SummaryRequest:
    return SummaryRequest(
        "c",
        (SummaryEntity("Skarn Light", "place", 2), SummaryEntity("Tobin\nVenn", "person", 1)),
        tuple(SummaryTriple("Skarn Light", f"relation {n}", "Tobin Venn", 3) for n in range(triples)),
        ("light", "keeper"),
        tiny=tiny,
    )


def summary(**parts: str) -> str:
    said = {
        "title": "The light",
        "focus": "It shines.",
        "entities": "Skarn Light.",
        "relations": "One keeps it.",
    }
    return json.dumps({**said, **parts})


def summarised(model: Any, *requests: SummaryRequest, **options: Any) -> list[Any]:
    fallback = ExtractiveCommunitySummariser()
    return list(LlmCommunitySummariser(model, fallback=fallback, **options).summarise(requests))


def test_a_summary_holds_the_exact_names_even_where_the_model_forgets_them(served: Any) -> None:
    model, endpoint = served(summary())
    [found] = summarised(model, community())
    assert found.title == "The light"
    assert found.text == "It shines.\n\nSkarn Light.\n\nOne keeps it.\n\nAlso: Tobin Venn."
    assert section(user_of(endpoint), "community") == (
        "Entities:\nSkarn Light (place, 2 links)\nTobin Venn (person, 1 links)\nFrequent terms: light, keeper\n"
        "Triples:\nSkarn Light relation 0 Tobin Venn.\nSkarn Light relation 1 Tobin Venn."
    )
    assert section(user_of(endpoint), "entity_names") == "Skarn Light\nTobin Venn"


def test_triples_fill_the_budget_and_no_more(served: Any) -> None:
    model, endpoint = served(summary())
    summarised(model, community(1000), context_tokens=300)
    shown = section(user_of(endpoint), "community")
    assert shown is not None
    assert 20 < shown.count("relation") < 40
    assert "relation 0 " in shown


def test_what_cannot_be_summarised_is_quoted_and_tiny_ones_are_not_asked_about(served: Any) -> None:
    model, endpoint = served("No JSON here.")
    lost, tiny = summarised(model, community(), community(1, tiny=True))
    assert (lost.engine, lost.problem is not None, lost.usage.calls > 0) == ("extractive", True, True)
    assert lost.text.startswith("Skarn Light relation 0 Tobin Venn.")
    assert (tiny.engine, tiny.problem) == ("extractive", None)
    assert all("relation 1 " in user_of(endpoint) for _ in endpoint.chats)


@pytest.mark.parametrize(
    ("budget", "taken", "left"),
    [(0, 0, 0), (3, 0, 3), (4, 1, 0), (7, 1, 3), (8, 2, 0), (11, 2, 3), (13, 3, 1)],
)
def test_lines_are_taken_while_they_and_their_breaks_fit(budget: int, taken: int, left: int) -> None:
    lines = ["Triples:"]
    # Of three tokens each, and a line break.
    assert _filled(lines, [" a a a"] * 3, budget, get_tokenizer("cl100k_base")) == left
    assert lines == ["Triples:", *[" a a a"] * taken]

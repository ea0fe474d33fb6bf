import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.tasks.task_ports import (
    ContextEntity,
    ContextUnit,
    DescriptionGroup,
    Engine,
    Finding,
    PartialAnswer,
    ReportRequest,
    WrittenReport,
)
from graphrag_dagster.kernel.text.citations import Citation
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.llm.llm_answerer import LlmAnswerer, read_score
from graphrag_dagster.systems.graphrag.llm.summarization import LlmDescriptionMerger, LlmReportWriter
from support.endpoint import Fault, Scripted, ScriptedEndpoint


class Plain:
    """A report writer that needs no model."""

    engine: Engine = "extractive"

    def write(self, requests: Sequence[ReportRequest]) -> list[WrittenReport]:
        return [
            WrittenReport(r.entities[0].title, "plain", 1.0, "plain", (Finding("a", "b"),), "extractive")
            for r in requests
        ]


def request(title: str) -> ReportRequest:
    context = f"-----Entities-----\nid,name,description\n1,{title},A thing\n2,OTHER,Another\n"
    return ReportRequest(context, (ContextEntity(1, title, "GEO", "A thing", 1),), ())


REPORT = {
    "title": "Skerry Bay",
    "summary": "About the bay [Data: Entities (1)].",
    "rating": 6.5,
    "rating_explanation": "It matters.",
    "findings": [
        {"summary": "It is a bay.", "explanation": "See (Data: Entities 1, 2; Relationships (3, +more))."}
    ],
}


def write(model: Any, *titles: str) -> list[WrittenReport]:
    writer = LlmReportWriter(model, fallback=Plain())
    return list(writer.write([request(title) for title in titles]))


def test_the_profile_of_the_paper_asks_for_its_contents_and_for_impact(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(lambda _: json.dumps(REPORT)) as endpoint:
        writer = LlmReportWriter(model_of(endpoint), fallback=Plain(), profile="paper")
        [report] = writer.write([request("SKERRY BAY")])
        [chat] = endpoint.chats
    assert report.rating == 6.5
    system = chat.body["messages"][0]["content"]
    for words in (
        "comply with the law",
        "technical capabilities",
        "reputation",
        "claims",
        "how severe the impact",
    ):
        assert words in system


def test_a_report_is_read_with_its_citations(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(lambda _: json.dumps(REPORT)) as endpoint:
        [report] = write(model_of(endpoint), "SKERRY BAY")
    assert (report.title, report.rating, report.engine, report.problem) == ("Skerry Bay", 6.5, "llm", None)
    [finding] = report.findings
    assert finding.explanation == "See [Data: Entities (1, 2); Relationships (3, +more)]."
    assert finding.citations == (Citation("entity", 1), Citation("entity", 2), Citation("relationship", 3))
    body = endpoint.chats[0].body
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["response_format"]["json_schema"]["schema"]["required"] == list(REPORT)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"rating": "7.5/10"}, 7.5),
        ({"rating": 85}, 10.0),
        ({"extra": 1}, 6.5),
    ],
)
def test_small_faults_of_a_report_are_tolerated(
    model_of: Callable[..., Any], change: dict[str, Any], expected: float
) -> None:
    with ScriptedEndpoint(lambda _: json.dumps(REPORT | change)) as endpoint:
        [report] = write(model_of(endpoint), "SKERRY BAY")
    assert (report.rating, report.problem, len(endpoint.chats)) == (expected, None, 1)


@pytest.mark.parametrize(
    "bad", ["no json", json.dumps(REPORT | {"findings": []}), json.dumps(REPORT | {"title": " "})]
)
def test_a_report_without_a_usable_reply_is_replaced_and_flagged(
    model_of: Callable[..., Any], bad: str
) -> None:
    def answer(body: dict[str, Any]) -> str:
        return bad if "LOST" in body["messages"][1]["content"] else json.dumps(REPORT)

    with ScriptedEndpoint(answer) as endpoint:
        reports = write(model_of(endpoint), "A", "LOST", "B")
    assert [report.engine for report in reports] == ["llm", "extractive", "llm"]
    assert reports[1].title == "LOST"
    assert reports[1].problem
    assert reports[1].usage.calls == 4
    assert len(endpoint.chats) == 6


def merge(model: Any, *descriptions: str, **options: Any) -> Any:
    merger = LlmDescriptionMerger(model, **options)
    [merged] = merger.merge([DescriptionGroup(("SKERRY BAY",), descriptions)])
    return merged


def test_one_distinct_description_stays_as_it_is_without_a_call(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint() as endpoint:
        assert merge(model_of(endpoint), "A  bay. ", "A  bay. ", " ").text == "A  bay. "
        assert merge(model_of(endpoint)).text == ""
    assert endpoint.requests == []


def test_several_descriptions_are_joined_by_one_call(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint() as endpoint:
        merged = merge(model_of(endpoint), "A bay.", "A deep bay.")
    assert (merged.text, merged.engine, merged.problem, merged.usage.calls) == (
        "A bay. A deep bay.",
        "llm",
        None,
        1,
    )


def test_what_does_not_fit_one_call_is_folded_in(model_of: Callable[..., Any]) -> None:
    def answer(body: dict[str, Any]) -> str:
        lines = body["messages"][1]["content"].split("<descriptions>\n")[1].splitlines()[:-1]
        return json.dumps({"description": "sum of " + str(len(lines))})

    texts = [f"Description number {n} says a little of it." for n in range(30)]
    with ScriptedEndpoint(answer) as endpoint:
        merged = merge(model_of(endpoint), *texts, max_input_tokens=120, max_output_tokens=40)
    sent = [chat.last.split("<descriptions>\n")[1] for chat in endpoint.chats]
    assert len(sent) == merged.usage.calls > 2
    assert all(part.startswith("- sum of ") for part in sent[1:])
    assert not sent[0].startswith("- sum of ")
    assert all(sum(f"- {text}\n" in part for part in sent) == 1 for text in texts)
    count = get_tokenizer("cl100k_base").count
    assert all(count(part) < 120 + 60 for part in sent)


@pytest.mark.parametrize(
    "reply", ["broken {", '{"description": ""}', '{"description": "I\'m sorry, I cannot."}', ""]
)
def test_without_a_usable_reply_the_descriptions_are_joined_and_flagged(
    model_of: Callable[..., Any], reply: str
) -> None:
    with ScriptedEndpoint(lambda _: reply) as endpoint:
        merged = merge(model_of(endpoint), "A bay.", "A deep bay.")
    assert (merged.text, merged.engine) == ("A bay. A deep bay.", "extractive")
    assert merged.problem
    assert merged.usage.calls == 4


UNITS = [ContextUnit(n, f"Report {n}", f"Text {n}") for n in (1, 2, 3, 4)]
CHUNKS = [UNITS[:2], UNITS[2:]]
RENDERED = ["id|title|content\n1|a|b\n2|a|b", "id|title|content\n3|a|b\n4|a|b"]


def mapped(model: Any, **options: Any) -> list[PartialAnswer]:
    return LlmAnswerer(model, **options).map("What happened?", CHUNKS, RENDERED)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (80, 80),
        ("80", 80),
        ("80/100", 80),
        (79.6, 80),
        (250, 100),
        (-5, 0),
        ("abc", None),
        (None, None),
        (True, None),
    ],
)
def test_scores_are_clamped_and_rounded(score: object, expected: int | None) -> None:
    assert read_score(score) == expected


def test_what_a_partial_answer_invents_stays_for_the_search_to_count_and_remove(
    model_of: Callable[..., Any],
) -> None:
    reply = json.dumps(
        {"answer": "A fire [Data: Reports (1, 3, 9)]. A flood [Data: Reports (7)].", "score": 80}
    )
    with ScriptedEndpoint(lambda _: reply) as endpoint:
        first, second = mapped(model_of(endpoint))
    assert (first.units, first.score) == ((1,), 80)
    assert first.text == "A fire [Data: Reports (1, 3, 9)]. A flood [Data: Reports (7)]."
    assert (second.text, second.units) == (first.text, (3,))
    assert first.usage.calls == 1


@pytest.mark.parametrize(
    ("options", "reply", "score", "text", "flagged"),
    [
        ({}, '{"answer": "A", "score": "abc"}', None, "A", True),
        ({}, '{"answer": "A"}', None, "A", True),
        ({}, '{"answer": "", "score": 0}', 0, "", False),
        ({}, "nothing", 0, "", True),
        ({"replies": "tuples"}, "<ANSWERHELPFULNESS> 70 </ANSWERHELPFULNESS>\nA", 70, "A", False),
        ({"replies": "tuples"}, "<answer helpfulness>70\nA", 70, "A", False),
        ({"replies": "tuples"}, "A", None, "A", True),
        ({"unit": "points"}, '{"points": [{"description": "B", "score": 20}, {"description": "A", "score": 90}, {"description": "C", "score": 0}]}', 90, "- A\n- B", False),
        ({"unit": "points"}, '{"points": [{"description": "B"}, {"description": "A", "score": 5}]}', 5, "- A", True),
        ({"unit": "points"}, '{"points": [{"description": "B"}, {"description": "A", "score": 0}]}', None, "- B", True),
        ({"unit": "points"}, '{"points": []}', 0, "", False),
    ],
)  # fmt: skip
def test_every_form_of_partial_answer(
    model_of: Callable[..., Any],
    options: dict[str, Any],
    reply: str,
    score: int | None,
    text: str,
    flagged: bool,
) -> None:
    with ScriptedEndpoint(lambda _: reply) as endpoint:
        for partial in mapped(model_of(endpoint), **options):
            assert (partial.score, partial.text, bool(partial.problem)) == (score, text, flagged)


def test_a_failing_chunk_is_flagged_and_the_others_stay(model_of: Callable[..., Any]) -> None:
    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        return Fault(500) if "\n3|" in body["messages"][1]["content"] else None

    with ScriptedEndpoint(faults=faults) as endpoint:
        first, second = mapped(model_of(endpoint, retries=0))
    assert first.problem is None
    assert first.units == (1, 2)
    assert "500" in (second.problem or "")
    assert second.score == 0


def test_the_answer_cites_only_what_its_parts_cite(model_of: Callable[..., Any]) -> None:
    partials = [PartialAnswer("A fire [Data: Reports (1)].", 80, (1,))]
    with ScriptedEndpoint(lambda _: "Fire [Data: Reports (1)], flood [Data: Reports (2)].") as endpoint:
        answer = LlmAnswerer(model_of(endpoint)).reduce("What </question> happened?", partials)
    assert answer.text == "Fire [Data: Reports (1)], flood [Data: Reports (0)]."
    assert (answer.engine, answer.usage.calls) == ("llm", 1)
    assert endpoint.chats[0].last.count("</question>") == 1


def test_no_answer_is_an_error_that_says_why(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(lambda _: Scripted("half", "length")) as endpoint:
        answerer = LlmAnswerer(model_of(endpoint))
        with pytest.raises(EngineError, match="cut off"):
            answerer.reduce("What?", [PartialAnswer("A", 1)])


@pytest.mark.parametrize(
    "end", ["[", "[Dat", "[Data: Reports (1", "[Data: Reports (1, 2); Entities [3", "[1, ", "【2"]
)
def test_an_answer_that_ends_inside_a_citation_is_asked_for_again(
    model_of: Callable[..., Any], end: str
) -> None:
    replies = [f"The trust runs it {end}"] * 2 + ["The trust runs it (as told) [Data: Reports (1)]"]
    with ScriptedEndpoint(lambda _: replies.pop(0)) as endpoint:
        answerer = LlmAnswerer(model_of(endpoint))
        final = answerer.reduce("Who?", [PartialAnswer("It does [Data: Reports (1)].", 50, (1,))])
    assert final.text == "The trust runs it (as told) [Data: Reports (1)]"
    assert endpoint.chats[1].last == endpoint.chats[0].last
    assert "ends inside a citation" in endpoint.chats[2].last


@pytest.mark.parametrize("options", [{}, {"replies": "tuples"}, {"unit": "points"}])
def test_the_default_script_answers_questions(model_of: Callable[..., Any], options: dict[str, Any]) -> None:
    with ScriptedEndpoint() as endpoint:
        answerer = LlmAnswerer(model_of(endpoint), **options)
        partials = answerer.map("What happened?", CHUNKS, RENDERED)
        answer = answerer.reduce("What happened?", partials)
    assert [partial.units for partial in partials] == [(1, 2), (3, 4)]
    assert "[Data: Reports (1, 2)]" in answer.text

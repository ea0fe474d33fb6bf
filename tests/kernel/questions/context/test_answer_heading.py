"""What stands above an answer, and what is counted of its statements."""

import pytest

from graphrag_dagster.kernel.questions.context.answer import (
    OWN_CONTEXT,
    OWN_KNOWLEDGE,
    QUERIED,
    QUOTATIONS,
    Answer,
    Query,
    Source,
    Statement,
    TraceSection,
)

OWN = (Source(1, "source", "u", "Doc"), Source(2, OWN_CONTEXT, "o", "own"))
ASKED = Query("select 1", ("n",), (("1",),))


@pytest.mark.parametrize(
    ("engine", "given", "heading"),
    [
        ("extractive", {}, QUOTATIONS),
        ("extractive", {"query": ASKED}, QUERIED),
        ("extractive", {"refused": True}, ""),
        ("extractive", {"query": ASKED, "refused": True}, ""),
        ("llm", {}, ""),
        ("llm", {"query": ASKED}, ""),
        ("llm", {"sources": OWN[:1]}, ""),
        ("llm", {"sources": OWN}, OWN_KNOWLEDGE),
        ("llm", {"sources": OWN, "refused": True}, ""),
    ],
)
def test_only_what_does_not_speak_for_itself_has_a_heading(
    engine: str, given: dict[str, object], heading: str
) -> None:
    answer = Answer("Who?", "local", None, "She.", engine, **given)  # type: ignore[arg-type]
    assert answer.heading == heading
    assert answer.to_dict()["heading"] == heading


def test_statements_are_counted_by_their_verdict() -> None:
    verdicts = ["supported", "partly", "partly", "not", None]
    said = [Statement("It is.", (1,), 0.5, one) for one in verdicts]  # type: ignore[arg-type]
    answer = Answer(
        "Who?",
        "local",
        None,
        "It is.",
        "llm",
        statements=(*said, Statement("So.", (), 0, None, general=True)),
    )
    assert (answer.partly_supported, answer.unsupported, answer.general, answer.calls) == (
        2,
        1,
        1,
        0,
    )


def test_the_first_section_of_a_title_is_found() -> None:
    answer = Answer(
        "Who?", "local", None, "She.", "llm", trace=tuple(TraceSection(title, ("n",), ()) for title in "aba")
    )
    assert answer.section("a") is answer.trace[0]
    assert answer.section("b") is answer.trace[1]
    assert answer.section("c") is None

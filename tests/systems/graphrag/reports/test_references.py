import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.tasks.report_citations import (
    Reference,
    References,
    citation_mark,
    parse_citations,
    rewrite_citations,
    without_citations,
)
from graphrag_dagster.kernel.tasks.task_ports import Quote
from graphrag_dagster.kernel.text.citations import Citation
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.systems.graphrag.reports.report_context import PackedContext

CONTEXT = PackedContext(
    "", 0, True, (), (), (), {"entity": ("ea", "eb"), "relationship": ("rx",), "claim": (), "report": ()}
)
REFERENCES = References(
    {"entity": {"ea": 40, "eb": 12}, "relationship": {"rx": 7}, "claim": {}, "report": {}},
    {"t0": len("A built B.")},
)


def test_numbers_of_the_context_become_small_numbers_of_the_tables() -> None:
    text = "The mill burnt [Data: Entities (1, 2, +more); Relationships (1)]. It rained [data: entity (2)]."
    stored, found = REFERENCES.resolve(text, (), (), CONTEXT.ids)
    assert stored == (
        "The mill burnt [Data: Entities (40, 12, +more); Relationships (7)]. It rained [Data: Entities (12)]."
    )
    assert found == [
        Reference("entity", "ea", "1", True),
        Reference("entity", "eb", "2", True),
        Reference("relationship", "rx", "1", True),
    ]


def test_ids_that_are_not_in_the_context_are_taken_out_and_kept_as_invalid() -> None:
    text = "Burnt [Data: Entities (1, 3, 0); Claims (1)]. Rained [Data: Reports (9); Sources (4)]. Sank [Data: Entities (x)]."
    stored, found = REFERENCES.resolve(text, (), (), CONTEXT.ids)
    assert stored == "Burnt [Data: Entities (40)]. Rained. Sank."
    assert [(item.kind, item.cited_as) for item in found if not item.valid] == [
        ("entity", "3"),
        ("entity", "0"),
        ("claim", "1"),
        ("report", "9"),
        ("text_unit", "Sources 4"),
        ("entity", "x"),
    ]
    assert all((item.record_id is None) != item.valid for item in found)


def test_citations_beside_the_text_are_added_to_it_once() -> None:
    citations = [Citation("entity", 1), Citation("entity", 2), Citation("entity", 2), Citation("report", 3)]
    stored, found = REFERENCES.resolve("Burnt [Data: Entities (1)].", citations, (), CONTEXT.ids)
    assert stored == "Burnt [Data: Entities (40)]. [Data: Entities (12)]"
    assert [(item.kind, item.record_id, item.valid) for item in found] == [
        ("entity", "ea", True),
        ("entity", "eb", True),
        ("report", None, False),
    ]


@pytest.mark.parametrize(
    ("quote", "valid"),
    [
        (Quote("t0", Span(0, 10)), True),
        (Quote("t0", Span(0, 11)), False),
        (Quote("t0", Span(4, 4)), False),
        (Quote("t1", Span(0, 4)), False),
    ],
)
def test_quotes_must_stand_in_their_unit(quote: Quote, valid: bool) -> None:
    stored, (found,) = REFERENCES.resolve("Burnt.", (), [quote, quote], CONTEXT.ids)
    assert stored == "Burnt."
    record = quote.unit_id if valid else None
    assert found == Reference("text_unit", record, quote.unit_id, valid, quote.span.start, quote.span.end)


def test_a_mark_shows_five_ids_and_says_that_there_are_more() -> None:
    assert citation_mark({"report": [3], "entity": range(9)}) == (
        "[Data: Entities (0, 1, 2, 3, 4, +more); Reports (3)]"
    )


def test_text_without_citations_reads_on() -> None:
    assert (
        without_citations("It burnt [Data: Entities (1)], and sank\n[Data: Claims (2)].")
        == "It burnt, and sank."
    )
    assert without_citations("No [Data] here (1) [1].") == "No [Data] here (1) [1]."


@given(st.text(alphabet="a [](),;:+1Data Entities", max_size=80))
def test_any_text_can_be_rewritten(text: str) -> None:
    assert parse_citations(rewrite_citations(text, lambda _: None)) == []
    kept = rewrite_citations(text, lambda cited: cited.number)
    assert rewrite_citations(kept, lambda cited: cited.number) == kept

from dataclasses import replace

import polars as pl

from graphrag_dagster.kernel.questions.context.citing import cite
from graphrag_dagster.kernel.questions.context.context_rows import ReportUnits
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tasks.task_ports import FinalAnswer, Layout, Quote
from graphrag_dagster.kernel.text.markup_spans import Span
from support.index_frames import DOCUMENT, index_of

FIRST, SECOND = (
    "The quay was built by Orrin Vask in 1998.",
    "Selma Dray opposed the merger of the shipping lines.",
)


def index_with_both() -> IndexSnapshot:
    """One report that quotes both sentences of the document."""
    index = index_of({"The harbour": "# The harbour\n\nIt was built [Data: Entities (3)]."})
    row = index.references.to_dicts()[0]
    start = DOCUMENT.index(SECOND)
    other = row | {"position": 1, "start_char": start, "end_char": start + len(SECOND)}
    return replace(index, references=tables.REPORT_REFERENCES.frame([row, other]))


def test_a_cited_report_stands_for_the_quotation_nearest_to_what_is_said() -> None:
    index = index_with_both()
    units = ReportUnits(index, index.reports)
    text = "Dray was against the merger [Data: Reports (1)]. Vask did the work in 1998 [Data: Reports (1)]."
    cited = cite(FinalAnswer(text, "llm"), units, {1})
    assert cited.text == "Dray was against the merger [1]. Vask did the work in 1998 [2]."
    assert [source.evidence.quotation for source in cited.sources] == [SECOND, FIRST]
    for source in cited.sources:
        words = source.evidence
        assert ("12345" + DOCUMENT)[words.start_char : words.end_char] == words.quotation
        assert (source.title, words.path, words.text_unit_id) == ("The harbour", "a/doc.txt", "u")


def test_a_quoted_sentence_stands_for_itself() -> None:
    index = index_with_both()
    units = ReportUnits(index, index.reports)
    span = Span(DOCUMENT.index(SECOND), DOCUMENT.index(SECOND) + len(SECOND))
    final = FinalAnswer(f"{SECOND} [Data: Reports (1)]", "extractive", ((SECOND, 1, Quote("u", span)),))
    cited = cite(final, units, {1})
    assert cited.text == f"{SECOND} [1]"
    assert [source.evidence.quotation for source in cited.sources] == [SECOND]


def test_a_quotation_is_kept_as_it_stands_with_its_mark_beside_it() -> None:
    said = "See  [Source 2] and [Data: Reports (7)], **Orrin** Vask built it."
    start = len("**The harbour**\n\n")
    mark = Span(said.index("Vask"), said.index("Vask") + 4)
    layout = Layout((Span(start, start + len(said)),), (Span(start + mark.start, start + mark.end),))
    final = FinalAnswer(
        f"**The harbour**\n\n{said} [Data: Reports (1)]",
        "extractive",
        ((said, 1, Quote("u", Span(0, 9))),),
        layout=layout,
    )
    index = index_with_both()
    cited = cite(final, ReportUnits(index, index.reports), {1, 2})
    assert (cited.text, cited.removed) == (f"**The harbour**\n\n{said} [1]", 0)
    assert [cited.text[one.start : one.end] for one in cited.marks] == ["Vask"]
    (statement,) = cited.statements
    assert statement.text == " ".join(said.split())
    assert [statement.text[one.start : one.end] for one in statement.marks] == ["Vask"]


def test_other_spellings_are_read_and_what_was_not_shown_is_counted() -> None:
    index = index_of({"A": "a", "B": "b", "C": "c"})
    units = ReportUnits(index, index.reports)
    text = (
        "One [reports: 1, 2]. Two [Data: Reports (3, +more); Entities (8)]. Three [Data: Sources (4, 5)] end."
    )
    cited = cite(FinalAnswer(text, "llm"), units, {1, 2})
    assert cited.removed == 4
    assert cited.text == "One [1][2]. Two. Three end."
    assert {source.title for source in cited.sources} == {"A", "B"}


def test_a_report_that_quotes_nothing_stands_for_sentences_that_name_what_it_cites() -> None:
    index = index_of({"The merger": "Dray fought."})
    entities = [("e1", "SELMA DRAY", "Selma Dray"), ("e2", "ORRIN VASK", "Orrin Vask")]
    blank = {"human_readable_id": 0, "type": "PERSON", "description": "", "description_engine": "as_is"}
    numbers = {
        "frequency": 1,
        "instances": 1,
        "degree": 1,
        "text_unit_ids": ["u"],
        "description_problem": None,
    }
    reference = index.references.to_dicts()[0] | {"start_char": None, "end_char": None}
    bare = replace(
        index,
        entities=tables.ENTITIES.frame(
            [
                {"entity_id": i, "name": name, "title": title, "names": [title]} | blank | numbers
                for i, name, title in entities
            ]
        ),
        references=tables.REPORT_REFERENCES.frame([reference | {"kind": "entity", "record_id": "e1"}]),
    )
    units = ReportUnits(bare, bare.reports)
    assert units.all[0].sentences == (("Dray fought.", None),)
    cited = cite(FinalAnswer("She fought [Data: Reports (1)].", "llm"), units, {1})
    assert [source.evidence.quotation for source in cited.sources] == [SECOND]


def test_a_report_that_rests_on_nothing_is_a_source_without_a_document() -> None:
    index = index_of({"The merger": "Dray fought."})
    bare = replace(index, references=index.references.filter(pl.lit(False)))
    cited = cite(FinalAnswer("So [Data: Reports (1)].", "llm"), ReportUnits(bare, bare.reports), {1})
    assert cited.text == "So [1]."
    (source,) = cited.sources
    assert (source.title, source.evidence) == ("The merger", None)


def test_a_unit_shows_the_report_without_its_heading_and_its_own_citations() -> None:
    index = index_with_both()
    (unit,) = ReportUnits(index, index.reports).all
    assert unit.text == "It was built."
    assert [sentence for sentence, _ in unit.sentences] == [FIRST, SECOND]

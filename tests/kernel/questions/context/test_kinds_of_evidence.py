"""What a source rests on: words, else the cited relationship itself, else nothing; and how it is told."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWER_CITATIONS
from graphrag_dagster.kernel.questions.answer_rows import AnswerRows
from graphrag_dagster.kernel.questions.context.answer import Answer, Source
from graphrag_dagster.kernel.questions.context.citing import CitedText, cite
from graphrag_dagster.kernel.questions.context.context_rows import LocalUnits
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, FinalAnswer
from graphrag_dagster.kernel.text.evidence import Passage, Triple, Words
from support.index_frames import DOCUMENT, filled, index_of

PASSAGE = Passage("u", 0, "d", "Doc", "a/doc.txt", None, 5, DOCUMENT)


@pytest.fixture
def index() -> IndexSnapshot:
    """A relationship whose ends no sentence names together, read from the units ``u`` and, before it, ``t``."""
    ends = [{"entity_id": "v", "title": "Orrin Vask"}, {"entity_id": "w", "title": "Selma Dray"}]
    tie = {
        "relationship_id": "t1", "source_id": "v", "target_id": "w", "description": "He employs\nher",
        "text_unit_ids": ["u", "gone", "t"],
    }  # fmt: skip
    made = index_of({})
    (unit,) = made.text_chunks.to_dicts()
    (document,) = made.documents.to_dicts()
    table = {"document_id": "e", "title": "Staff", "path": "b/staff.csv", "row": 3}
    return replace(
        made,
        entities=filled(tables.ENTITIES, ends),
        relationships=filled(tables.RELATIONSHIPS, [tie]),
        documents=filled(tables.DOCUMENTS, [document, table]),
        text_chunks=filled(
            tables.TEXT_CHUNKS,
            [
                unit | {"human_readable_id": 9},
                {"text_unit_id": "t", "document_id": "e", "human_readable_id": 2},
            ],
        ),
    )


def cited(index: IndexSnapshot, kind: str = "relationship") -> CitedText:
    units = LocalUnits(index)
    units.add(ContextUnit(0, "Orrin Vask — Selma Dray", "He employs her", kind=kind), "t1", list)  # type: ignore[arg-type]
    mark = {"relationship": "Relationships", "entity": "Entities"}[kind]
    return cite(FinalAnswer(f"Vask employs Dray [Data: {mark} (1)].", "llm"), units, {1})


def test_a_relationship_without_words_rests_on_itself_and_supports_nothing(index: IndexSnapshot) -> None:
    (source,) = (made := cited(index)).sources
    assert source.evidence == Triple(
        "t1", "v", "Orrin Vask", "He employs\nher", "w", "Selma Dray", "e", "Staff", "b/staff.csv", 3, "t"
    )
    assert source.evidence.line == (
        "b/staff.csv, row 3: Orrin Vask – Selma Dray: He employs her (extracted; no words were found that name both ends)"
    )
    assert source.similarity is None
    assert [(one.verdict, one.similarity, one.reason) for one in made.statements] == [
        ("not", 0.0, "no words of the documents were found for what it cites")
    ]


def test_what_is_no_relationship_or_was_read_from_no_known_unit_rests_on_nothing(
    index: IndexSnapshot,
) -> None:
    (source,) = cited(index, "entity").sources
    assert source.evidence is None
    (source,) = cited(replace(index, text_chunks=index.text_chunks.clear())).sources
    assert (source.record_id, source.evidence) == ("t1", None)


def test_a_citation_has_its_words_as_a_row_and_no_words_of_a_triple(index: IndexSnapshot) -> None:
    rows = AnswerRows("s", "o")
    (triple,) = cited(index).sources
    words = Source(2, "source", "u", "Doc", evidence=PASSAGE.words(0, 8), similarity=1.0)
    rows.add(0, "Why?", "local", Answer("Why?", "local", None, "So [1][2].", "llm", sources=(triple, words)))
    frame = ANSWER_CITATIONS.frame(rows.rows()[3])
    columns = ("record_id", "text_unit_id", "document_id", "start_char", "end_char", "quotation")
    assert frame.select(columns).rows() == [
        ("t1", None, None, None, None, None),
        ("u", "u", "d", 5, 13, "The quay"),
    ]


@given(st.integers(0, len(DOCUMENT) - 1), st.integers(1, len(DOCUMENT)))
def test_words_stand_inside_whole_sentences_at_their_characters(start: int, length: int) -> None:
    end = min(start + length, len(DOCUMENT))
    words = PASSAGE.words(start, end)
    text = "12345" + DOCUMENT
    assert text[words.start_char : words.end_char] == words.quotation
    assert text[words.start_char - len(words.before) : words.end_char + len(words.after)] == words.sentence
    for sentence in (DOCUMENT[span.start : span.end] for span in PASSAGE.sentences):
        assert sentence in words.sentence or not set(range(start, end)) & set(
            range(DOCUMENT.index(sentence), DOCUMENT.index(sentence) + len(sentence))
        )


def test_words_are_told_on_one_line() -> None:
    words = Words("d", "Doc", "a/doc.txt", "u", 5, 13, "The\nquay", "  So. ", "\nwas built.")
    assert words.line == "a/doc.txt, characters 5–13: “The quay”"
    assert (words.told.before, words.told.after) == (" So. ", " was built.")
    assert PASSAGE.whole().line.endswith("lines.” (the words themselves are not known)")
    assert next(iter(words.to_dict())) == "kind"

"""What a local context holds: text units first, each sentence once, in an order to be read."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.questions.context.context_rows import LocalContext
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.settings.search_settings import LocalShares
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.search.local_search import local_context
from support.index_frames import filled, index_of

SENTENCES = [f"Ship number {n} left the quay of Skarnes with {n} tonnes of salt." for n in range(10, 30)]
TEXT = " ".join(SENTENCES)
TABLE = "The catches.\n\n| year | tonnes |\n| --- | --- |\n" + "\n".join(
    f"| {1990 + n} | {n} |" for n in range(12)
)


def windows(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    starts = range(0, len(text) - overlap, size - overlap)
    return [(start, min(start + size, len(text))) for start in starts]


def snapshot(text: str, spans: list[tuple[int, int]], described: str = "", tied: str = "") -> IndexSnapshot:
    chunks = [
        {
            "text_unit_id": f"u{n}", "human_readable_id": n, "document_id": "d", "text": text[start:end],
            "start_char": start, "end_char": end,
        }
        for n, (start, end) in enumerate(spans)
    ]  # fmt: skip
    entities = [
        {"entity_id": "e", "name": "QUAY", "title": "The quay", "description": described},
        {"entity_id": "f", "name": "SALT", "title": "Salt", "description": f"{described} Salt is heavy."},
    ]
    tie = {"relationship_id": "r", "source_id": "e", "target_id": "f", "description": tied, "weight": 1.0}
    return replace(
        index_of({}),
        documents=filled(
            tables.DOCUMENTS, [{"document_id": "d", "title": "Log", "path": "log.txt", "text": text}]
        ),
        text_chunks=filled(tables.TEXT_CHUNKS, chunks),
        entities=filled(tables.ENTITIES, entities),
        relationships=filled(tables.RELATIONSHIPS, [tie]),
    )


def context(index: IndexSnapshot, order: list[int], limit: int = 4000) -> LocalContext:
    units = [f"u{n}" for n in order]
    return local_context(index, units, ["e", "f"], count=len, limit=limit, shares=LocalShares())


def texts(made: LocalContext, kind: str) -> list[str]:
    return [row.text for row in made.rows if row.kind == kind]


def test_text_units_come_first_and_what_they_say_is_said_by_no_other_row() -> None:
    index = snapshot(TEXT, windows(TEXT, 400, 0), f"{SENTENCES[0]} It is old.", SENTENCES[1])
    made = context(index, [0, 1, 2, 3])
    assert made.rendered.startswith("-----Sources\nid|title|text\n1|Log|")
    assert texts(made, "entity") == ["It is old.", "Salt is heavy."]
    assert texts(made, "relationship") == []
    assert [row.id for row in made.rows] == list(range(1, len(made.rows) + 1))
    assert len(made.rendered) <= 4000
    assert made.row_tokens == tuple(
        len(f"\n{line}") for line in made.rendered.split("\n") if line[:1].isdigit()
    )


def test_units_that_go_on_from_each_other_follow_each_other_without_their_overlap() -> None:
    made = context(snapshot(TEXT, windows(TEXT, 400, 120)), [0, 3, 1, 2], 6000)
    assert [made.units.record_id(row.id) for row in made.rows if row.kind == "source"] == [
        "u0",
        "u1",
        "u2",
        "u3",
    ]
    for sentence in SENTENCES[:12]:
        assert made.rendered.count(sentence) == 1


@given(st.permutations(range(6)), st.integers(600, 4000), st.integers(0, 150))
def test_no_whole_sentence_stands_twice_whatever_the_order_and_the_budget(
    order: list[int], limit: int, overlap: int
) -> None:
    made = context(snapshot(TEXT, windows(TEXT, 400, overlap)), order, limit)
    assert len(made.rendered) <= limit
    assert all(made.rendered.count(sentence) <= 1 for sentence in SENTENCES)
    known = [f"u{n}" for n in order if n < len(windows(TEXT, 400, overlap))]
    assert made.units.record_id(made.rows[0].id) == known[0]


def test_a_sentence_that_a_text_repeats_is_known_by_its_place() -> None:
    text = "The bell was rung. A boat came in. The bell was rung. Then it was night."
    again, night = text.rindex("The bell"), text.index(" Then")
    made = context(snapshot(text, [(0, again - 1), (0, night), (again, len(text))]), [0, 1, 2])
    assert sorted(texts(made, "source")) == sorted(
        [text[: again - 1], "The bell was rung.", "Then it was night."]
    )


def test_a_table_is_not_begun_in_its_middle() -> None:
    middle = TABLE.index("| 1996 |")
    made = context(snapshot(TABLE, [(0, middle), (TABLE.index("| 1994 |"), len(TABLE))]), [1, 0])
    assert any(text.startswith("The catches.") and "| 1990 |" in text for text in texts(made, "source"))
    assert made.rendered.count("| 2001 | 11 |") == 1


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"C0", "C1", "other"}, ["C1", "other"]),
        ({"C0", "other"}, ["C0", "other"]),
        ({"C0"}, ["C0"]),
        ((), []),
    ],
)
def test_the_report_of_the_smallest_community_that_has_one_is_read(
    written: Sequence[str], read: list[str]
) -> None:
    belong = [("e", "C0", 0), ("e", "C1", 1), ("f", "other", 0)]
    reports = [
        {"report_id": one, "title": one, "content": f"{one} tells of boats."} for one in sorted(written)
    ]
    index = replace(
        snapshot(TEXT, windows(TEXT, 400, 0)),
        members=filled(
            tables.COMMUNITY_MEMBERS,
            [{"entity_id": one, "community_id": of, "level": level} for one, of, level in belong],
        ),
        reports=filled(tables.COMMUNITY_REPORTS, reports),
    )
    made = context(index, [0], 6000)
    assert [made.units.record_id(row.id) for row in made.rows if row.kind == "report"] == read


@pytest.mark.parametrize("limit", [400, 700])
def test_a_unit_that_does_not_fit_is_cut_only_where_nothing_else_is_shown(limit: int) -> None:
    made = context(snapshot(TEXT, [(0, 900), (900, 1300)]), [0, 1], limit)
    assert [made.units.record_id(row.id) for row in made.rows if row.kind == "source"] == ["u0"]
    assert TEXT.startswith(made.rows[0].text)
    assert len(made.rendered) <= limit

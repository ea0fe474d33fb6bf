import polars as pl
import pytest

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tasks.task_ports import Quote, SupportingSentence
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.systems.graphrag.reports.context_packing import Packer
from graphrag_dagster.systems.graphrag.reports.report_context import PackedContext, index_elements
from graphrag_dagster.systems.graphrag.reports.report_evidence import EvidenceIndex
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES, GLEANED_RELATIONSHIPS
from support.report_graphs import Counted, build_graph, words_of

DOCUMENT = "A built B in May. Then B lost its roof. C saw A leave. D waited for A and B until dawn."
#: Overlapping windows; the second begins inside the second sentence, the third inside the last.
WINDOWS = [(0, 45), (23, 68), (55, len(DOCUMENT))]


def chunk(number: int, start: int, end: int) -> dict[str, object]:
    return {
        "text_unit_id": f"t{number}",
        "human_readable_id": number,
        "document_id": "d",
        "position": number,
        "start_char": start,
        "end_char": end,
        "text": DOCUMENT[start:end],
        "tokens": 1,
        "encoding": "cl100k_base",
        "strategy": "tokens",
    }


CHUNKS = tables.TEXT_CHUNKS.frame([chunk(number, *window) for number, window in enumerate(WINDOWS)])


def span(unit: int, part: str) -> dict[str, int]:
    start = DOCUMENT[slice(*WINDOWS[unit])].index(part)
    return {"start": start, "end": start + len(part)}


def mention(unit: int, name: str, *within: str) -> dict[str, object]:
    text = DOCUMENT[slice(*WINDOWS[unit])]
    starts = [text.index(part) + part.index(name) for part in within]
    return {
        "instance_id": f"{unit}{name}{within}",
        "text_unit_id": f"t{unit}",
        "round": 0,
        "position": 0,
        "name": name,
        "surface": name,
        "type": "GEO",
        "description": "",
        "spans": [{"start": start, "end": start + 1} for start in starts],
        "engine": "extractive",
    }


def record(unit: int, source: str, target: str, *parts: str) -> dict[str, object]:
    return {
        "instance_id": f"{unit}{source}{target}{parts}",
        "text_unit_id": f"t{unit}",
        "round": 0,
        "position": 0,
        "source": source,
        "target": target,
        "description": "",
        "strength": 1.0,
        "basis": "verb",
        "spans": [span(unit, part) for part in parts],
        "engine": "extractive",
    }


BUILT, LOST, SAW = "A built B in May.", "Then B lost its roof.", "C saw A leave."
WAITED, WAITED_CUT = "D waited for A and B until dawn.", "for A and B until dawn."


def graph():
    return build_graph([("A", "B"), ("A", "C"), ("A", "D")], {"c": (None, "ABC"), "d": (None, "D")})


def index(
    mentions, records, limit: int = 400, chunks: pl.DataFrame = CHUNKS, concerning: set[str] | None = None
) -> EvidenceIndex:
    made = graph()
    read = {
        tables.TEXT_CHUNKS: chunks,
        GLEANED_ENTITIES: GLEANED_ENTITIES.frame(mentions),
        GLEANED_RELATIONSHIPS: GLEANED_RELATIONSHIPS.frame(records),
        ALIASES: ALIASES.empty(),
    }
    numbers = {
        "entity": dict(made.entities.select("entity_id", "human_readable_id").iter_rows()),
        "relationship": dict(made.relationships.select("relationship_id", "human_readable_id").iter_rows()),
    }
    return EvidenceIndex({**made.tables(), **read}, numbers, concerning, limit)


@pytest.fixture
def context() -> PackedContext:
    """Entities A, B, C are 1, 2, 3; relationships AB, AC are 1, 2."""
    packed = Packer(index_elements(graph().tables(), Counted(words_of).counts_of_lines), words_of, 1000).pack(
        "c", {}
    )
    assert packed.ids["entity"] == tuple(stable_id("entity", name) for name in "ABC")
    return packed


def test_sentences_support_what_they_state_and_name(context: PackedContext) -> None:
    mentions = [mention(0, "A", BUILT), mention(0, "B", BUILT), mention(1, "C", SAW), mention(1, "A", SAW)]
    found = index(mentions, [record(0, "B", "A", BUILT), record(1, "C", "A", SAW)]).of(context)
    assert found == (
        SupportingSentence("t0", Span(0, 17), BUILT, (1, 2), (1,)),
        SupportingSentence("t1", Span(17, 31), SAW, (1, 3), (2,)),
    )


def test_a_sentence_around_a_mention_alone_is_found_by_rule(context: PackedContext) -> None:
    found = index([mention(0, "B", LOST)], [record(0, "A", "B", BUILT)]).of(context)
    assert [(item.text, item.entities, item.relationships) for item in found] == [
        (BUILT, (), (1,)),
        (LOST, (2,), ()),
    ]


def test_the_same_sentence_in_two_units_stands_once_in_the_earlier(context: PackedContext) -> None:
    chunks = pl.concat([CHUNKS, tables.TEXT_CHUNKS.frame([chunk(9, 0, 45)])])
    mentions = [mention(0, "A", BUILT), {**mention(0, "B", BUILT), "text_unit_id": "t9"}]
    records = [{**record(0, "A", "B", BUILT), "text_unit_id": "t9"}, record(0, "A", "B", BUILT)]
    records[0]["instance_id"] = "other"
    (found,) = index(mentions, records, chunks=chunks).of(context)
    assert found == SupportingSentence("t0", Span(0, 17), BUILT, (1, 2), (1,))


def test_a_cut_sentence_gives_way_to_the_whole_one(context: PackedContext) -> None:
    whole = [mention(1, "A", "A leave"), mention(0, "B", LOST)]
    cut = mention(1, "B", "B lost its roof.")
    records = [record(0, "B", "A", LOST), record(1, "A", "B", "B lost its roof.")]
    found = index([*whole, cut], records).of(context)
    assert [(item.text, item.entities) for item in found] == [(LOST, (2,)), (SAW, (1,))]
    only_cut = index([cut], [record(1, "A", "B", "B lost its roof.")]).of(context)
    assert [item.text for item in only_cut] == ["B lost its roof."]


def test_a_relation_without_spans_is_supported_by_sentences_that_name_both(context: PackedContext) -> None:
    mentions = [mention(0, "A", BUILT), mention(0, "B", BUILT, LOST)]
    found = index(mentions, [record(0, "A", "B")]).of(context)
    assert [(item.text, item.relationships) for item in found] == [(BUILT, (1,)), (LOST, ())]


def test_only_rows_of_the_context_are_numbered(context: PackedContext) -> None:
    mentions = [mention(2, name, WAITED_CUT) for name in "AB"] + [mention(2, "D", "D waited")]
    found = index(mentions, [record(2, "A", "D", WAITED)]).of(context)
    assert [(item.entities, item.relationships) for item in found] == [((1, 2), ())]


def test_too_many_sentences_keep_the_most_supporting(context: PackedContext) -> None:
    mentions = [mention(0, "B", LOST), mention(1, "C", SAW), mention(1, "A", SAW)]
    made = index(mentions, [record(0, "A", "B", BUILT)], limit=2).of(context)
    assert [item.text for item in made] == [BUILT, SAW]


def test_quoted_sentences_of_reports_come_last(context: PackedContext) -> None:
    quotes = [Quote("t0", Span(0, 17)), Quote("t0", Span(18, 39)), Quote("gone", Span(0, 4))]
    found = index([], [record(0, "A", "B", BUILT)]).of(context, quotes)
    assert found[1:] == (SupportingSentence("t0", Span(18, 39), LOST),)
    assert len(index([], [record(0, "A", "B", BUILT)], limit=1).of(context, quotes)) == 1


def test_only_documents_that_tell_of_what_is_concerned_are_looked_at(context: PackedContext) -> None:
    elsewhere = {**chunk(9, 0, 45), "document_id": "e"}
    chunks = pl.concat([CHUNKS, tables.TEXT_CHUNKS.frame([elsewhere])])
    mentions = [mention(0, "A", BUILT), mention(1, "C", SAW), {**mention(0, "B", LOST), "text_unit_id": "t9"}]
    records = [record(0, "A", "B"), record(1, "A", "C", SAW)]
    everywhere = index(mentions, records, chunks=chunks).of(context)
    assert {item.unit_id for item in everywhere} == {"t0", "t1", "t9"}
    assert index(mentions, records, chunks=chunks, concerning={"A", "B"}).of(context) == everywhere
    of_c = index(mentions, records, chunks=chunks, concerning={"C"}).of(context)
    assert of_c == tuple(item for item in everywhere if item.unit_id != "t9")
    quotes = [Quote("t9", Span(0, 17))]
    (quoted,) = index(mentions, records, chunks=chunks, concerning=set()).of(context, quotes)
    assert (quoted.unit_id, quoted.text) == ("t9", BUILT)


def test_no_rows_no_evidence(context: PackedContext) -> None:
    assert index([], []).of(context) == ()


def test_the_order_of_the_frames_does_not_matter(context: PackedContext) -> None:
    mentions = [mention(0, "A", BUILT), mention(0, "B", BUILT, LOST), mention(1, "A", SAW)]
    records = [record(0, "A", "B"), record(1, "A", "C", SAW), record(0, "A", "B", LOST)]
    one = index(mentions, records)
    other = index(mentions[::-1], records[::-1], chunks=CHUNKS.reverse())
    assert one.of(context) == other.of(context)

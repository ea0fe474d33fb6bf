"""Supporting sentences of entities and relationships.

Text units overlap, so one sentence of a document may be in two units, or whole in one and cut in the other.
Sentences are therefore identified by their position in the document.
"""

import polars as pl

from graphrag_dagster.kernel.text.sentences import sentence_spans
from graphrag_dagster.systems.graphrag.resolution.applying import Resolved

_UNITS_AT_ONCE = 2_000


def supporting_sentences(
    *,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    text_chunks: pl.DataFrame,
    gleaned_entities: pl.DataFrame,
    gleaned_relationships: pl.DataFrame,
    aliases: pl.DataFrame,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the sentences, and which entities and relationships each supports.

    Sentences are the spans of the relation records and, around mentions outside of these, the sentences of
    the unit by rule. Of equal ones in overlapping units the earliest unit's stays; one that is cut at the
    edge of a unit gives way to a sentence of the document that contains it. A relation record without spans
    is supported by the sentences of its unit that name both ends.

    Args:
        entities: ``entity_id`` and ``name``.
        relationships: ``relationship_id``, ``source`` and ``target``.
        text_chunks: rows of ``corpus.text_chunks``.
        gleaned_entities: rows of ``extraction.gleaned_entities``.
        gleaned_relationships: rows of ``extraction.gleaned_relationships``.
        aliases: rows of ``resolution.aliases``.

    Returns:
        ``sentence`` (0… in the order of the corpus), ``text_unit_id``, ``start``, ``end``; then
        ``sentence``, ``entity_id``; then ``sentence``, ``relationship_id``.
    """
    units = _units(text_chunks)
    resolved = Resolved(aliases, text_chunks)
    mentions = _mentions(units, resolved.named(gleaned_entities, "name"), entities)
    stated = _stated(units, resolved.named(gleaned_relationships, "source", "target"), relationships)
    spanned = _exploded(stated).select("unit", "relationship_id", "start", "end").unique()
    cut = spanned.select("unit", "start", "end").unique()
    outside = mentions.join(_inside(mentions, cut), on=["unit", "entity_id", "first", "last"], how="anti")
    spans = pl.concat([cut, _by_rule(units, outside)]).unique()
    named = _inside(mentions, spans).select("unit", "start", "end", "entity_id").unique()
    both = _naming_both(stated.filter(pl.col("spans").list.len() == 0), named)
    number = _numbered(units, spans)
    of_span = ["unit", "start", "end"]
    return (
        _places(number, text_chunks),
        named.join(number, on=of_span).select("sentence", "entity_id").unique(),
        pl.concat([spanned.select(both.columns), both])
        .join(number, on=of_span)
        .select("sentence", "relationship_id")
        .unique(),
    )


def _units(text_chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the units in the order of the corpus; ``first``…``last`` is the text without outer blanks."""
    text = pl.col("text")
    return (
        text_chunks.sort("human_readable_id")
        .with_row_index("unit")
        .select(
            pl.col("unit").cast(pl.Int64),
            *("text_unit_id", "document_id", "text", "start_char"),
            first=text.str.len_chars().cast(pl.Int32) - text.str.strip_chars_start().str.len_chars(),
            last=text.str.strip_chars_end().str.len_chars().cast(pl.Int32),
            begins=pl.col("start_char") == pl.col("start_char").min().over("document_id"),
            ends=pl.col("end_char") == pl.col("end_char").max().over("document_id"),
        )
    )


def _exploded(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.explode("spans").filter(pl.col("spans").is_not_null()).unnest("spans")


def _mentions(units: pl.DataFrame, gleaned: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    return (
        _exploded(gleaned.select("text_unit_id", "name", "spans"))
        .join(entities.select("name", "entity_id"), on="name")
        .join(units.select("text_unit_id", "unit"), on="text_unit_id")
        .select("unit", "entity_id", first="start", last="end")
        .unique()
    )


def _stated(units: pl.DataFrame, gleaned: pl.DataFrame, relationships: pl.DataFrame) -> pl.DataFrame:
    return (
        gleaned.select(
            "text_unit_id",
            "spans",
            source=pl.min_horizontal("source", "target"),
            target=pl.max_horizontal("source", "target"),
        )
        .join(
            relationships.select("source", "target", "source_id", "target_id", "relationship_id"),
            on=["source", "target"],
        )
        .join(units.select("text_unit_id", "unit"), on="text_unit_id")
    )


def _inside(mentions: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return each mention, ``first``…``last``, with every span of its unit around it, ``start``…``end``."""
    blocks = mentions.with_columns(block=pl.col("unit") // _UNITS_AT_ONCE)
    found = [
        some.join(spans, on="unit").filter(
            (pl.col("start") <= pl.col("first")) & (pl.col("last") <= pl.col("end"))
        )
        for some in blocks.partition_by("block", include_key=False)
    ]
    return pl.concat(found) if found else mentions.join(spans, on="unit")


def _by_rule(units: pl.DataFrame, mentions: pl.DataFrame) -> pl.DataFrame:
    """Return the sentences of units around mentions."""
    concerned = units.join(mentions, on="unit", how="semi").select("unit", "text")
    rows = [
        (unit, span.start, span.end) for unit, text in concerned.iter_rows() for span in sentence_spans(text)
    ]
    schema = {"unit": pl.Int64, "start": pl.Int32, "end": pl.Int32}
    sentences = pl.DataFrame(rows, schema=schema, orient="row")
    return _inside(mentions, sentences).select("unit", "start", "end").unique()


def _naming_both(stated: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    return (
        stated.join(named, left_on=["unit", "source_id"], right_on=["unit", "entity_id"])
        .join(
            named,
            left_on=["unit", "start", "end", "target_id"],
            right_on=["unit", "start", "end", "entity_id"],
        )
        .select("unit", "relationship_id", "start", "end")
        .unique()
    )


def _numbered(units: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return for each span the ``sentence`` that stands for it; ``stands`` where it is that sentence."""
    placed = spans.join(units, on="unit").select(
        *("unit", "start", "end"),
        document=pl.col("document_id").rank("dense"),
        here=pl.col("start") + pl.col("start_char"),
        there=pl.col("end") + pl.col("start_char"),
        edge=((pl.col("start") <= pl.col("first")) & ~pl.col("begins"))
        | ((pl.col("end") >= pl.col("last")) & ~pl.col("ends")),
    )
    place = ["document", "here", "there"]
    distinct = (
        placed.group_by(place)
        .agg(pl.min("unit").alias("earliest"), pl.all("edge"))
        .sort("document", "here", -pl.col("there"))
    )
    distinct = distinct.with_columns(
        number=pl.int_range(len(distinct)), whole=pl.Series(_containing(distinct), dtype=pl.Int64)
    )
    whole = distinct.filter(pl.col("whole") == pl.col("number")).sort("earliest", "here", "there")
    numbered = whole.select("whole", sentence=pl.int_range(pl.len()))
    return placed.join(distinct.join(numbered, on="whole"), on=place).select(
        *("unit", "start", "end", "sentence"),
        stands=(pl.col("unit") == pl.col("earliest")) & (pl.col("whole") == pl.col("number")),
    )


def _containing(ordered: pl.DataFrame) -> list[int]:
    """Return for each row its own number, or for one at an edge that of a row that contains it."""
    found: list[int] = []
    of_document, furthest, holder = -1, -1, -1
    for number, (document, there, edge) in enumerate(ordered.select("document", "there", "edge").iter_rows()):
        if document != of_document:
            of_document, furthest = document, -1
        found.append(holder if edge and there <= furthest else number)
        if there > furthest:
            furthest, holder = there, number
    return found


def _places(number: pl.DataFrame, text_chunks: pl.DataFrame) -> pl.DataFrame:
    units = _units(text_chunks).select("unit", "text_unit_id")
    standing = number.filter("stands").join(units, on="unit").sort("sentence")
    return standing.select("sentence", "text_unit_id", "start", "end")

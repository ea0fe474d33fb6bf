"""The names of a corpus as resolution takes them: one spelling and one type for each name of a document."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.resolution.scopes import Mention
from graphrag_dagster.core.text.sentences import sentence_spans


@dataclass(frozen=True, slots=True)
class CorpusNames:
    """What is resolved.

    Attributes:
        names: ``document_id``, ``name``, ``surface``, ``type``, ``mentions``, ``since``, ``places``: one row
            a name and document, sorted by both.
        mentions: a spelling, type and sentence for each place where a name stands.
        sentences: of the texts in which two names stand or more, by document and number.
    """

    names: pl.DataFrame
    mentions: list[Mention]
    sentences: Mapping[tuple[str, int], str]


def corpus_names(
    gleaned_entities: pl.DataFrame, text_chunks: pl.DataFrame, documents: pl.DataFrame
) -> CorpusNames:
    """Return the names of a corpus.

    In a document a name has its commonest spelling and its commonest type; of equally common ones the
    first. A place in overlapping text units counts once. A name without a place, as a model may give it,
    stands in a sentence of its own.

    Args:
        gleaned_entities: rows of ``extraction.gleaned_entities``.
        text_chunks: rows of ``corpus.text_chunks``.
        documents: rows of ``corpus.documents``.
    """
    units = text_chunks.select("text_unit_id", "document_id", "start_char", order="human_readable_id")
    placed = (
        gleaned_entities.join(units, on="text_unit_id")
        .sort("order", "round", "position")
        .with_columns(pl.when(pl.col("spans").list.len() > 0).then("spans"))
        .explode("spans")
        .select(
            *("document_id", "name", "surface", "type"),
            place=pl.col("start_char") + pl.col("spans").struct.field("start"),
        )
        .with_row_index("seen")
    )
    known = placed.unique(["document_id", "name", "place"], keep="first", maintain_order=True)
    bare = placed.filter(pl.col("place").is_null())
    placed = pl.concat([known.filter(pl.col("place").is_not_null()), bare])
    keys = ["document_id", "name"]
    names = (
        placed.group_by(keys)
        .agg(
            mentions=pl.len().cast(pl.Int32),
            since=pl.col("place").min().cast(pl.Int32),
            places=pl.col("place").sort().cast(pl.String).str.join(","),
        )
        .with_columns(pl.col("places").map_elements(stable_id, pl.String))
        .join(_commonest(placed, "surface"), on=keys)
        .join(_commonest(placed, "type"), on=keys)
        .select(*keys, "surface", "type", "mentions", "since", "places")
        .sort(keys)
    )
    mentions, sentences = _in_sentences(placed.drop("surface", "type").join(names, on=keys), documents)
    return CorpusNames(names, mentions, sentences)


def _commonest(placed: pl.DataFrame, column: str) -> pl.DataFrame:
    return (
        placed.group_by("document_id", "name", column)
        .agg(pl.len().alias("times"), pl.min("seen"))
        .sort("document_id", "name", "times", "seen", descending=[False, False, True, False])
        .unique(["document_id", "name"], keep="first", maintain_order=True)
        .select("document_id", "name", column)
    )


def _in_sentences(
    placed: pl.DataFrame, documents: pl.DataFrame
) -> tuple[list[Mention], dict[tuple[str, int], str]]:
    texts = dict(documents.select("document_id", "text").iter_rows())
    mentions: list[Mention] = []
    sentences: dict[tuple[str, int], str] = {}
    by_document = placed.sort("document_id", "place", "name").partition_by("document_id", as_dict=True)
    for (document,), found in by_document.items():
        text = texts[document]
        spans = sentence_spans(text)
        starts = [span.start for span in spans]
        before = -1
        rows = found.select("place", "surface", "type").iter_rows()
        for at, (place, surface, kind) in enumerate(rows, start=1):
            number = -at if place is None else max(bisect_right(starts, place) - 1, 0)
            mentions.append(Mention(document, number, surface, kind))
            if number == before >= 0:
                sentences[document, number] = text[spans[number].start : spans[number].end]
            before = number
    return mentions, sentences

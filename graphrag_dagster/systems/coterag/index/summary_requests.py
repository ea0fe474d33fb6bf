"""Inputs of community summaries: members, triples, and sentences that state them."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from graphrag_dagster.kernel.tasks.task_ports import Quote
from graphrag_dagster.kernel.text.english_words import STOP_WORDS
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.systems.coterag.index.triple_communities import Communities, TripleGraph
from graphrag_dagster.systems.coterag.search.term_coverage import folded_words
from graphrag_dagster.systems.coterag.tasks import (
    SourceSentence,
    SummaryEntity,
    SummaryRequest,
    SummaryTriple,
)

#: Sentences of a request: those that state the most triples; and its frequent words.
_SENTENCES, _TERMS = 300, 15
_TRIPLES_AT_ONCE = 20_000
_PLACE = ["number", "rank"]


def summary_requests(
    graph: TripleGraph, communities: Communities, chunks: pl.DataFrame
) -> Iterator[SummaryRequest]:
    """Yield a request for every community, by its number.

    A sentence states a triple where it stands in one of the triple's text units and holds the names of both
    ends, in any case.

    Args:
        graph: the triples.
        communities: of the graph.
        chunks: ``text_unit_id`` and ``text``, in the order of the corpus.
    """
    triples = _triples(graph, communities)
    stated = _sentences_by_community(triples, _sentences(triples, chunks))
    members = (
        communities.members.join(graph.entities.select("entity_id", "title", "type"), on="entity_id")
        .sort("community_id", "internal_degree", "title", descending=[False, True, False])
        .partition_by("community_id", as_dict=True)
    )
    of_triples = triples.partition_by("number", as_dict=True)
    of_sentences = stated.partition_by("number", as_dict=True)
    for community_id, number, tiny in (
        communities.communities.sort("number").select("community_id", "number", "tiny").iter_rows()
    ):
        rows = of_triples.get((number,), triples.clear())
        said = of_sentences.get((number,), stated.clear())
        sentences = tuple(
            SourceSentence(text, Quote(unit, Span(start, end)), tuple(places))
            for text, unit, start, end, places in said.select(
                "text", "text_unit_id", "start", "end", "places"
            ).iter_rows()
        )
        yield SummaryRequest(
            community_id,
            tuple(
                SummaryEntity(*row)
                for row in members[(community_id,)].select("title", "type", "internal_degree").iter_rows()
            ),
            tuple(
                SummaryTriple(*row) for row in rows.select("head", "relation", "tail", "degree").iter_rows()
            ),
            _frequent_terms(sentences),
            sentences,
            tiny,
        )


def _triples(graph: TripleGraph, communities: Communities) -> pl.DataFrame:
    """Triples inside of communities, by ``number`` and ``rank``, with titles as ends."""
    titles = graph.entities["title"]
    degree = (
        graph.entities.select("entity_id")
        .join(
            communities.members.select("entity_id", "internal_degree"),
            on="entity_id",
            how="left",
            maintain_order="left",
        )["internal_degree"]
        .fill_null(0)
        .to_numpy()
    )
    return (
        pl.DataFrame(
            {
                "number": communities.triples_inside(graph),
                "head": titles.gather(graph.head),
                "relation": graph.triples["relation"],
                "tail": titles.gather(graph.tail),
                "degree": degree[graph.head] + degree[graph.tail],
                "text_unit_ids": graph.triples["text_unit_ids"],
            }
        )
        .filter(pl.col("number") >= 0)
        .sort("number", "degree", "head", "relation", "tail", descending=[False, True, False, False, False])
        .with_columns(rank=pl.int_range(pl.len()).over("number"))
    )


def _sentences(triples: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    used = triples.select(text_unit_id=pl.col("text_unit_ids").list.explode()).unique()
    rows = [
        (order, unit, span.start, span.end, " ".join(text[span.start : span.end].split()))
        for order, (unit, text) in enumerate(
            chunks.select("text_unit_id", "text")
            .join(used, on="text_unit_id", how="semi", maintain_order="left")
            .iter_rows()
        )
        for span in sentence_spans(text)
    ]
    schema = {
        "order": pl.Int64,
        "text_unit_id": pl.String,
        "start": pl.Int64,
        "end": pl.Int64,
        "text": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        folded=pl.col("text").str.to_lowercase()
    )


def _sentences_by_community(triples: pl.DataFrame, sentences: pl.DataFrame) -> pl.DataFrame:
    """Sentences by community: ``number``, ``text``, ``text_unit_id``, ``start``, ``end``, ``places``."""
    found = [
        block.select(*_PLACE, "head", "tail", text_unit_id="text_unit_ids")
        .explode("text_unit_id")
        .join(sentences, on="text_unit_id")
        .filter(
            pl.col("folded").str.contains(pl.col("head").str.to_lowercase(), literal=True)
            & pl.col("folded").str.contains(pl.col("tail").str.to_lowercase(), literal=True)
        )
        .drop("head", "tail", "folded")
        for block in triples.iter_slices(_TRIPLES_AT_ONCE)
    ]
    if not found:
        found = [sentences.drop("folded").clear().with_columns(number=pl.lit(0), rank=pl.lit(0))]
    # Text units may overlap: of equal sentences the first stands for all.
    return (
        pl.concat(found)
        .sort("number", "order", "start", "rank")
        .group_by("number", "text", maintain_order=True)
        .agg(
            pl.first("order", "text_unit_id", "start", "end"),
            places=pl.col("rank").unique().sort(),
        )
        .with_columns(states=pl.col("places").list.len())
        .sort("number", "states", "order", "start", descending=[False, True, False, False])
        .group_by("number", maintain_order=True)
        .head(_SENTENCES)
        .sort("number", "order", "start")
    )


def _frequent_terms(sentences: tuple[SourceSentence, ...]) -> tuple[str, ...]:
    counted = Counter(
        word
        for one in sentences
        for word in set(folded_words(one.text))
        if word not in STOP_WORDS and not word.isnumeric()
    )
    ranked = sorted(counted, key=lambda word: (-counted[word], word))
    return tuple(ranked[:_TERMS])

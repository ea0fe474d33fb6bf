"""All that CoTeRAG-S makes of an index, in its order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from graphrag_dagster.core.coterag.community_terms import community_terms
from graphrag_dagster.core.coterag.indexing.calibration import calibrated
from graphrag_dagster.core.coterag.indexing.communities import Communities, clustered
from graphrag_dagster.core.coterag.indexing.corpus_backgrounds import corpus_backgrounds
from graphrag_dagster.core.coterag.indexing.descriptions import descriptions
from graphrag_dagster.core.coterag.indexing.stores import stores
from graphrag_dagster.core.coterag.indexing.summaries import summary_frames
from graphrag_dagster.core.coterag.indexing.summary_requests import summary_requests
from graphrag_dagster.core.coterag.indexing.triples import TripleGraph, triple_graph
from graphrag_dagster.core.language.embedded_rows import embed_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphrag_dagster.core.language.coterag import CommunitySummariser, SummaryRequest
    from graphrag_dagster.core.text.embedder import CorpusEmbedder
    from graphrag_dagster.core.text.tokens import Tokenizer
    from graphrag_dagster.settings.coterag import CoteragSettings


@dataclass(frozen=True, slots=True)
class CoteragFrames:
    """Rows of the tables of the schema ``coterag``, by their names.

    ``templated``: share of the entities that a template describes. ``embedded``: all texts that have vectors.
    """

    tables: Mapping[str, pl.DataFrame]
    templated: float
    embedded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Parted:
    """A graph of triples, whether its entities are of the main graph, and the communities of that."""

    graph: TripleGraph
    stores: pl.DataFrame
    communities: Communities

    def requests(self, text_chunks: pl.DataFrame) -> list[SummaryRequest]:
        """Return what the summary of each community is made of; see :func:`.summary_requests`."""
        return list(summary_requests(self.graph, self.communities, text_chunks.sort("human_readable_id")))


def parted(
    entities: pl.DataFrame, triples: pl.DataFrame, community_levels: pl.DataFrame, options: CoteragSettings
) -> Parted:
    """Return the graph of triples in its communities; see :func:`build_coterag`."""
    graph = triple_graph(entities, triples)
    placed = stores(graph, options.least_component)
    found = clustered(
        graph,
        placed,
        community_levels,
        match=options.match,
        least=options.least_community,
        seed=options.seed,
        resolution=options.resolution,
    )
    return Parted(graph, placed, found)


def build_coterag(
    *,
    entities: pl.DataFrame,
    triples: pl.DataFrame,
    community_levels: pl.DataFrame,
    text_chunks: pl.DataFrame,
    chunk_vectors: pl.DataFrame,
    known: Mapping[str, pl.DataFrame | None],
    summariser: CommunitySummariser,
    embedder: CorpusEmbedder,
    tokenizer: Tokenizer,
    options: CoteragSettings,
) -> CoteragFrames:
    """Return what CoTeRAG-S answers from (spec_coterag §3, §4, §8).

    Args:
        entities: rows of ``graph.entities``.
        triples: rows of ``graph.triples``.
        community_levels: rows of ``graph.community_levels``.
        text_chunks: rows of ``corpus.text_chunks``.
        chunk_vectors: rows of ``embeddings.text_units``.
        known: earlier vectors by table; None where there are none.
        summariser: of communities.
        embedder: of descriptions, summaries, and what stands for questions.
        tokenizer: counts the tokens of descriptions.
        options: the section of the settings.

    Raises:
        GraphragError: the level that is matched does not exist, or vectors cannot be compared.
    """
    parts = parted(entities, triples, community_levels, options)
    graph, found = parts.graph, parts.communities
    described = descriptions(
        graph, tokenizer, tail_template=options.tail_template, most_tokens=options.description_tokens
    )
    requests = parts.requests(text_chunks)
    made = summary_frames(requests, summariser.summarise(requests))
    told = described.frame["description"]
    said = made.summaries.select(text=pl.format("{}\n{}", "title", "text"))["text"]

    def vectors(keys: pl.Series, texts: pl.Series, table: str) -> pl.DataFrame:
        return embed_rows(keys, texts, embedder, known.get(table), named=table.replace("_", " "))

    of_entities = vectors(described.frame["entity_id"], told, "description_vectors")
    of_summaries = vectors(made.summaries["community_id"], said, "summary_vectors")
    backgrounds = corpus_backgrounds(
        embedder=embedder,
        seed=options.seed,
        entities=entities,
        text_chunks=text_chunks,
        members=found.members,
        description_vectors=of_entities,
        summary_vectors=of_summaries,
        chunk_vectors=chunk_vectors,
    )
    thresholds = calibrated(backgrounds, options).rows
    return CoteragFrames(
        {
            "stores": parts.stores,
            "communities": found.communities,
            "members": found.members,
            "descriptions": described.frame,
            "description_vectors": of_entities,
            "summaries": made.summaries,
            "summary_quotes": made.quotes,
            "terms": community_terms(graph, found, made.summaries),
            "summary_vectors": of_summaries,
            "thresholds": thresholds.with_columns(
                profile=pl.lit(options.profile), embedder=pl.lit(embedder.name)
            ),
        },
        described.templated,
        (*told, *said),
    )

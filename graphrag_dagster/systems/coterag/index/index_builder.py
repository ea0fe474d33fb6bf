"""Builds everything that CoTeRAG-S stores in an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.tasks.embedded_rows import embed_rows
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.systems.coterag.index.entity_descriptions import descriptions
from graphrag_dagster.systems.coterag.index.summary_requests import summary_requests
from graphrag_dagster.systems.coterag.index.threshold_calibration import (
    background,
    calibrated,
    pseudo_questions,
)
from graphrag_dagster.systems.coterag.index.triple_communities import (
    Communities,
    TripleGraph,
    clustered,
    stores,
    triple_graph,
)
from graphrag_dagster.systems.coterag.search.term_coverage import community_terms
from graphrag_dagster.systems.coterag.search.vector_matching import Vectors
from graphrag_dagster.systems.coterag.tables import COTERAG_QUOTES, COTERAG_SUMMARIES
from graphrag_dagster.systems.coterag.tasks import SummaryRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphrag_dagster.kernel.common.stable_values import Scores
    from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
    from graphrag_dagster.kernel.text.tokenization import Tokenizer
    from graphrag_dagster.systems.coterag.settings import CoteragSettings
    from graphrag_dagster.systems.coterag.tasks import CommunitySummariser, CommunitySummary, SummaryRequest


#: Text units whose sentences may stand for questions.
_UNITS: Final = 2_000
#: Characters from which a sentence says enough to stand for a question.
_LEAST_CHARACTERS: Final = 25


def corpus_backgrounds(
    *,
    embedder: CorpusEmbedder,
    seed: int,
    entities: pl.DataFrame,
    text_chunks: pl.DataFrame,
    members: pl.DataFrame,
    description_vectors: pl.DataFrame,
    summary_vectors: pl.DataFrame,
    chunk_vectors: pl.DataFrame,
) -> dict[str, Scores]:
    """Return cosines of texts that stand for questions with rows of other documents, by set of rows.

    Args:
        embedder: of the questions.
        seed: of what is drawn.
        entities: rows of ``graph.entities``.
        text_chunks: rows of ``corpus.text_chunks``.
        members: rows of ``coterag.members``.
        description_vectors: rows of ``coterag.description_vectors``.
        summary_vectors: rows of ``coterag.summary_vectors``.
        chunk_vectors: rows of ``embeddings.text_units``.

    Raises:
        GraphragError: vectors of another embedder.
    """
    of_unit = text_chunks.select("text_unit_id", "document_id")
    of_entity = (
        entities.select("entity_id", "title", text_unit_id="text_unit_ids")
        .explode("text_unit_id")
        .join(of_unit, on="text_unit_id")
        .group_by("entity_id", "title")
        .agg(documents=pl.col("document_id").unique().sort())
        .sort("entity_id")
    )
    of_community = (
        members.select("community_id", "entity_id")
        .join(of_entity.explode("documents"), on="entity_id")
        .group_by("community_id")
        .agg(documents=pl.col("documents").unique().sort())
    )
    asked = pseudo_questions(of_entity.select("title", "documents"), _sentences(text_chunks, seed), seed=seed)
    texts = asked["text"].to_list()
    questions = Vectors(texts, np.asarray(embedder.embed_queries(texts), dtype=np.float32), embedder.name)
    documents: Sequence[Sequence[str]] = asked["documents"].to_list()

    def against(frame: pl.DataFrame, key: str, behind: Mapping[str, Sequence[str]]) -> Scores:
        items = Vectors.of(frame, key, embedder.name)
        return background(questions, documents, items, behind, seed=seed)

    return {
        "summaries": against(
            summary_vectors,
            "community_id",
            dict(of_community.select("community_id", "documents").iter_rows()),
        ),
        "descriptions": against(
            description_vectors, "entity_id", dict(of_entity.select("entity_id", "documents").iter_rows())
        ),
        "chunks": against(
            chunk_vectors, "text_unit_id", {unit: (document,) for unit, document in of_unit.iter_rows()}
        ),
    }


def _sentences(text_chunks: pl.DataFrame, seed: int) -> pl.DataFrame:
    ordered = text_chunks.sort("text_unit_id").select("document_id", "text")
    if len(ordered) > _UNITS:
        places = np.random.default_rng(seed).choice(len(ordered), _UNITS, replace=False)
        ordered = ordered.gather(np.sort(places).tolist())
    rows = [
        (text[span.start : span.end], document)
        for document, text in ordered.iter_rows()
        for span in sentence_spans(text)
        if span.end - span.start >= _LEAST_CHARACTERS
    ]
    return pl.DataFrame(rows, schema={"text": pl.String, "document": pl.String}, orient="row")


@dataclass(frozen=True, slots=True)
class SummaryFrames:
    """Rows of ``coterag.summaries`` and of ``coterag.summary_quotes``."""

    summaries: pl.DataFrame
    quotes: pl.DataFrame


def summary_frames(
    requests: Sequence[SummaryRequest], summaries: Iterable[CommunitySummary]
) -> SummaryFrames:
    """Return summaries as rows.

    Args:
        requests: what was asked for.
        summaries: one for each, in their order.

    Raises:
        GraphragError: not one for each.
    """
    made = list(summaries)
    if len(made) != len(requests):
        raise GraphragError(
            f"the summariser gave {len(made)} summaries of {len(requests)} communities: it must give one for "
            "each, in their order"
        )
    both = list(zip(requests, made, strict=True))
    return SummaryFrames(
        COTERAG_SUMMARIES.rows(
            {
                "community_id": request.community_id,
                "title": summary.title,
                "text": summary.text,
                "engine": summary.engine,
                "problem": summary.problem,
            }
            for request, summary in both
        ),
        COTERAG_QUOTES.rows(
            {
                "community_id": request.community_id,
                "position": position,
                "text_unit_id": quote.unit_id,
                "start_char": quote.span.start,
                "end_char": quote.span.end,
            }
            for request, summary in both
            for position, quote in enumerate(summary.quotes)
        ),
    )


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

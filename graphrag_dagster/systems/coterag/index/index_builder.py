"""Builds everything that CoTeRAG-S stores in an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.tables import (
    COMMUNITY_LEVELS,
    ENTITIES,
    TEXT_CHUNKS,
    TEXT_UNIT_EMBEDDINGS,
    TRIPLES,
    Table,
    Tables,
)
from graphrag_dagster.kernel.tasks.embedded_rows import embed_rows
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.systems.coterag.index.entity_descriptions import descriptions
from graphrag_dagster.systems.coterag.index.summary_requests import summary_requests
from graphrag_dagster.systems.coterag.index.threshold_calibration import (
    background,
    calibrate,
    pseudo_questions,
)
from graphrag_dagster.systems.coterag.index.triple_communities import (
    Communities,
    TripleGraph,
    communities_at,
    leiden_communities,
    stores,
    triple_graph,
)
from graphrag_dagster.systems.coterag.search.term_coverage import community_terms
from graphrag_dagster.systems.coterag.search.vector_matching import Vectors
from graphrag_dagster.systems.coterag.tables import (
    COTERAG_COMMUNITIES,
    COTERAG_DESCRIPTION_VECTORS,
    COTERAG_DESCRIPTIONS,
    COTERAG_MEMBERS,
    COTERAG_QUOTES,
    COTERAG_STORES,
    COTERAG_SUMMARIES,
    COTERAG_SUMMARY_VECTORS,
    COTERAG_TERMS,
    COTERAG_THRESHOLDS,
)

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
    tables: Tables,
    *,
    embedder: CorpusEmbedder,
    seed: int,
    members: pl.DataFrame,
    description_vectors: pl.DataFrame,
    summary_vectors: pl.DataFrame,
) -> dict[str, Scores]:
    """Return cosines of texts that stand for questions with rows of other documents, by set of rows.

    Args:
        tables: those that the step reads.
        embedder: of the questions.
        seed: of what is drawn.
        members: rows of ``coterag.members``.
        description_vectors: rows of ``coterag.description_vectors``.
        summary_vectors: rows of ``coterag.summary_vectors``.

    Raises:
        GraphragError: vectors of another embedder.
    """
    text_chunks = tables[TEXT_CHUNKS]
    of_unit = text_chunks.select("text_unit_id", "document_id")
    of_entity = (
        tables[ENTITIES]
        .select("entity_id", "title", text_unit_id="text_unit_ids")
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
            tables[TEXT_UNIT_EMBEDDINGS],
            "text_unit_id",
            {unit: (document,) for unit, document in of_unit.iter_rows()},
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


def _summary_frames(
    requests: Sequence[SummaryRequest], summaries: Iterable[CommunitySummary]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return summaries, one for each request, as rows, and their quotes as rows.

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
    rows = COTERAG_SUMMARIES.rows(
        {
            "community_id": request.community_id,
            "title": summary.title,
            "text": summary.text,
            "engine": summary.engine,
            "problem": summary.problem,
        }
        for request, summary in both
    )
    quotes = COTERAG_QUOTES.rows(
        {
            "community_id": request.community_id,
            "position": position,
            "text_unit_id": quote.unit_id,
            "start_char": quote.span.start,
            "end_char": quote.span.end,
        }
        for request, summary in both
        for position, quote in enumerate(summary.quotes)
    )
    return rows, quotes


def partition_communities(
    tables: Tables, options: CoteragSettings
) -> tuple[TripleGraph, pl.DataFrame, Communities]:
    """Return the graph of triples, the stores of its entities, and the communities of the main graph.

    Raises:
        GraphragError: the level that is matched does not exist.
    """
    graph = triple_graph(tables[ENTITIES], tables[TRIPLES])
    placed, least = stores(graph, options.least_component), options.least_community
    if options.match == "own":
        found = leiden_communities(
            graph, placed, least=least, seed=options.seed, resolution=options.resolution
        )
    else:
        level = int(options.match.removeprefix("C"))
        found = communities_at(graph, placed, tables[COMMUNITY_LEVELS], level, least=least)
    return graph, placed, found


def build_coterag(
    tables: Tables,
    *,
    known: Mapping[Table, pl.DataFrame | None],
    summariser: CommunitySummariser,
    embedder: CorpusEmbedder,
    tokenizer: Tokenizer,
    options: CoteragSettings,
) -> tuple[dict[Table, pl.DataFrame], list[str]]:
    """Return the tables that CoTeRAG-S answers from (thesis 3.1.2, 3.2), and all texts with vectors.

    Args:
        tables: those that the step reads.
        known: earlier vectors by table; None where there are none.
        summariser: of communities.
        embedder: of descriptions, summaries, and what stands for questions.
        tokenizer: counts the tokens of descriptions.
        options: the section of the settings.

    Raises:
        GraphragError: the level that is matched does not exist, or vectors cannot be compared.
    """
    graph, placed, found = partition_communities(tables, options)
    described = descriptions(
        graph, tokenizer, tail_template=options.tail_template, most_tokens=options.description_tokens
    )
    requests = list(summary_requests(graph, found, tables[TEXT_CHUNKS].sort("human_readable_id")))
    summaries, quotes = _summary_frames(requests, summariser.summarise(requests))
    told = described["description"]
    said = summaries.select(text=pl.format("{}\n{}", "title", "text"))["text"]

    def vectors(keys: pl.Series, texts: pl.Series, table: Table) -> pl.DataFrame:
        return embed_rows(keys, texts, embedder, known.get(table), named=table.name.replace("_", " "))

    of_entities = vectors(described["entity_id"], told, COTERAG_DESCRIPTION_VECTORS)
    of_summaries = vectors(summaries["community_id"], said, COTERAG_SUMMARY_VECTORS)
    backgrounds = corpus_backgrounds(
        tables,
        embedder=embedder,
        seed=options.seed,
        members=found.members,
        description_vectors=of_entities,
        summary_vectors=of_summaries,
    )
    thresholds = calibrate(backgrounds, options).rows
    made = {
        COTERAG_STORES: placed,
        COTERAG_COMMUNITIES: found.communities,
        COTERAG_MEMBERS: found.members,
        COTERAG_DESCRIPTIONS: described,
        COTERAG_DESCRIPTION_VECTORS: of_entities,
        COTERAG_SUMMARIES: summaries,
        COTERAG_QUOTES: quotes,
        COTERAG_TERMS: community_terms(graph, found, summaries),
        COTERAG_SUMMARY_VECTORS: of_summaries,
        COTERAG_THRESHOLDS: thresholds.with_columns(
            profile=pl.lit(options.profile), embedder=pl.lit(embedder.name)
        ),
    }
    return made, [*told, *said]

"""CoTeRAG-S: stores, flat communities, descriptions, summaries, terms, vectors and thresholds."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.core.coterag.community_terms import community_terms
from graphrag_dagster.core.coterag.indexing.calibration import calibrated
from graphrag_dagster.core.coterag.indexing.communities import clustered
from graphrag_dagster.core.coterag.indexing.corpus_backgrounds import corpus_backgrounds
from graphrag_dagster.core.coterag.indexing.descriptions import descriptions
from graphrag_dagster.core.coterag.indexing.stores import stores
from graphrag_dagster.core.coterag.indexing.summaries import summary_frames
from graphrag_dagster.core.coterag.indexing.summary_requests import summary_requests
from graphrag_dagster.core.coterag.indexing.triples import triple_graph
from graphrag_dagster.core.language.embedded_rows import embed_rows
from graphrag_dagster.core.text.tokens import get_tokenizer
from graphrag_dagster.orchestration.declare import counts, ins_of, output, table_assets
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    COMMUNITY_LEVELS,
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
    ENTITIES,
    TEXT_CHUNKS,
    TEXT_UNIT_EMBEDDINGS,
    TRIPLES,
)

_TABLES = (
    COTERAG_STORES,
    COTERAG_COMMUNITIES,
    COTERAG_MEMBERS,
    COTERAG_DESCRIPTIONS,
    COTERAG_DESCRIPTION_VECTORS,
    COTERAG_SUMMARIES,
    COTERAG_QUOTES,
    COTERAG_TERMS,
    COTERAG_SUMMARY_VECTORS,
    COTERAG_THRESHOLDS,
)


# One step for all: where it is switched off, as it mostly is, a step costs more than what it makes.
@table_assets(
    _TABLES,
    ins=ins_of(ENTITIES, TRIPLES, COMMUNITY_LEVELS, TEXT_CHUNKS, chunk_vectors=TEXT_UNIT_EMBEDDINGS),
    pool="llm",
)
def coterag(
    context: AssetExecutionContext,
    language: Language,
    warehouse: Warehouse,
    entities: pl.DataFrame,
    triples: pl.DataFrame,
    community_levels: pl.DataFrame,
    text_chunks: pl.DataFrame,
    chunk_vectors: pl.DataFrame,
) -> Iterator[Output[pl.DataFrame]]:
    """What CoTeRAG-S answers from: communities of triples, what stands apart from them, and thresholds."""
    corpus = context.partition_key
    session = language.session(context, "coterag")
    own, embedder = session.settings.coterag, session.embedder()

    graph = triple_graph(entities, triples)
    placed = stores(graph, own.least_component)
    yield output(COTERAG_STORES, placed, **counts(placed, "store"))
    found = clustered(
        graph,
        placed,
        community_levels,
        match=own.match,
        least=own.least_community,
        seed=own.seed,
        resolution=own.resolution,
    )
    tiny = int(found.communities["tiny"].sum())
    yield output(COTERAG_COMMUNITIES, found.communities, match=own.match, tiny=tiny)
    yield output(COTERAG_MEMBERS, found.members)
    described = descriptions(
        graph,
        get_tokenizer(session.settings.text_units.encoding),
        tail_template=own.tail_template,
        most_tokens=own.description_tokens,
    )
    yield output(COTERAG_DESCRIPTIONS, described.frame, templated=round(described.templated, 4))
    known = warehouse.read_if_present(COTERAG_DESCRIPTION_VECTORS, corpus)
    told = described.frame["description"]
    description_vectors = embed_rows(
        described.frame["entity_id"], told, embedder, known, named="descriptions"
    )
    yield output(COTERAG_DESCRIPTION_VECTORS, description_vectors, embedder=embedder.name)

    requests = list(summary_requests(graph, found, text_chunks.sort("human_readable_id")))
    made = summary_frames(requests, session.community_summariser().summarise(requests))
    yield output(
        COTERAG_SUMMARIES,
        made.summaries,
        **counts(made.summaries, "engine"),
        problems=int(made.summaries["problem"].is_not_null().sum()),
    )
    yield output(COTERAG_QUOTES, made.quotes)
    yield output(COTERAG_TERMS, community_terms(graph, found, made.summaries))
    known = warehouse.read_if_present(COTERAG_SUMMARY_VECTORS, corpus)
    said = made.summaries.select(text=pl.format("{}\n{}", "title", "text"))["text"]
    summary_vectors = embed_rows(made.summaries["community_id"], said, embedder, known, named="summaries")
    yield output(COTERAG_SUMMARY_VECTORS, summary_vectors, embedder=embedder.name)
    session.still_uses([*told, *said])

    backgrounds = corpus_backgrounds(
        embedder=embedder,
        seed=own.seed,
        entities=entities,
        text_chunks=text_chunks,
        members=found.members,
        description_vectors=description_vectors,
        summary_vectors=summary_vectors,
        chunk_vectors=chunk_vectors,
    )
    thresholds = calibrated(
        backgrounds, profile=own.profile, quantiles=own.calibration_quantiles(), given=own.thresholds.given()
    )
    yield output(
        COTERAG_THRESHOLDS,
        thresholds.rows.with_columns(profile=pl.lit(own.profile), embedder=pl.lit(embedder.name)),
        profile=own.profile,
        **session.finish(),
    )

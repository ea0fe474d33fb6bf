"""CoTeRAG-S: stores, flat communities, descriptions, summaries, terms, vectors and thresholds."""

from collections.abc import Iterator
from typing import Any

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.catalogue.tasks import COMMUNITY_SUMMARISER
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
    Table,
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
    context: AssetExecutionContext, language: Language, warehouse: Warehouse, **frames: pl.DataFrame
) -> Iterator[Output[pl.DataFrame]]:
    """What CoTeRAG-S answers from: communities of triples, what stands apart from them, and thresholds."""
    # Only what is switched on needs it.
    from graphrag_dagster.core.coterag.indexing.build import build_coterag

    session = language.session(context, "coterag")
    settings, embedder = session.settings, session.embedder()
    vectors = (COTERAG_DESCRIPTION_VECTORS, COTERAG_SUMMARY_VECTORS)
    made = build_coterag(
        entities=frames["entities"],
        triples=frames["triples"],
        community_levels=frames["community_levels"],
        text_chunks=frames["text_chunks"],
        chunk_vectors=frames["chunk_vectors"],
        known={one.name: warehouse.read_if_present(one, context.partition_key) for one in vectors},
        summariser=session.task(COMMUNITY_SUMMARISER),
        embedder=embedder,
        tokenizer=get_tokenizer(settings.text_units.encoding),
        options=settings.coterag,
    )
    session.still_uses(made.embedded)
    summaries = made.tables["summaries"]
    told: dict[Table, dict[str, Any]] = {
        COTERAG_STORES: counts(made.tables["stores"], "store"),
        COTERAG_COMMUNITIES: {"tiny": int(made.tables["communities"]["tiny"].sum())},
        COTERAG_DESCRIPTIONS: {"templated": round(made.templated, 4)},
        COTERAG_SUMMARIES: {
            **counts(summaries, "engine"),
            "problems": int(summaries["problem"].is_not_null().sum()),
            **session.finish(),
        },
        COTERAG_THRESHOLDS: {"profile": settings.coterag.profile, "embedder": embedder.name},
    }
    for table in _TABLES:
        yield output(table, made.tables[table.name], **told.get(table, {}))

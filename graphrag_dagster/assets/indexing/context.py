"""Context nodes of the communities, by Context-Aware Leiden."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.core.language.embedded_rows import embed_rows, text_of_entity
from graphrag_dagster.orchestration.declare import counts, ins_of, output, table_assets
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    COMMUNITY_LEVELS,
    CONTEXT_ACCOUNT,
    CONTEXT_CANDIDATES,
    CONTEXT_NODES,
    CONTEXT_VECTORS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    RELATIONSHIPS,
)

_TABLES = (CONTEXT_CANDIDATES, CONTEXT_NODES, CONTEXT_ACCOUNT, CONTEXT_VECTORS)


# One step for all: where it is switched off, as it mostly is, a step costs more than what it makes.
@table_assets(
    _TABLES,
    ins=ins_of(ENTITIES, RELATIONSHIPS, COMMUNITY_LEVELS, entity_vectors=ENTITY_EMBEDDINGS),
    pool="llm",
)
def context_nodes(
    context: AssetExecutionContext, language: Language, warehouse: Warehouse, **frames: pl.DataFrame
) -> Iterator[Output[pl.DataFrame]]:
    """Nodes attached to communities that they resemble and are no members of (fourth paper §III.A)."""
    # Only what is switched on needs it.
    from graphrag_dagster.core.graph.context.build import build_context
    from graphrag_dagster.core.graph.context.vectors.making import node_vectors
    from graphrag_dagster.core.graph.network import network_of

    session = language.session(context, "context_vectors_embeddings")
    settings = session.settings.context
    vectors = node_vectors(
        settings.embedding,
        frames["entities"]["entity_id"],
        frames["entity_vectors"],
        network_of(frames["relationships"]),
        settings.seed,
        settings.structure,
    )
    made = build_context(frames["relationships"], frames["community_levels"], vectors, settings)
    yield output(CONTEXT_CANDIDATES, made.candidates, **counts(made.candidates, "outcome"))
    yield output(
        CONTEXT_NODES, made.nodes, **{f"level_{k}": n for k, n in counts(made.nodes, "level").items()}
    )
    yield output(CONTEXT_ACCOUNT, made.account)
    taken = frames["entities"].join(made.nodes, on="entity_id", how="semi").sort("entity_id")
    texts = text_of_entity(taken)
    stored = embed_rows(
        taken["entity_id"],
        texts,
        session.embedder(),
        warehouse.read_if_present(CONTEXT_VECTORS, context.partition_key),
        named="context nodes",
    )
    session.still_uses(texts.to_list())
    yield output(CONTEXT_VECTORS, stored, **session.finish())

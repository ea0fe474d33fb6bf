"""The merged graph: instances become nodes and edges, descriptions become one."""

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.core.graph.merging import (
    description_groups,
    merge_claims,
    merge_entities,
    merge_relationships,
)
from graphrag_dagster.operations.keeping.describing import describe
from graphrag_dagster.orchestration.declare import counts, ins_of, result, table_asset
from graphrag_dagster.orchestration.plots import histogram
from graphrag_dagster.resources.language import Language
from graphrag_dagster.tables import (
    CLAIM_GROUPS,
    ENTITIES,
    ENTITY_GROUPS,
    MERGED_CLAIMS,
    RELATIONSHIP_GROUPS,
    RELATIONSHIPS,
)


@table_asset(
    ENTITIES,
    ins=ins_of(ENTITY_GROUPS, RELATIONSHIP_GROUPS),
    pool="llm",
)
def entities(
    context: AssetExecutionContext,
    entity_groups: pl.DataFrame,
    relationship_groups: pl.DataFrame,
    language: Language,
) -> Output[pl.DataFrame]:
    """Nodes of the graph: one per entity, with one description (paper §3.1.3)."""
    session = language.session(context, "entities")
    merged = describe(session, description_groups(entity_groups))
    frame = merge_entities(entity_groups, relationship_groups, merged)
    return result(
        frame,
        **counts(frame, "type"),
        description_problems=int(frame["description_problem"].is_not_null().sum()),
        **session.finish(),
        degrees=histogram(frame["degree"].to_list(), "Degrees", "distinct neighbours"),
    )


@table_asset(
    MERGED_CLAIMS,
    ins=ins_of(CLAIM_GROUPS),
    pool="llm",
)
def claims(
    context: AssetExecutionContext, claim_groups: pl.DataFrame, language: Language
) -> Output[pl.DataFrame]:
    """Claims about the same subject and object of the same type, with one description (paper §3.1.3)."""
    session = language.session(context, "claims")
    merged = describe(session, description_groups(claim_groups))
    frame = merge_claims(claim_groups, merged)
    return result(
        frame,
        **counts(frame, "status"),
        description_problems=int(frame["description_problem"].is_not_null().sum()),
        **session.finish(),
    )


@table_asset(
    RELATIONSHIPS,
    ins=ins_of(RELATIONSHIP_GROUPS, ENTITIES),
    pool="llm",
)
def relationships(
    context: AssetExecutionContext,
    relationship_groups: pl.DataFrame,
    entities: pl.DataFrame,
    language: Language,
) -> Output[pl.DataFrame]:
    """Edges of the graph: undirected, weighted by the number of relation records (paper §3.1.3)."""
    session = language.session(context, "relationships")
    merged = describe(session, description_groups(relationship_groups))
    frame = merge_relationships(relationship_groups, entities, merged, session.settings.graph.weight)
    return result(
        frame,
        weight=session.settings.graph.weight,
        description_problems=int(frame["description_problem"].is_not_null().sum()),
        **session.finish(),
        weights=histogram(frame["weight"].to_list(), "Edge weights", session.settings.graph.weight),
    )

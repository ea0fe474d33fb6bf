"""Hierarchical communities of the merged graph."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.core.graph.clustering import cluster, previous_clustering
from graphrag_dagster.core.graph.levels import coverage
from graphrag_dagster.operations.importing.kept import kept_communities
from graphrag_dagster.orchestration.declare import (
    counts,
    ins_of,
    key_of,
    output,
    table_assets,
)
from graphrag_dagster.orchestration.plots import histogram
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.resources.clustering import ClusteringStart
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    CLUSTERING_STATE,
    COLD_START_EDGES,
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    ENTITIES,
    IMPORTED_COMMUNITIES,
    IMPORTED_ENTITIES,
    RELATIONSHIPS,
)

_TABLES = (COMMUNITIES, COMMUNITY_MEMBERS, COLD_START_EDGES, CLUSTERING_STATE)


@table_assets(
    _TABLES,
    ins=ins_of(ENTITIES, RELATIONSHIPS),
    deps=[key_of(IMPORTED_COMMUNITIES), key_of(IMPORTED_ENTITIES)],
)
def community_hierarchy(
    context: AssetExecutionContext,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    corpora: CorpusStore,
    warehouse: Warehouse,
    clustering: ClusteringStart,
) -> Iterator[Output[pl.DataFrame]]:
    """Communities by hierarchical Leiden, begun from those before; ids stay where they can (paper §3.1.4)."""
    corpus = context.partition_key
    if kept := kept_communities(warehouse, corpora.settings(corpus), corpus, entities, relationships):
        hierarchy, _ = kept
        yield output(COMMUNITIES, hierarchy.communities, begun="imported")
        yield output(COMMUNITY_MEMBERS, hierarchy.members, **coverage(entities, hierarchy.members))
        yield output(COLD_START_EDGES, COLD_START_EDGES.empty())
        yield output(CLUSTERING_STATE, CLUSTERING_STATE.empty())
        return
    settings = corpora.settings(corpus).communities
    with warehouse.reading(corpus) as reader:
        before = [
            reader.read_if_present(table)
            for table in (COMMUNITIES, COMMUNITY_MEMBERS, CLUSTERING_STATE, COLD_START_EDGES)
        ]
    made, begun = cluster(
        relationships,
        previous_clustering(*before),
        profile=settings.profile,
        options=settings.leiden,
        start=clustering.of(settings),
        drift=settings.drift,
        code=code_version("communities"),
    )
    communities, members = made.hierarchy.communities, made.hierarchy.members
    yield output(
        COMMUNITIES,
        communities,
        profile=settings.profile,
        begun=begun.how,
        why=begun.why,
        **{f"level_{k}": n for k, n in counts(communities, "level").items()},
        sizes=histogram(communities["size"].to_list(), "Community sizes", "members"),
    )
    yield output(COMMUNITY_MEMBERS, members, **coverage(entities, members))
    yield output(COLD_START_EDGES, made.cold_start_edges)
    yield output(CLUSTERING_STATE, made.state)

"""Hierarchical communities of the merged graph."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.assets.declare import counts, ins_of, output, table_assets
from graphrag_dagster.assets.plots import histogram
from graphrag_dagster.core.graph.leiden import hierarchical_communities
from graphrag_dagster.core.graph.levels import coverage
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.tables import COMMUNITIES, COMMUNITY_MEMBERS, ENTITIES, RELATIONSHIPS

_CLUSTERING = ("core/graph/leiden.py",)


@table_assets(
    (COMMUNITIES, COMMUNITY_MEMBERS),
    *_CLUSTERING,
    ins=ins_of(ENTITIES, RELATIONSHIPS),
)
def community_hierarchy(
    context: AssetExecutionContext,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    corpora: CorpusStore,
) -> Iterator[Output[pl.DataFrame]]:
    """Communities found by hierarchical Leiden, and their members at every level (paper §3.1.4)."""
    settings = corpora.settings(context.partition_key).communities
    edges = relationships.select(source="source_id", target="target_id", weight="weight")
    hierarchy = hierarchical_communities(edges, **settings.model_dump())
    sizes = hierarchy.communities["size"].to_list()
    by_level = {f"level_{k}": n for k, n in counts(hierarchy.communities, "level").items()}
    yield output(
        COMMUNITIES,
        hierarchy.communities,
        profile=settings.profile,
        **by_level,
        sizes=histogram(sizes, "Community sizes", "members"),
    )
    yield output(COMMUNITY_MEMBERS, hierarchy.members, **coverage(entities, hierarchy.members))

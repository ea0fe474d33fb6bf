"""Hierarchical communities of the merged graph, and where each entity is drawn."""

from collections.abc import Iterator

from graphrag_dagster.core.graph.clustering import cluster, previous_clustering
from graphrag_dagster.core.graph.levels import coverage
from graphrag_dagster.operations.importing.kept import kept_communities
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.pipeline.shown import counts, histogram
from graphrag_dagster.pipeline.stage import Made, StageRun, Tables
from graphrag_dagster.tables import (
    CLUSTERING_STATE,
    COLD_START_EDGES,
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    ENTITIES,
    LAYOUT,
    LAYOUT_STATE,
    RELATIONSHIPS,
)


def communities(tables: Tables, run: StageRun) -> Iterator[Made]:
    """Communities by hierarchical Leiden (paper §3.1.4), and places by forces.

    Both begin from those of the last run: ids and places stay where they can.
    """
    # Not needed by the steps before, the first of which may call a model.
    from graphrag_dagster.core.graph.layout.arranging import arrange, previous_layout

    entities, relationships, own = tables[ENTITIES], tables[RELATIONSHIPS], run.settings.communities
    kept = kept_communities(run.warehouse, run.settings, run.corpus, entities, relationships)
    if kept:
        hierarchy, begun = kept[0], {"begun": "imported"}
        edges, state = COLD_START_EDGES.empty(), CLUSTERING_STATE.empty()
    else:
        made, how = cluster(
            relationships,
            previous_clustering(
                *map(run.before, (COMMUNITIES, COMMUNITY_MEMBERS, CLUSTERING_STATE, COLD_START_EDGES))
            ),
            profile=own.profile,
            options=own.leiden,
            start=run.clustering.of(own),
            drift=own.drift,
            code=code_version("communities"),
        )
        hierarchy, begun = made.hierarchy, {"profile": own.profile, "begun": how.how, "why": how.why}
        edges, state = made.cold_start_edges, made.state
    found, members = hierarchy.communities, hierarchy.members
    yield Made(
        COMMUNITIES,
        found,
        {
            **begun,
            **{f"level_{k}": n for k, n in counts(found, "level").items()},
            "sizes": histogram(found["size"].to_list(), "Community sizes", "members"),
        },
    )
    yield Made(COMMUNITY_MEMBERS, members, coverage(entities, members))
    yield Made(COLD_START_EDGES, edges)
    yield Made(CLUSTERING_STATE, state)
    placed, how = arrange(
        entities,
        relationships,
        members,
        previous_layout(*map(run.before, (LAYOUT, LAYOUT_STATE))),
        start=run.clustering.of(own),
        code=code_version("layout"),
    )
    yield Made(LAYOUT, placed.places, {"begun": how.how, "why": how.why})
    yield Made(LAYOUT_STATE, placed.state)

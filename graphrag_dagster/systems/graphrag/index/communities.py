"""Hierarchical communities of the merged graph, and the position of each entity in its drawing."""

from collections.abc import Iterator
from functools import partial

from graphrag_dagster.kernel.graph.levels import coverage
from graphrag_dagster.kernel.pipeline.display import counts, histogram
from graphrag_dagster.kernel.pipeline.embedding import embedded
from graphrag_dagster.kernel.pipeline.orchestration.versions import code_version
from graphrag_dagster.kernel.pipeline.step import Made, StepRun, Tables
from graphrag_dagster.kernel.tables import (
    CLUSTERING_STATE,
    COLD_START_EDGES,
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    LAYOUT,
    LAYOUT_STATE,
    RELATIONSHIPS,
)
from graphrag_dagster.systems.graphrag.communities.clustering import cluster, previous_clustering
from graphrag_dagster.systems.graphrag.communities.resource import ClusteringStart
from graphrag_dagster.systems.graphrag.index.adopted import kept_communities
from graphrag_dagster.systems.graphrag.settings import CommunitySettings


def communities(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Communities by hierarchical Leiden (paper §3.1.4), and places by forces.

    Both begin from those of the last run: ids and places stay where they can. Entities are
    embedded meanwhile.
    """
    # Not needed by the steps before, the first of which may call a model.
    from graphrag_dagster.systems.graphrag.layout.arranging import arrange, previous_layout

    entities, relationships, own = (
        tables[ENTITIES],
        tables[RELATIONSHIPS],
        run.settings.section(CommunitySettings),
    )
    vectors = run.begin(partial(embedded, run, ENTITY_EMBEDDINGS, entities), quiet=True)
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
            start=run.resource(ClusteringStart).of(own),
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
        start=run.resource(ClusteringStart).of(own),
        code=code_version("layout"),
    )
    yield Made(LAYOUT, placed.places, {"begun": how.how, "why": how.why})
    yield Made(LAYOUT_STATE, placed.state)
    yield vectors.result()

"""The steps of Context-Aware Leiden."""

from graphrag_dagster.kernel.pipeline.step import Step
from graphrag_dagster.kernel.tables import (
    COMMUNITY_LEVELS,
    CONTEXT_ACCOUNT,
    CONTEXT_CANDIDATES,
    CONTEXT_NODES,
    CONTEXT_VECTORS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    RELATIONSHIPS,
)
from graphrag_dagster.systems.context_leiden.index.step import context_nodes, context_study
from graphrag_dagster.systems.context_leiden.tables import CONTEXT_METRICS

STEPS = (
    Step(
        "context_nodes",
        context_nodes,
        reads=(ENTITIES, RELATIONSHIPS, COMMUNITY_LEVELS, ENTITY_EMBEDDINGS),
        assets={CONTEXT_NODES: (COMMUNITY_LEVELS, ENTITY_EMBEDDINGS)},
        beside=(CONTEXT_CANDIDATES, CONTEXT_ACCOUNT, CONTEXT_VECTORS),
        group="communities",
    ),
    Step(
        "context_study",
        context_study,
        reads=(ENTITIES, RELATIONSHIPS, COMMUNITY_LEVELS, ENTITY_EMBEDDINGS),
        assets={CONTEXT_METRICS: (COMMUNITY_LEVELS, ENTITY_EMBEDDINGS)},
        group="studies",
        requested=True,
    ),
)

"""The step of CoTeRAG-S."""

from graphrag_dagster.kernel.pipeline.step import Step
from graphrag_dagster.kernel.tables import (
    COMMUNITY_LEVELS,
    ENTITIES,
    TEXT_CHUNKS,
    TEXT_UNIT_EMBEDDINGS,
    TRIPLES,
)
from graphrag_dagster.systems.coterag.index.step import coterag
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

STEPS = (
    Step(
        "coterag",
        coterag,
        reads=(ENTITIES, TRIPLES, COMMUNITY_LEVELS, TEXT_CHUNKS, TEXT_UNIT_EMBEDDINGS),
        assets={
            COTERAG_COMMUNITIES: (COMMUNITY_LEVELS, TEXT_UNIT_EMBEDDINGS),
            COTERAG_SUMMARIES: (COTERAG_COMMUNITIES,),
        },
        beside=(
            *(COTERAG_STORES, COTERAG_MEMBERS, COTERAG_DESCRIPTIONS, COTERAG_DESCRIPTION_VECTORS),
            *(COTERAG_QUOTES, COTERAG_TERMS, COTERAG_SUMMARY_VECTORS, COTERAG_THRESHOLDS),
        ),
    ),
)

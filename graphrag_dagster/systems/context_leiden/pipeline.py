"""The steps of Context-Aware Leiden: context nodes of communities, and their study."""

from collections.abc import Iterator

from graphrag_dagster.kernel.pipeline.result_display import counts
from graphrag_dagster.kernel.pipeline.step_declaration import Made, Step, StepRun
from graphrag_dagster.kernel.settings.study_settings import StudySettings
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_ACCOUNT, CONTEXT_NODES, CONTEXT_VECTORS
from graphrag_dagster.kernel.tables.core_tables import (
    COMMUNITY_LEVELS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    RELATIONSHIPS,
)
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.tasks.embedded_rows import embed_rows, text_of_entity
from graphrag_dagster.systems.context_leiden.settings import ContextSettings
from graphrag_dagster.systems.context_leiden.studies.context_study import Indexed, study
from graphrag_dagster.systems.context_leiden.tables import (
    CONTEXT_CANDIDATES,
    CONTEXT_METRICS,
)


def context_nodes(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Nodes attached to communities that they resemble and are no members of.

    Adaptive Context GraphRAG, §III.A.
    """
    # Only what is switched on needs it.
    from graphrag_dagster.kernel.graph.undirected_graph import network_of
    from graphrag_dagster.systems.context_leiden.index.context_node_selection import build_context
    from graphrag_dagster.systems.context_leiden.index.node_embeddings import node_vectors

    session, own = run.session("context_vectors_embeddings"), run.settings.section(ContextSettings)
    entities, relationships = tables[ENTITIES], tables[RELATIONSHIPS]
    vectors = node_vectors(
        own.embedding,
        entities["entity_id"],
        tables[ENTITY_EMBEDDINGS],
        network_of(relationships),
        own.seed,
        own.structure,
        own.node2vec.walking,
    )
    made = build_context(relationships, tables[COMMUNITY_LEVELS], vectors, own)
    taken = entities.join(made.nodes, on="entity_id", how="semi").sort("entity_id")
    texts = text_of_entity(taken)
    known = run.before(CONTEXT_VECTORS)
    stored = embed_rows(taken["entity_id"], texts, session.embedder(), known, named="context nodes")
    session.mark_in_use(texts.to_list())
    yield Made(CONTEXT_CANDIDATES, made.candidates)
    yield Made(
        CONTEXT_NODES,
        made.nodes,
        {
            **{f"level_{k}": n for k, n in counts(made.nodes, "level").items()},
            "candidates": counts(made.candidates, "outcome"),
            **session.finish(),
        },
    )
    yield Made(CONTEXT_ACCOUNT, made.account)
    yield Made(CONTEXT_VECTORS, stored)


def context_study(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Context nodes compared with random nodes, as set and otherwise (Adaptive Context GraphRAG, §IV.A)."""
    from graphrag_dagster.systems.graphrag.api import CommunitySettings

    settings = run.settings
    index = Indexed(
        tables[RELATIONSHIPS],
        tables[COMMUNITY_LEVELS],
        settings.section(ContextSettings),
        settings.section(CommunitySettings).leiden,
    )
    studied = settings.section(StudySettings).context
    rows = study(index, studied, tables[ENTITIES]["entity_id"], tables[ENTITY_EMBEDDINGS])
    told = {"variants": rows["variant"].n_unique(), "draws": studied.draws}
    yield Made(CONTEXT_METRICS, rows.sort(CONTEXT_METRICS.key), told)


STEPS = (
    Step(
        "context_nodes",
        context_nodes,
        reads=(ENTITIES, RELATIONSHIPS, COMMUNITY_LEVELS, ENTITY_EMBEDDINGS),
        assets={CONTEXT_NODES: (COMMUNITY_LEVELS, ENTITY_EMBEDDINGS)},
        side_tables=(CONTEXT_CANDIDATES, CONTEXT_ACCOUNT, CONTEXT_VECTORS),
    ),
    Step(
        "context_study",
        context_study,
        reads=(ENTITIES, RELATIONSHIPS, COMMUNITY_LEVELS, ENTITY_EMBEDDINGS),
        assets={CONTEXT_METRICS: (COMMUNITY_LEVELS, ENTITY_EMBEDDINGS)},
        requested=True,
    ),
)

"""What Context-Aware Leiden declares of itself."""

from types import MappingProxyType

from graphrag_dagster.kernel.catalogue.system import Job, Stage, System

#: What the fourth paper has: flat communities, enriched by what resembles them, and an agent over them.
_PAPER = MappingProxyType(
    {
        # §V: no hierarchy, which leaves the number of communities to the resolution.
        "communities.max_cluster_size": 1_000_000_000,
        "communities.resolution": 1.0,
        # §IV.A: node2vec alone.
        "context.enabled": True,
        "context.embedding": "node2vec",
        # Table I: vectors of communities and context nodes only.
        "embeddings.kept": "communities",
        # §III.B: an agent chooses the route, and reads the stored synopses.
        "search.method": "graph",
        "search.routing": "model",
        "search.level": 0,
        "search.graph.shown": "synopses",
    }
)

_STAGES = (
    Stage(
        "context",
        version=1,
        reads=("graph", "communities", "entity_embeddings"),
        sections=("context",),
        libraries=("gensim", "scipy"),
        users=("context_vectors_embeddings",),
        switch="context",
    ),
)

SYSTEM = System(
    "context_leiden",
    "graphrag_dagster.systems.context_leiden",
    builds_on=("graphrag",),
    sections=MappingProxyType(
        {"context": "graphrag_dagster.systems.context_leiden.settings:ContextSettings"}
    ),
    profiles=MappingProxyType({"paper_004": _PAPER}),
    tables=("graphrag_dagster.systems.context_leiden.tables:TABLES",),
    stages=_STAGES,
    pipeline="graphrag_dagster.systems.context_leiden.pipeline:STEPS",
    jobs=(Job("study_context", ("context_study",), "What context nodes are worth beside random ones"),),
)

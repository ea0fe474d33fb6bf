"""Nodes that resemble a community they are not members of, which reports and searches read."""

from graphrag_dagster.kernel.tables.table_declaration import Table, column, embeddings

LEVEL = column("level", "INTEGER", "k of the partition Ck")
SIMILARITY = column("similarity", "DOUBLE", "Mean cosine with the members of the most similar community")
DISTANCE = column(
    "distance",
    "INTEGER",
    "Fewest edges to a member of that community; null: beyond the search limit",
    nullable=True,
)
BETWEENNESS = column("betweenness", "DOUBLE", "Betweenness of the node, 0–1, normalised as configured")

CONTEXT_NODES = Table(
    "graph",
    "context_nodes",
    "context",
    "Context nodes attached to a community they are not members of, best first (Adaptive Context GraphRAG, §III.A)",
    ("level", "entity_id"),
    (
        LEVEL,
        column(
            "community_id", "VARCHAR", "Community it is attached to", ref="graph.communities.community_id"
        ),
        column("entity_id", "VARCHAR", "The node", ref="graph.entities.entity_id"),
        column("home_id", "VARCHAR", "Its own community", ref="graph.communities.community_id"),
        column("rank", "INTEGER", "Rank among the community's context nodes, from 1"),
        SIMILARITY,
        DISTANCE,
        BETWEENNESS,
        column("score", "DOUBLE", "Score it was selected by, after the penalty for central nodes"),
    ),
)

CONTEXT_VECTORS = embeddings(
    "graph",
    "context_vectors",
    "entity_id",
    "graph.entities.entity_id",
    "Vectors of the context nodes' titles and descriptions, for questions at the border of a community",
    group="context",
)

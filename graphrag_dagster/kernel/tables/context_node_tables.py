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

# The summary of a corpus reads it.
CONTEXT_ACCOUNT = Table(
    "graph",
    "context_account",
    "context",
    "Outcome of the search for context nodes, one row per level",
    ("level",),
    (
        LEVEL,
        column("embedding", "VARCHAR", "Embedding that was compared, and its source"),
        column("communities", "INTEGER", "Communities at this level"),
        column("nodes", "INTEGER", "Clustered nodes"),
        column("without_vector", "INTEGER", "Nodes without anything to compare: no candidates"),
        column("misaligned", "INTEGER", "Nodes most similar to a community other than their own"),
        column("dissimilar", "INTEGER", "Of these, not similar enough to anything"),
        column("unreachable", "INTEGER", "Of these, dropped because they are too far away"),
        column("penalised", "INTEGER", "Of these, left without a score by the penalty"),
        column("over_budget", "INTEGER", "Of these, ranked beyond the budget"),
        column("taken", "INTEGER", "Of these, context nodes"),
    ),
)

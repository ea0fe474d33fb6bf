"""Tables of Context-Aware Leiden: nodes that resemble a community they are not members of."""

from graphrag_dagster.kernel.tables.table_declaration import Table, column, embeddings

#: Outcomes for a node that is most similar to a community other than its own.
OUTCOMES = ("taken", "over_budget", "penalised", "unreachable", "dissimilar")

_LEVEL = column("level", "INTEGER", "k of the partition Ck")
_SIMILARITY = column("similarity", "DOUBLE", "Mean cosine with the members of the most similar community")
_DISTANCE = column(
    "distance",
    "INTEGER",
    "Fewest edges to a member of that community; null: beyond the search limit",
    nullable=True,
)
_BETWEENNESS = column("betweenness", "DOUBLE", "Betweenness of the node, 0–1, normalised as configured")

CONTEXT_CANDIDATES = Table(
    "graph",
    "context_candidates",
    "context",
    "Misaligned nodes by level: those most similar to a community other than their own, with the outcome "
    "(Adaptive Context GraphRAG, §III.A)",
    ("level", "entity_id"),
    (
        _LEVEL,
        column("entity_id", "VARCHAR", "The node", ref="graph.entities.entity_id"),
        column("home_id", "VARCHAR", "Its own community", ref="graph.communities.community_id"),
        column("community_id", "VARCHAR", "The most similar community", ref="graph.communities.community_id"),
        _SIMILARITY,
        column(
            "home_similarity",
            "DOUBLE",
            "Mean cosine with its own community, including or excluding the node itself",
        ),
        _DISTANCE,
        _BETWEENNESS,
        column("score", "DOUBLE", "Squared similarity over 1 + distance; 0 if dropped"),
        column("penalised_score", "DOUBLE", "The score after the penalty for central nodes"),
        column(
            "rank",
            "INTEGER",
            "Rank among the community's candidates by penalised score, from 1; null if that is 0",
            nullable=True,
        ),
        column(
            "outcome",
            "VARCHAR",
            "Taken as a context node, ranked beyond the budget, left without a score by the penalty, too "
            "far away, or not similar enough to any community",
            values=OUTCOMES,
        ),
    ),
)


CONTEXT_ACCOUNT = Table(
    "graph",
    "context_account",
    "context",
    "Outcome of the search for context nodes, one row per level",
    ("level",),
    (
        _LEVEL,
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

CONTEXT_NODES = Table(
    "graph",
    "context_nodes",
    "context",
    "Context nodes attached to a community they are not members of, best first (Adaptive Context GraphRAG, §III.A)",
    ("level", "entity_id"),
    (
        _LEVEL,
        column(
            "community_id", "VARCHAR", "Community it is attached to", ref="graph.communities.community_id"
        ),
        column("entity_id", "VARCHAR", "The node", ref="graph.entities.entity_id"),
        column("home_id", "VARCHAR", "Its own community", ref="graph.communities.community_id"),
        column("rank", "INTEGER", "Rank among the community's context nodes, from 1"),
        _SIMILARITY,
        _DISTANCE,
        _BETWEENNESS,
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

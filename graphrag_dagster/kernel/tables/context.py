"""The tables of Context-Aware Leiden: nodes that resemble a community which they are no members of."""

from graphrag_dagster.kernel.tables.declaration import Table, column, embeddings

#: What became of a node that is most like a community other than its own.
OUTCOMES = ("taken", "over_budget", "penalised", "unreachable", "dissimilar")

_LEVEL = column("level", "INTEGER", "k of Ck, whose partition it is of")
_SIMILARITY = column(
    "similarity", "DOUBLE", "Mean cosine with the members of the community that it is most like"
)
_DISTANCE = column(
    "distance",
    "INTEGER",
    "Fewest edges to a member of that community; null: more than are looked at",
    nullable=True,
)
_BETWEENNESS = column("betweenness", "DOUBLE", "Betweenness of the node, 0–1, normalised as the settings say")

CONTEXT_CANDIDATES = Table(
    "graph",
    "context_candidates",
    "context",
    "Misaligned nodes: at each level those that are most like a community other than their own, and what "
    "became of them (fourth paper §III.A)",
    ("level", "entity_id"),
    (
        _LEVEL,
        column("entity_id", "VARCHAR", "The node", ref="graph.entities.entity_id"),
        column("home_id", "VARCHAR", "Its own community", ref="graph.communities.community_id"),
        column(
            "community_id", "VARCHAR", "The community it is most like", ref="graph.communities.community_id"
        ),
        _SIMILARITY,
        column("home_similarity", "DOUBLE", "Mean cosine with its own community, itself counted or not"),
        _DISTANCE,
        _BETWEENNESS,
        column("score", "DOUBLE", "Squared similarity over 1 + distance; 0 where it is dropped"),
        column("penalised_score", "DOUBLE", "The score after the penalty of central nodes"),
        column(
            "rank",
            "INTEGER",
            "Place among the candidates of the community by the penalised score, 1…; null where that is 0",
            nullable=True,
        ),
        column(
            "outcome",
            "VARCHAR",
            "Taken as a context node; behind as many as the budget allows; left without a score by the "
            "penalty; too far away; or not similar enough to anything",
            values=OUTCOMES,
        ),
    ),
)


CONTEXT_ACCOUNT = Table(
    "graph",
    "context_account",
    "context",
    "What became of the clustered nodes when context nodes were looked for: a row per level",
    ("level",),
    (
        _LEVEL,
        column("embedding", "VARCHAR", "What was compared, with what made the vectors"),
        column("communities", "INTEGER", "Communities of the level"),
        column("nodes", "INTEGER", "Clustered nodes"),
        column("without_vector", "INTEGER", "Nodes that nothing can be compared of: no candidates"),
        column("misaligned", "INTEGER", "Nodes most like a community other than their own"),
        column("dissimilar", "INTEGER", "Of these, not similar enough to anything"),
        column("unreachable", "INTEGER", "Of these, dropped since they are too far away"),
        column("penalised", "INTEGER", "Of these, left without a score by the penalty"),
        column("over_budget", "INTEGER", "Of these, behind as many as the budgets allow"),
        column("taken", "INTEGER", "Of these, context nodes"),
    ),
)

CONTEXT_NODES = Table(
    "graph",
    "context_nodes",
    "context",
    "Context nodes: attached to a community that they are no members of, best first (fourth paper §III.A)",
    ("level", "entity_id"),
    (
        _LEVEL,
        column(
            "community_id", "VARCHAR", "Community it is attached to", ref="graph.communities.community_id"
        ),
        column("entity_id", "VARCHAR", "The node", ref="graph.entities.entity_id"),
        column("home_id", "VARCHAR", "Its own community", ref="graph.communities.community_id"),
        column("rank", "INTEGER", "Place among the context nodes of the community, 1…"),
        _SIMILARITY,
        _DISTANCE,
        _BETWEENNESS,
        column("score", "DOUBLE", "By which it was taken: after the penalty of central nodes"),
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

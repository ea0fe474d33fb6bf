"""Tables of Context-Aware Leiden beside its context nodes, and that of its study."""

from graphrag_dagster.kernel.tables.context_node_tables import BETWEENNESS, DISTANCE, LEVEL, SIMILARITY
from graphrag_dagster.kernel.tables.table_declaration import Table, column

CONTEXT_METRICS = Table(
    "studies",
    "context_metrics",
    "studies",
    "Value of context nodes compared with random ones, by variant of the settings (Adaptive Context GraphRAG, §IV.A)",
    ("variant", "level", "measure", "reading"),
    (
        column("variant", "VARCHAR", "What differs from the index; `as set`: nothing"),
        column("level", "INTEGER", "k of the partition Ck"),
        column(
            "measure",
            "VARCHAR",
            "cross_similarity: mean cosine with the nodes outside the own community; _outside_both: also "
            "outside the community it is attached to; precision_at_5: share of a node's five most similar "
            "other nodes with which it shares a community, attached ones included; _own_set: that are in "
            "its own community or attached to it; mean_precision_at_5: the same for a community's mean "
            "vector",
        ),
        column(
            "reading",
            "VARCHAR",
            "plain: Leiden's communities alone; context: with context nodes; random, random_misaligned: "
            "with as many drawn from all nodes, or from the misaligned ones; differences of these; "
            "size_normalised: (context - random) / (1 - random)",
        ),
        column("value", "DOUBLE", "Null if it is undefined, as with a single community", nullable=True),
        column(
            "low",
            "DOUBLE",
            "Lower end of its 95 % interval: over draws for a control, else by bootstrap over nodes",
            nullable=True,
        ),
        column("high", "DOUBLE", "Upper end", nullable=True),
        column("nodes", "INTEGER", "Nodes or communities that the value is the mean of"),
        column("communities", "INTEGER", "Communities at this level"),
        column("taken", "INTEGER", "Context nodes at this level"),
    ),
)


#: Outcomes for a node that is most similar to a community other than its own.
OUTCOMES = ("taken", "over_budget", "penalised", "unreachable", "dissimilar")

CONTEXT_CANDIDATES = Table(
    "graph",
    "context_candidates",
    "context",
    "Misaligned nodes by level: those most similar to a community other than their own, with the outcome "
    "(Adaptive Context GraphRAG, §III.A)",
    ("level", "entity_id"),
    (
        LEVEL,
        column("entity_id", "VARCHAR", "The node", ref="graph.entities.entity_id"),
        column("home_id", "VARCHAR", "Its own community", ref="graph.communities.community_id"),
        column("community_id", "VARCHAR", "The most similar community", ref="graph.communities.community_id"),
        SIMILARITY,
        column(
            "home_similarity",
            "DOUBLE",
            "Mean cosine with its own community, including or excluding the node itself",
        ),
        DISTANCE,
        BETWEENNESS,
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


TABLES = (CONTEXT_CANDIDATES, CONTEXT_METRICS)

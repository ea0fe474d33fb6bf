"""Table of the study of Context-Aware Leiden."""

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

TABLES = (CONTEXT_METRICS,)

"""The table of the study of Context-Aware Leiden."""

from graphrag_dagster.kernel.tables.declaration import Table, column

CONTEXT_METRICS = Table(
    "studies",
    "context_metrics",
    "studies",
    "What context nodes are worth beside random ones, by variant of the settings (fourth paper §IV.A)",
    ("variant", "level", "measure", "reading"),
    (
        column("variant", "VARCHAR", "What differs from the index; `as set`: nothing"),
        column("level", "INTEGER", "k of Ck"),
        column(
            "measure",
            "VARCHAR",
            "cross_similarity: mean cosine with the nodes outside the own community, _outside_both: and outside "
            "of the one attached to; precision_at_5: share of a node's five most similar others with which it "
            "shares a community, attached ones too, _own_set: that are in its own or attached to it; "
            "mean_precision_at_5: the same of a community's mean vector",
        ),
        column(
            "reading",
            "VARCHAR",
            "plain: Leiden's communities alone; context: with context nodes; random, random_misaligned: with as "
            "many drawn from all nodes, or from those misaligned; differences of these; size_normalised: "
            "(context - random) / (1 - random)",
        ),
        column("value", "DOUBLE", "Null where it is undefined, as with one community", nullable=True),
        column(
            "low",
            "DOUBLE",
            "Lower end of its 95 % interval: over draws of a control, else by bootstrap over nodes",
            nullable=True,
        ),
        column("high", "DOUBLE", "Upper end", nullable=True),
        column("nodes", "INTEGER", "Nodes, or communities, that the value is a mean of"),
        column("communities", "INTEGER", "Communities of the level"),
        column("taken", "INTEGER", "Context nodes of the level"),
    ),
)

TABLES = (CONTEXT_METRICS,)

"""What a person calls a row."""

from collections.abc import Mapping

import polars as pl

from graphrag_dagster.core.lineage.rows import Rows

_TITLES = {
    "entity": ("graph.entities", "entity_id", pl.col("title")),
    "relationship": ("graph.relationships", "relationship_id", pl.format("{} – {}", "source", "target")),
    "claim": ("graph.claims", "claim_id", pl.col("description")),
    "summary": ("coterag.summaries", "community_id", pl.col("title")),
    "triple": ("graph.triples", "triple_id", pl.format("{} {} {}", "head", "relation", "tail")),
    "report": ("reports.community_reports", "report_id", pl.col("title")),
}


def titles_of(rows: Rows, named: pl.DataFrame) -> Mapping[str, str]:
    """Return by id the titles of rows; of kinds that have none there is nothing.

    Args:
        rows: the tables.
        named: ``kind`` and ``id`` of each.
    """
    found: dict[str, str] = {}
    for kind, (table, key, title) in _TITLES.items():
        ids = named.filter(pl.col("kind") == kind)["id"].unique()
        columns = [key, *title.meta.root_names()]
        found |= dict(rows.of(table, key, ids, columns).select(key, label=title).iter_rows())
    return found

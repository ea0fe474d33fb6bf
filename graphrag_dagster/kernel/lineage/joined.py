"""The names of an entity, and the decisions by which they were joined, as a step of its lineage."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.rows import Rows
from graphrag_dagster.kernel.lineage.steps import Step
from graphrag_dagster.systems.graphrag.resolution.telling import decisions_on

ALIASES = "resolution.aliases"
DECISIONS = "resolution.decisions"


def names_step(rows: Rows, entity: str, most: int | None) -> Step | None:
    """Return the names of an entity with the decisions that joined them; None where it has only one.

    Args:
        rows: the tables.
        entity: its normalised name.
        most: most decisions; None for all.
    """
    surfaces = _by_mentions(rows.of(ALIASES, "entity", [entity], ("name", "surface", "mentions")))
    if len(surfaces) < 2:
        return None
    known = rows.all(ALIASES, ("document_id", "name", "surface", "full_name", "entity", "title", "mentions"))
    found = decisions_on(rows.all(DECISIONS, ()), known, entity).filter("joins")
    shown = found if most is None else found.head(most)
    paths = _paths(rows, shown["document_id"])
    steps = tuple(decision_step(row, paths) for row in shown.iter_rows(named=True))
    title = ", ".join(surfaces)
    return Step("names", "", title, facts={"names": surfaces}, steps=steps, left_out=len(found) - len(steps))


def decision_step(row: Mapping[str, Any], paths: Mapping[str, str]) -> Step:
    """Return a row of ``resolution.decisions`` as a step; ``paths`` by id of document."""
    facts = {
        "verdict": row["verdict"],
        "by": row["decided_by"],
        "who": row["who"],
        "at": row["decided_at"],
        "score": row["score"],
        "decision_id": row["decision_id"],
        "document": paths.get(row["document_id"]),
    }
    told = {key: value for key, value in facts.items() if value is not None}
    return Step("decision", row["pair_id"], f"{row['one']} – {row['other']}", row["reason"], told)


def _by_mentions(names: pl.DataFrame) -> list[str]:
    """Return the commonest spelling of each name, the most frequent names first."""
    surfaces: list[str] = (
        names.group_by("name", "surface")
        .agg(pl.col("mentions").sum())
        .sort("mentions", "surface", descending=[True, False])
        .group_by("name", maintain_order=True)
        .agg(pl.col("surface").first(), pl.col("mentions").sum())
        .sort("mentions", "surface", descending=[True, False])["surface"]
        .to_list()
    )
    return surfaces


def _paths(rows: Rows, documents: pl.Series) -> dict[str, str]:
    found = rows.of(
        "corpus.documents", "document_id", documents.drop_nulls().unique(), ("document_id", "path")
    )
    return dict(found.select("document_id", "path").iter_rows())

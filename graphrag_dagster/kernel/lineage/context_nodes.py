"""Which communities an entity resembles that it is no member of, and what became of that."""

from collections.abc import Sequence

import polars as pl

from graphrag_dagster.kernel.lineage.rows import Rows
from graphrag_dagster.kernel.lineage.steps import Step

_NODES = "graph.context_nodes"
_MEASURES = ("similarity", "home_similarity", "distance", "betweenness", "penalised_score", "rank")


def resembled_steps(rows: Rows, entity_id: str, most: int | None) -> tuple[tuple[Step, ...], int]:
    """Return the communities that an entity is most like, each with its levels, and how many are left out.

    Args:
        rows: the tables.
        entity_id: of the entity.
        most: most communities; None for all.
    """
    found = rows.of("graph.context_candidates", "entity_id", [entity_id]).sort("level")
    alike = [name for name in found.columns if name != "level"]
    found = found.group_by(alike, maintain_order=True).agg("level")
    kept = found if most is None else found.head(most)
    titles = rows.of("reports.community_reports", "report_id", kept["community_id"], ("report_id", "title"))
    named = dict(titles.iter_rows())
    steps = [
        Step(
            "context node" if row["outcome"] == "taken" else "candidate",
            row["community_id"],
            f"of {_levels(row['level'])}: {named.get(row['community_id'], '')}",
            facts={
                "outcome": row["outcome"],
                **{name: _short(row[name]) for name in _MEASURES if row[name] is not None},
            },
        )
        for row in kept.iter_rows(named=True)
    ]
    return tuple(steps), len(found) - len(kept)


def attachments_of(rows: Rows, entities: pl.Series) -> pl.DataFrame:
    """Return where entities are context nodes: rows of ``graph.context_nodes``, by level and community."""
    columns = ("level", "community_id", "entity_id", "home_id", "score")
    return rows.of(_NODES, "entity_id", entities, columns).sort("level", "community_id", "entity_id")


def outsiders(rows: Rows, report_id: str, shown: pl.DataFrame) -> set[str]:
    """Return the entities that a report's context shows as context nodes: they are no members.

    Args:
        rows: the tables.
        report_id: of the report, which is that of its community.
        shown: rows of ``reports.report_context_rows``.
    """
    entities = set(shown.filter(kind="entity")["record_id"])
    attached = rows.of(_NODES, "community_id", [report_id], ("entity_id",))["entity_id"]
    return entities.intersection(attached)


def _levels(found: Sequence[int]) -> str:
    return ", ".join(f"C{level}" for level in found)


def _short(value: float | int) -> float | int:
    return round(value, 4) if isinstance(value, float) else value

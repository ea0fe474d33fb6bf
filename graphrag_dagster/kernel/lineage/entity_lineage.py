"""Lineage of an entity: its names, the decisions that merged them, and instances by resolved entity."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.lineage_steps import KINDS, LineageRows, LineageStep, facts_of
from graphrag_dagster.kernel.lineage.resolved_names import decisions_on, named_by_entities

ALIASES = "resolution.aliases"
DECISIONS = "resolution.decisions"


def names_step(rows: LineageRows, entity: str, most: int | None) -> LineageStep | None:
    """Return the names of an entity with the decisions that merged them; None if it has only one.

    Args:
        rows: the tables.
        entity: its normalised name.
        most: most decisions; None for all.
    """
    surfaces = _by_mentions(rows.of(ALIASES, "entity", [entity], ("name", "surface", "mentions")))
    if len(surfaces) < 2:
        return None
    aliases = rows.all(
        ALIASES, ("document_id", "name", "surface", "full_name", "entity", "title", "mentions")
    )
    decisions = decisions_on(rows.all(DECISIONS, ()), aliases, entity).filter("joins")
    shown = decisions[:most]
    documents = shown["document_id"].drop_nulls().unique()
    paths = rows.of("corpus.documents", "document_id", documents, ("document_id", "path"))
    paths = paths.select("document_id", document="path")
    located = shown.join(paths, on="document_id", how="left", maintain_order="left")
    steps = tuple(map(_decision_step, located.iter_rows(named=True)))
    title = ", ".join(surfaces)
    return LineageStep(
        "names", "", title, facts={"names": surfaces}, steps=steps, left_out=len(decisions) - len(steps)
    )


def _decision_step(row: Mapping[str, Any]) -> LineageStep:
    named = {**row, "by": row["decided_by"], "at": row["decided_at"]}
    facts = facts_of(named, ("verdict", "by", "who", "at", "score", "decision_id", "document"))
    return LineageStep("decision", row["pair_id"], f"{row['one']} – {row['other']}", row["reason"], facts)


def _by_mentions(names: pl.DataFrame) -> list[str]:
    """Return the most common spelling of each name, most frequent names first."""
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


_COLUMNS = ("document_id", "name", "entity")


def instances_of(
    rows: LineageRows, table: str, names: Sequence[str], entities: Iterable[str]
) -> pl.DataFrame:
    """Return the instances whose first name resolves to one of the entities, with names of entities.

    Args:
        rows: the tables.
        table: ``schema.table``, with ``text_unit_id``.
        names: the columns with names.
        entities: normalised names.
    """
    resolved = sorted(set(entities))
    spellings = rows.of(ALIASES, "entity", resolved, _COLUMNS)["name"].to_list()
    instances = rows.of(table, names[0], sorted({*resolved, *spellings}))
    return resolved_instances(rows, instances, names).filter(pl.col(names[0]).is_in(resolved))


def resolved_instances(rows: LineageRows, instances: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return instances with the names in some columns replaced by those of the entities."""
    units = rows.of(
        "corpus.text_chunks",
        "text_unit_id",
        instances["text_unit_id"].unique(),
        ("text_unit_id", "document_id"),
    )
    mentioned = pl.concat([instances[name] for name in names]).drop_nulls().unique()
    documents = units["document_id"].unique()
    # Filter by whichever is rarer: a frequent name has aliases in most documents of the corpus.
    column, values = ("name", mentioned) if len(mentioned) < len(documents) else ("document_id", documents)
    aliases = rows.of(ALIASES, column, values, _COLUMNS)
    return named_by_entities(instances, names, aliases, units)


_NODES = "graph.context_nodes"
_MEASURES = ("similarity", "home_similarity", "distance", "betweenness", "penalised_score", "rank")


def resemblance_steps(
    rows: LineageRows, entity_id: str, most: int | None
) -> tuple[tuple[LineageStep, ...], int]:
    """Return the communities most similar to an entity, each with its levels, and the number of omitted ones.

    Args:
        rows: the tables.
        entity_id: the entity.
        most: most communities; None for all.
    """
    candidates = rows.of("graph.context_candidates", "entity_id", [entity_id]).sort("level")
    shared = [name for name in candidates.columns if name != "level"]
    candidates = candidates.group_by(shared, maintain_order=True).agg("level")
    shown = candidates[:most]
    titles = KINDS["report"].titles(rows, shown["community_id"])
    steps = [
        LineageStep(
            "context node" if row["outcome"] == "taken" else "candidate",
            row["community_id"],
            f"of {', '.join(f'C{level}' for level in row['level'])}: {titles.get(row['community_id'], '')}",
            facts={
                "outcome": row["outcome"],
                **{name: _round(value) for name, value in facts_of(row, _MEASURES).items()},
            },
        )
        for row in shown.iter_rows(named=True)
    ]
    return tuple(steps), len(candidates) - len(shown)


def outside_entities(rows: LineageRows, report_id: str, shown: pl.DataFrame) -> set[str]:
    """Return the entities in a report's context that are context nodes, not members.

    Args:
        rows: the tables.
        report_id: the report, whose id is that of its community.
        shown: rows of ``reports.report_context_rows``.
    """
    entities = set(shown.filter(kind="entity")["record_id"])
    attached = rows.of(_NODES, "community_id", [report_id], ("entity_id",))["entity_id"]
    return entities.intersection(attached)


def _round(value: float | int) -> float | int:
    return round(value, 4) if isinstance(value, float) else value

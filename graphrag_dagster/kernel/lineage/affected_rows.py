"""Reports, answers and communities that show rows which go or change."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from graphrag_dagster.kernel.lineage.lineage_steps import LineageRows, LineageStep

_KINDS = ("entities", "relationships", "claims", "degrees")
_CONTEXT_ROWS = "reports.report_context_rows"
_REPORTS_SHOWN = {"report_id": pl.String(), "reports": pl.UInt32()}


@dataclass(frozen=True)
class Touched:
    """What goes or loses something, as rows; ``summaries`` are those of CoTeRAG-S that would be told anew."""

    units: pl.DataFrame
    entities: pl.DataFrame
    relationships: pl.DataFrame
    claims: pl.DataFrame
    triples: pl.DataFrame
    summaries: pl.DataFrame

    @cached_property
    def records(self) -> pl.DataFrame:
        """``kind`` and ``record_id`` of everything, as answers name what they were shown."""
        named = (
            ("source", self.units["text_unit_id"]),
            ("entity", self.entities["entity_id"]),
            ("relationship", self.relationships["relationship_id"]),
            ("claim", self.claims["claim_id"]),
            ("triple", self.triples["triple_id"]),
            ("summary", self.summaries["community_id"]),
        )
        return pl.concat(
            [
                ids.alias("record_id").to_frame().select(pl.lit(kind).alias("kind"), "record_id")
                for kind, ids in named
            ]
        )


def affected_reports(rows: LineageRows, touched: Touched) -> pl.DataFrame:
    """Return the reports whose context shows what is touched, most rows first.

    ``entities``, ``relationships`` and ``claims`` count these rows of the context; ``degrees`` further
    relationships of which only the combined degree changes, because an end loses a neighbour; ``reports``
    reports of sub-communities that are themselves among the result. ``holds``: more than ``degrees``.
    """
    found = _with_sub_communities(rows, _shown(rows, touched))
    shows = pl.sum_horizontal("entities", "relationships", "claims", "reports").cast(pl.Int64)
    columns = ("report_id", "human_readable_id", "level", "title", "engine")
    return (
        found.join(
            rows.of("reports.community_reports", "report_id", found["report_id"], columns), on="report_id"
        )
        .select(*columns, *_KINDS, "reports", holds=shows > 0)
        .sort(-shows, -pl.col("degrees").cast(pl.Int64), "level", "report_id")
    )


def affected_answers(
    rows: LineageRows, documents: pl.Series, touched: Touched, reports: pl.Series
) -> pl.DataFrame:
    """Return the answers that cite words of documents or what is touched, or were shown it.

    ``citations`` counts marks whose words stand in the documents; ``shown`` rows of the context that are
    touched, or reports that are affected. Those with the most citations come first.
    """
    cited = (
        rows.of("answers.answer_citations", "document_id", documents, ("answer_id",))
        .group_by("answer_id")
        .agg(citations=pl.len())
    )
    of_reports = reports.alias("record_id").to_frame().select(pl.lit("report").alias("kind"), "record_id")
    records = pl.concat([touched.records, of_reports])
    shown = (
        rows.of(
            "answers.answer_contexts",
            "record_id",
            records["record_id"].unique(),
            ("answer_id", "kind", "record_id"),
        )
        .join(records, on=["kind", "record_id"], how="semi")
        .group_by("answer_id")
        .agg(shown=pl.len())
    )
    ids = pl.concat([cited["answer_id"], shown["answer_id"]]).unique()
    return (
        rows.of("answers.answers", "answer_id", ids, ("answer_id", "question", "method", "engine"))
        .join(cited, on="answer_id", how="left")
        .join(shown, on="answer_id", how="left")
        .with_columns(pl.col("citations", "shown").fill_null(0).cast(pl.Int64))
        .sort(-pl.col("citations"), -pl.col("shown"), "question", "method")
    )


def _other_degrees(rows: LineageRows, relationships: pl.DataFrame) -> pl.DataFrame:
    """Relationships that stay as they are, but for the degree of an end."""
    gone = relationships.filter("gone")
    ends = pl.concat([gone["source_id"], gone["target_id"]]).unique()
    around = pl.concat(
        [
            rows.of("graph.relationships", end, ends, ("relationship_id",))
            for end in ("source_id", "target_id")
        ]
    )
    return around.unique("relationship_id").join(relationships, on="relationship_id", how="anti")


def _shown(rows: LineageRows, touched: Touched) -> pl.DataFrame:
    """How many rows of each report's context show what is touched: counts by ``report_id``."""
    degrees = _other_degrees(rows, touched.relationships)
    named = (
        ("entity", "entities", touched.entities["entity_id"]),
        ("relationship", "relationships", touched.relationships["relationship_id"]),
        ("claim", "claims", touched.claims["claim_id"]),
        ("relationship", "degrees", degrees["relationship_id"]),
    )
    records = pl.concat(
        [
            ids.alias("record_id").to_frame().select("record_id", kind=pl.lit(kind), counted=pl.lit(sort))
            for kind, sort, ids in named
        ]
    )
    return (
        rows.of(_CONTEXT_ROWS, "record_id", records["record_id"], ("report_id", "kind", "record_id"))
        .join(records, on=["kind", "record_id"])
        .group_by("report_id")
        .agg((pl.col("counted") == sort).sum().alias(sort) for sort in _KINDS)
    )


def _with_sub_communities(rows: LineageRows, shown: pl.DataFrame) -> pl.DataFrame:
    """Count ``reports`` too: those of sub-communities in a context that are themselves among the result."""
    below = rows.of(_CONTEXT_ROWS, "kind", ["report"], ("report_id", "record_id"))
    levels = rows.of("graph.communities", "community_id", below["report_id"], ("community_id", "level"))
    affected = set(shown["report_id"])
    counts: dict[str, int] = {}
    deepest_first = (
        below.join(levels, left_on="report_id", right_on="community_id")
        .group_by("level", "report_id")
        .agg("record_id")
        .sort("level", descending=True)
    )
    for report_id, children in deepest_first.select("report_id", "record_id").iter_rows():
        if number := len(affected.intersection(children)):
            affected.add(report_id)
            counts[report_id] = number
    reports = pl.DataFrame(
        {"report_id": list(counts), "reports": list(counts.values())}, schema=_REPORTS_SHOWN
    )
    return shown.join(reports, on="report_id", how="full", coalesce=True).with_columns(
        pl.col(*_KINDS, "reports").fill_null(0)
    )


_NODES = "graph.context_nodes"
_MEASURES = ("similarity", "home_similarity", "distance", "betweenness", "penalised_score", "rank")


def resembled_steps(
    rows: LineageRows, entity_id: str, most: int | None
) -> tuple[tuple[LineageStep, ...], int]:
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
        LineageStep(
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


def attachments_of(rows: LineageRows, entities: pl.Series) -> pl.DataFrame:
    """Return where entities are context nodes: rows of ``graph.context_nodes``, by level and community."""
    columns = ("level", "community_id", "entity_id", "home_id", "score")
    return rows.of(_NODES, "entity_id", entities, columns).sort("level", "community_id", "entity_id")


def outsiders(rows: LineageRows, report_id: str, shown: pl.DataFrame) -> set[str]:
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

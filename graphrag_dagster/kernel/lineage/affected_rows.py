"""Reports, answers and communities that show deleted or changed rows."""

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
    """Rows that are deleted or lose something; ``summaries`` are those of CoTeRAG-S that would be
    rewritten.
    """

    units: pl.DataFrame
    entities: pl.DataFrame
    relationships: pl.DataFrame
    claims: pl.DataFrame
    triples: pl.DataFrame
    summaries: pl.DataFrame

    @cached_property
    def records(self) -> pl.DataFrame:
        """``kind`` and ``record_id`` of everything, as in the contexts of answers."""
        by_kind = (
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
                for kind, ids in by_kind
            ]
        )


def affected_reports(rows: LineageRows, touched: Touched) -> pl.DataFrame:
    """Return the reports whose context shows touched rows, those with the most first.

    ``entities``, ``relationships`` and ``claims`` count these rows of the context. ``degrees`` counts other
    relationships of which only the combined degree changes, because an end loses a neighbour. ``reports``
    counts affected reports of sub-communities. ``holds``: something other than ``degrees`` is affected.
    """
    counts = _with_sub_communities(rows, _count_shown_rows(rows, touched))
    shows = pl.sum_horizontal("entities", "relationships", "claims", "reports").cast(pl.Int64)
    columns = ("report_id", "human_readable_id", "level", "title", "engine")
    return (
        counts.join(
            rows.of("reports.community_reports", "report_id", counts["report_id"], columns), on="report_id"
        )
        .select(*columns, *_KINDS, "reports", holds=shows > 0)
        .sort(-shows, -pl.col("degrees").cast(pl.Int64), "level", "report_id")
    )


def affected_answers(
    rows: LineageRows, documents: pl.Series, touched: Touched, reports: pl.Series
) -> pl.DataFrame:
    """Return the answers that cite words of documents or touched rows, or had them in their context.

    ``citations`` counts citations of words in the documents; ``shown`` counts touched rows and affected
    reports in the context. Those with the most citations come first.
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
    """Return relationships that are unchanged except for the degree of an end."""
    gone = relationships.filter("gone")
    ends = pl.concat([gone["source_id"], gone["target_id"]]).unique()
    around = pl.concat(
        [
            rows.of("graph.relationships", end, ends, ("relationship_id",))
            for end in ("source_id", "target_id")
        ]
    )
    return around.unique("relationship_id").join(relationships, on="relationship_id", how="anti")


def _count_shown_rows(rows: LineageRows, touched: Touched) -> pl.DataFrame:
    """Return how many rows of each report's context are touched: counts by ``report_id``."""
    degrees = _other_degrees(rows, touched.relationships)
    by_kind = (
        ("entity", "entities", touched.entities["entity_id"]),
        ("relationship", "relationships", touched.relationships["relationship_id"]),
        ("claim", "claims", touched.claims["claim_id"]),
        ("relationship", "degrees", degrees["relationship_id"]),
    )
    records = pl.concat(
        [
            ids.alias("record_id").to_frame().select("record_id", kind=pl.lit(kind), counted=pl.lit(sort))
            for kind, sort, ids in by_kind
        ]
    )
    return (
        rows.of(_CONTEXT_ROWS, "record_id", records["record_id"], ("report_id", "kind", "record_id"))
        .join(records, on=["kind", "record_id"])
        .group_by("report_id")
        .agg((pl.col("counted") == sort).sum().alias(sort) for sort in _KINDS)
    )


def _with_sub_communities(rows: LineageRows, shown: pl.DataFrame) -> pl.DataFrame:
    """Add ``reports``: the number of affected reports of sub-communities in each context."""
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
    shown = candidates if most is None else candidates.head(most)
    titles = rows.of("reports.community_reports", "report_id", shown["community_id"], ("report_id", "title"))
    title_of = dict(titles.iter_rows())
    steps = [
        LineageStep(
            "context node" if row["outcome"] == "taken" else "candidate",
            row["community_id"],
            f"of {_levels(row['level'])}: {title_of.get(row['community_id'], '')}",
            facts={
                "outcome": row["outcome"],
                **{name: _round(row[name]) for name in _MEASURES if row[name] is not None},
            },
        )
        for row in shown.iter_rows(named=True)
    ]
    return tuple(steps), len(candidates) - len(shown)


def attachments_of(rows: LineageRows, entities: pl.Series) -> pl.DataFrame:
    """Return the rows of ``graph.context_nodes`` of some entities, by level and community."""
    columns = ("level", "community_id", "entity_id", "home_id", "score")
    return rows.of(_NODES, "entity_id", entities, columns).sort("level", "community_id", "entity_id")


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


def _levels(levels: Sequence[int]) -> str:
    return ", ".join(f"C{level}" for level in levels)


def _round(value: float | int) -> float | int:
    return round(value, 4) if isinstance(value, float) else value

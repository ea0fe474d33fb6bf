"""Which reports and answers show what goes or changes."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from graphrag_dagster.core.lineage.contexts import claim_keys
from graphrag_dagster.core.lineage.packed import PackedRows, parse_context, report_key
from graphrag_dagster.core.lineage.rows import Rows

_KINDS = ("entities", "relationships", "claims", "degrees")
_MEMBERS = ("community_id", "entity_id")
_ENDS = ("relationship_id", "source", "target", "source_id", "target_id")


@dataclass(frozen=True)
class Touched:
    """What goes or loses something: text units, entities, relationships and claims, as rows."""

    units: pl.DataFrame
    entities: pl.DataFrame
    relationships: pl.DataFrame
    claims: pl.DataFrame

    @cached_property
    def records(self) -> pl.DataFrame:
        """``kind`` and ``record_id`` of everything, as answers name what they were shown."""
        named = (
            ("source", self.units["text_unit_id"]),
            ("entity", self.entities["entity_id"]),
            ("relationship", self.relationships["relationship_id"]),
            ("claim", self.claims["claim_id"]),
        )
        return pl.concat(
            [
                ids.alias("record_id").to_frame().select(pl.lit(kind).alias("kind"), "record_id")
                for kind, ids in named
            ]
        )


def affected_reports(rows: Rows, touched: Touched) -> pl.DataFrame:
    """Return the reports whose context shows what is touched, most rows first.

    ``entities``, ``relationships`` and ``claims`` count these rows of the context; ``degrees`` further
    relationships of which only the combined degree changes, because an end loses a neighbour; ``reports``
    reports of sub-communities that are themselves among the result. ``holds``: more than ``degrees``.
    """
    degrees = _other_degrees(rows, touched.relationships)
    inside = _inside(rows, touched, degrees)
    contexts = rows.of("reports.report_contexts", "report_id", inside["report_id"], ("report_id", "complete"))
    cut = contexts.filter(~pl.col("complete"))["report_id"]
    whole = inside.join(contexts.filter("complete"), on="report_id", how="semi")
    counted = whole.with_columns(reports=pl.lit(0, pl.UInt32)).select("report_id", *_KINDS, "reports")
    written = rows.of(
        "reports.community_reports",
        "report_id",
        inside["report_id"],
        ("report_id", "human_readable_id", "level", "title", "engine"),
    )
    parsed = _packed(rows, written.filter(pl.col("report_id").is_in(cut.implode())), touched, degrees, whole)
    found = pl.concat([counted, parsed.select(counted.columns).cast(counted.schema)])
    shows = pl.sum_horizontal("entities", "relationships", "claims", "reports").cast(pl.Int64)
    return (
        found.filter(pl.sum_horizontal(*_KINDS, "reports") > 0)
        .join(written, on="report_id")
        .select(
            "report_id", "human_readable_id", "level", "title", "engine", *_KINDS, "reports", holds=shows > 0
        )
        .sort(-shows, -pl.col("degrees").cast(pl.Int64), "level", "report_id")
    )


def affected_answers(rows: Rows, documents: pl.Series, touched: Touched, reports: pl.Series) -> pl.DataFrame:
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


def _other_degrees(rows: Rows, relationships: pl.DataFrame) -> pl.DataFrame:
    """Relationships that stay as they are, but for the degree of an end."""
    gone = relationships.filter("gone")
    ends = pl.concat([gone["source_id"], gone["target_id"]]).unique()
    around = pl.concat(
        [rows.of("graph.relationships", end, ends, _ENDS) for end in ("source_id", "target_id")]
    )
    return around.unique("relationship_id").join(relationships, on="relationship_id", how="anti")


def _inside(rows: Rows, touched: Touched, degrees: pl.DataFrame) -> pl.DataFrame:
    """What is touched inside each community: counts by ``report_id``, which is the community's id."""
    claims = pl.concat([touched.claims.select("claim_id", name=end) for end in ("subject", "object")])
    about = rows.of("graph.entities", "name", claims["name"].drop_nulls().unique(), ("entity_id", "name"))
    ends = [frame[end] for frame in (touched.relationships, degrees) for end in ("source_id", "target_id")]
    ids = pl.concat([touched.entities["entity_id"], about["entity_id"], *ends]).unique()
    members = rows.of("graph.community_members", "entity_id", ids, _MEMBERS)
    of_claims = claims.join(about, on="name").select("entity_id", "claim_id").unique()
    counted = {
        "entities": members.join(touched.entities, on="entity_id", how="semi"),
        "relationships": _both_inside(members, touched.relationships),
        "claims": members.join(of_claims, on="entity_id").unique(["community_id", "claim_id"]),
        "degrees": _both_inside(members, degrees),
    }
    found = members.select("community_id").unique()
    for name, rows_inside in counted.items():
        sizes = rows_inside.group_by("community_id").agg(pl.len().alias(name))
        found = found.join(sizes, on="community_id", how="left")
    return (
        found.with_columns(pl.col(*_KINDS).fill_null(0))
        .filter(pl.sum_horizontal(*_KINDS) > 0)
        .rename({"community_id": "report_id"})
    )


def _both_inside(members: pl.DataFrame, relationships: pl.DataFrame) -> pl.DataFrame:
    return relationships.join(members, left_on="source_id", right_on="entity_id").join(
        members, left_on=["community_id", "target_id"], right_on=["community_id", "entity_id"], how="semi"
    )


def _packed(
    rows: Rows, cut: pl.DataFrame, touched: Touched, degrees: pl.DataFrame, whole: pl.DataFrame
) -> pl.DataFrame:
    """Counts for reports whose context leaves something out: what is shown is read off their contexts.

    The deepest come first, since a context may show reports of sub-communities.
    """
    texts = rows.of("reports.report_contexts", "report_id", cut["report_id"], ("report_id", "context"))
    packed = {report_id: parse_context(text) for report_id, text in texts.iter_rows()}
    titles = _Titles(rows, packed)
    affected = set(whole["report_id"])
    entities = frozenset((name,) for name in touched.entities["name"])
    relationships = frozenset(touched.relationships.select("source", "target").rows())
    claims = frozenset(key for _, key in claim_keys(touched.claims))
    changed = frozenset(degrees.select("source", "target").rows())
    found: list[tuple[str, int, int, int, int, int]] = []
    for report_id in cut.sort("level", "report_id", descending=[True, False])["report_id"]:
        shown = packed[report_id]
        counts = (
            shown.holding("entity", entities),
            shown.holding("relationship", relationships),
            shown.holding("claim", claims),
            shown.holding("relationship", changed),
            shown.holding("report", titles.of(report_id, affected)),
        )
        if any(counts):
            affected.add(report_id)
        found.append((report_id, *counts))
    schema = {"report_id": pl.String, **dict.fromkeys((*_KINDS, "reports"), pl.UInt32)}
    return pl.DataFrame(found, schema=schema, orient="row")


class _Titles:
    """Keys of the reports of sub-communities."""

    def __init__(self, rows: Rows, packed: dict[str, PackedRows]) -> None:
        substituting = [one for one, shown in packed.items() if shown.keys["report"]]
        children = rows.of("graph.communities", "parent_id", substituting, ("parent_id", "community_id"))
        titles = rows.of(
            "reports.community_reports", "report_id", children["community_id"], ("report_id", "title")
        )
        self._below: dict[str, list[tuple[str, str]]] = {}
        named = children.join(titles, left_on="community_id", right_on="report_id")
        for parent, child, title in named.select("parent_id", "community_id", "title").iter_rows():
            self._below.setdefault(parent, []).append((child, title))

    def of(self, report_id: str, affected: Collection[str]) -> frozenset[tuple[str, ...]]:
        """Keys of those reports of sub-communities that are affected."""
        below = self._below.get(report_id, ())
        return frozenset(report_key(title) for child, title in below if child in affected)

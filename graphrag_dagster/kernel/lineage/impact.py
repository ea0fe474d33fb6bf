"""Impact of a document: the rows that would be deleted or changed without it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.affected_rows import (
    Touched,
    affected_answers,
    affected_reports,
    attachments_of,
)
from graphrag_dagster.kernel.lineage.entity_lineage import ResolvedRows
from graphrag_dagster.kernel.lineage.instance_lineage import triples_stated_in
from graphrag_dagster.kernel.lineage.lineage_steps import LineageRows, lineages
from graphrag_dagster.kernel.lineage.row_lineage import find_rows

_UNIT_COLUMNS = ("text_unit_id", "human_readable_id", "document_id", "start_char", "end_char", "tokens")

_COUNTED = {
    "documents": "corpus.documents",
    "text_units": "corpus.text_chunks",
    "entities": "graph.entities",
    "relationships": "graph.relationships",
    "claims": "graph.claims",
    "communities": "graph.communities",
    "context_nodes": "graph.context_nodes",
    "reports": "reports.community_reports",
    "answers": "answers.answers",
}


_NO_SUMMARIES = pl.DataFrame(
    schema={
        "community_id": pl.String,
        "title": pl.String,
        "engine": pl.String,
        "triples": pl.Int64,
        "lost": pl.Int64,
    }
)


@dataclass(frozen=True, slots=True)
class Impact:
    """The differences without some documents, assuming that communities stay as they are.

    Each frame has the affected rows, most affected first. ``documents``; ``copies``, paths of files with the
    same content, which would replace a document; ``text_units``, which are deleted. ``entities`` and
    ``relationships`` have ``gone`` and the values before and after: ``frequency`` or ``weight``,
    ``instances``, and ``descriptions``, the number of distinct ones, with ``redescribed`` if they must be
    merged again. ``claims`` likewise. ``communities`` lose members; ``context_nodes`` are deleted.
    ``reports`` have deleted or changed rows in their context; ``summaries`` of CoTeRAG-S mention them.
    ``answers`` cite the documents or had such rows in their context. ``totals``: rows of the corpus by kind.
    """

    documents: pl.DataFrame
    copies: Sequence[str]
    text_units: pl.DataFrame
    entities: pl.DataFrame
    relationships: pl.DataFrame
    claims: pl.DataFrame
    communities: pl.DataFrame
    context_nodes: pl.DataFrame
    reports: pl.DataFrame
    summaries: pl.DataFrame
    answers: pl.DataFrame
    totals: Mapping[str, int]

    def counts(self) -> dict[str, int]:
        """Return the numbers of rows that are deleted or changed, or at most requested again from a model."""
        entities, relationships, claims = self.entities, self.relationships, self.claims
        reports = self.reports
        citing = self.answers.filter(pl.col("citations") > 0)
        return {
            "text_units_gone": len(self.text_units),
            "entities_gone": int(entities["gone"].sum()),
            "entities_less": len(entities) - int(entities["gone"].sum()),
            "relationships_gone": int(relationships["gone"].sum()),
            "relationships_less": len(relationships) - int(relationships["gone"].sum()),
            "claims_gone": int(claims["gone"].sum()),
            "claims_less": len(claims) - int(claims["gone"].sum()),
            "communities_less": len(self.communities),
            "context_nodes_gone": len(self.context_nodes),
            "reports_holding": len(reports.filter("holds")),
            "answers_citing": len(citing),
            "descriptions_again": sum(
                int(frame["redescribed"].sum()) for frame in (entities, relationships, claims)
            ),
            "reports_again": len(reports),
            "summaries_again": len(self.summaries),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        frames = ("documents", "text_units", "entities", "relationships", "claims", "communities", "reports")
        others = ("context_nodes", "summaries", "answers")
        return {
            "counts": self.counts(),
            "totals": dict(self.totals),
            "copies": list(self.copies),
            **{name: getattr(self, name).to_dicts() for name in (*frames, *others)},
        }


def impact(rows: LineageRows, asked: str) -> Impact:
    """Return the impact of a document.

    Args:
        rows: the tables.
        asked: path of a file, for all documents in it; or id, prefix of the id, ``human_readable_id`` or
            title of a document. A title shared by several documents selects all of them.

    Raises:
        QuestionError: no such document; the message suggests similar ones.
    """
    documents = _documents(rows, asked)
    units = rows.of("corpus.text_chunks", "document_id", documents["document_id"], _UNIT_COLUMNS)
    ids = units["text_unit_id"]
    entities = _entities(rows, ids)
    relationships = _relationships(rows, ids)
    claims = _claims(rows, ids)
    triples = triples_stated_in(rows, ids)
    gone = entities.filter("gone")["entity_id"]
    of_systems = lineages()
    summaries = next((lineage.affected(rows, triples, gone) for lineage in of_systems), _NO_SUMMARIES)
    touched = Touched(units, entities, relationships, claims, triples, summaries)
    reports = affected_reports(rows, touched)
    sizes = (
        documents["document_id"]
        .to_frame()
        .join(units.group_by("document_id").agg(text_units=pl.len()), on="document_id", how="left")
    )
    return Impact(
        documents=documents.join(sizes.fill_null(0), on="document_id"),
        copies=rows.of("corpus.files", "duplicate_of", documents["path"].unique(), ("path",))[
            "path"
        ].to_list(),
        text_units=units.sort("human_readable_id").drop("human_readable_id"),
        entities=entities.drop("name").sort(~pl.col("gone"), -pl.col("instances"), "entity_id"),
        relationships=relationships.drop("source_id", "target_id").sort(
            ~pl.col("gone"), pl.col("weight_after") - pl.col("weight"), "relationship_id"
        ),
        claims=claims.drop("status", "start_date", "end_date").sort(
            ~pl.col("gone"), -pl.col("instances"), "claim_id"
        ),
        communities=_communities(rows, gone),
        context_nodes=attachments_of(rows, gone),
        reports=reports,
        summaries=summaries,
        answers=affected_answers(rows, documents["document_id"], touched, reports["report_id"]),
        totals={
            **{name: rows.count(table) for name, table in _COUNTED.items()},
            "summaries": sum(rows.count(lineage.table) for lineage in of_systems),
        },
    )


def _documents(rows: LineageRows, asked: str) -> pl.DataFrame:
    all_documents = rows.all(
        "corpus.documents", ("document_id", "human_readable_id", "path", "row", "title", "characters")
    )
    matches = all_documents.filter(pl.col("path") == asked)
    if matches.is_empty():
        candidates = all_documents.select(
            id="document_id", number="human_readable_id", label="path", name="title"
        )
        matches = all_documents.filter(pl.col("document_id").is_in(find_rows("document", candidates, asked)))
    return matches.sort("human_readable_id").drop("human_readable_id")


def _entities(rows: LineageRows, units: pl.Series) -> pl.DataFrame:
    """Return entities with an instance in the units, before and after."""
    table, columns = (
        "extraction.gleaned_entities",
        ("name", "text_unit_id", "round", "position", "description"),
    )
    resolved = ResolvedRows(rows)
    names = resolved.in_units(table, ["name"], units, columns)["name"].unique()
    records = resolved.of_entities(table, ["name"], names, columns)
    entities = rows.of(
        "graph.entities",
        "name",
        names,
        ("entity_id", "name", "title", "type", "description_engine", "frequency", "instances"),
    )
    after = _without_units(rows, records, units, ["name"]).select(
        "name",
        "descriptions",
        "redescribed",
        "description_changes",
        frequency_after="units",
        instances_after="instances",
    )
    return entities.join(after, on="name").with_columns(gone=pl.col("instances_after") == 0)


def _relationships(rows: LineageRows, units: pl.Series) -> pl.DataFrame:
    """Return relationships with an instance in the units, before and after."""
    pair = {
        "source": pl.min_horizontal("source", "target"),
        "target": pl.max_horizontal("source", "target"),
    }
    ends = ["source", "target"]
    table = "extraction.gleaned_relationships"
    columns = (*ends, "text_unit_id", "round", "position", "description", "strength")
    resolved = ResolvedRows(rows)
    in_units = resolved.in_units(table, ends, units, columns).filter(pl.col("source") != pl.col("target"))
    pairs = in_units.select(**pair).unique()
    instances = resolved.of_entities(table, ends, [*pairs["source"], *pairs["target"]], columns)
    records = instances.with_columns(**pair).join(pairs, on=ends, how="semi")
    relationships = rows.of(
        "graph.relationships",
        "source",
        pairs["source"].unique(),
        ("relationship_id", *ends, "source_id", "target_id", "description_engine", "instances", "weight"),
    ).join(pairs, on=ends, how="semi")
    after = _without_units(rows, records, units, ends).select(
        *ends,
        "descriptions",
        "redescribed",
        "description_changes",
        "strength",
        instances_after="instances",
    )
    weight = pl.col("instances_after") if _weights_are_counts(rows) else pl.col("strength")
    return (
        relationships.join(after, on=ends)
        .with_columns(gone=pl.col("instances_after") == 0, weight_after=weight.cast(pl.Float64))
        .drop("strength")
    )


def _claims(rows: LineageRows, units: pl.Series) -> pl.DataFrame:
    """Return claims with an instance in the units, before and after."""
    about = ["subject", "object", "type"]
    # Two claims without an object have equal objects, too.
    object_name = pl.col("object").fill_null("")
    table, names = "extraction.claims", ["subject", "object"]
    columns = (*about, "text_unit_id", "round", "position", "description")
    resolved = ResolvedRows(rows)
    subjects = resolved.in_units(table, names, units, columns)["subject"].unique()
    records = resolved.of_entities(table, names, subjects, columns).with_columns(object_name)
    touched = records.filter(pl.col("text_unit_id").is_in(units.implode())).select(about).unique()
    claims = rows.of(
        "graph.claims",
        "subject",
        subjects,
        (
            "claim_id",
            "human_readable_id",
            *about,
            "status",
            "start_date",
            "end_date",
            "description",
            "instances",
        ),
    ).with_columns(object_name)
    after = _without_units(rows, records.join(touched, on=about, how="semi"), units, about).select(
        *about, "descriptions", "redescribed", "description_changes", instances_after="instances"
    )
    return claims.join(after, on=about).with_columns(
        pl.col("object").replace("", None), gone=pl.col("instances_after") == 0
    )


def _weights_are_counts(rows: LineageRows) -> bool:
    """Whether weights are numbers of records, not sums of strengths."""
    relationships = rows.all("graph.relationships", ("weight", "instances"))
    return bool((relationships["weight"] == relationships["instances"]).all())


def _without_units(
    rows: LineageRows, records: pl.DataFrame, units: pl.Series, key: list[str]
) -> pl.DataFrame:
    """Return what remains of groups of records without the units.

    ``descriptions``: remaining distinct ones; ``redescribed``: there are several, and not the same in the
    same order as before, so they must be merged again; ``description_changes``: they are not the same as
    before.
    """
    order = rows.of(
        "corpus.text_chunks",
        "text_unit_id",
        records["text_unit_id"].unique(),
        ("text_unit_id", "human_readable_id"),
    )
    ordered = records.join(order, on="text_unit_id").sort("human_readable_id", "round", "position")
    remaining = ordered.filter(~pl.col("text_unit_id").is_in(units.implode()))
    counted = remaining.group_by(key).agg(
        instances=pl.len(),
        units=pl.col("text_unit_id").n_unique(),
        strength=pl.col("strength").sum() if "strength" in remaining.columns else pl.lit(0.0),
    )
    changed = pl.col("told").ne_missing(pl.col("told_before"))
    return (
        _distinct_descriptions(ordered, key)
        .rename({"told": "told_before"})
        .join(counted, on=key, how="left")
        .join(_distinct_descriptions(remaining, key), on=key, how="left")
        .with_columns(
            pl.col("instances", "units").fill_null(0),
            pl.col("strength").fill_null(0.0),
            descriptions=pl.col("told").list.len().fill_null(0),
            description_changes=changed,
        )
        .with_columns(redescribed=pl.col("description_changes") & (pl.col("descriptions") > 1))
    )


def _distinct_descriptions(ordered: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Return the distinct descriptions of each group, in order of first appearance."""
    nonblank = pl.col("description").filter(pl.col("description") != "")
    return ordered.group_by(key, maintain_order=True).agg(told=nonblank.unique(maintain_order=True))


def _communities(rows: LineageRows, gone: pl.Series) -> pl.DataFrame:
    """Return communities that lose members, those that lose most first."""
    lost = (
        rows.of("graph.community_members", "entity_id", gone, ("community_id", "entity_id"))
        .group_by("community_id")
        .agg(lost=pl.len().cast(pl.Int32))
    )
    communities = rows.of(
        "graph.communities",
        "community_id",
        lost["community_id"],
        ("community_id", "human_readable_id", "level", "size"),
    )
    titles = rows.of("reports.community_reports", "report_id", lost["community_id"], ("report_id", "title"))
    return (
        communities.join(lost, on="community_id")
        .join(titles, left_on="community_id", right_on="report_id", how="left")
        .with_columns(size_after=pl.col("size") - pl.col("lost"))
        .sort(-pl.col("lost"), "level", "community_id")
        .drop("lost")
    )

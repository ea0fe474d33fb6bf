"""An index as if it held some of its documents only."""

from collections.abc import Set
from dataclasses import replace

import polars as pl

from graphrag_dagster.core.search.context.index import IndexSnapshot

_INSIDE = "inside"


def restricted(index: IndexSnapshot, document_ids: Set[str]) -> IndexSnapshot:
    """Return the snapshot with only what was written from some of its documents.

    Their text units stay, and the entities and relationships that stand in these. What was written from
    several text units stays only where all of them do: the description of an entity or relationship is blank
    otherwise, a claim and a report are left out. A report was written from all that its community holds: its
    entities, and their relationships and claims.

    Args:
        index: the whole.
        document_ids: the documents.
    """
    documents = index.documents.filter(pl.col("document_id").is_in(list(document_ids)))
    units = index.text_chunks.join(documents, on="document_id", how="semi")
    inside = units.select("text_unit_id")
    kept = set(inside["text_unit_id"])
    entities, relationships = _within(index.entities, kept), _within(index.relationships, kept)
    claims = None if index.claims is None else _within(_with_units(index.claims), kept)
    partly = _partly(entities, relationships, claims)
    entities, relationships = _shown(entities), _shown(relationships)
    reports = _reports(index, partly)
    ends = entities["entity_id"]
    return replace(
        index,
        documents=documents,
        text_chunks=units,
        entities=entities,
        relationships=relationships.filter(
            pl.col("source_id").is_in(ends.implode()) & pl.col("target_id").is_in(ends.implode())
        ),
        reports=reports,
        findings=index.findings.join(reports, on="report_id", how="semi"),
        references=index.references.join(reports, on="report_id", how="semi"),
        claims=None if claims is None else claims.filter(_INSIDE).select(_columns(index.claims)),
        claim_records=_semi(index.claim_records, inside, "text_unit_id"),
        unit_vectors=_semi(index.unit_vectors, inside, "text_unit_id"),
        entity_vectors=_semi(index.entity_vectors, entities, "entity_id"),
        report_vectors=_semi(index.report_vectors, reports, "report_id"),
        metadata=_semi(index.metadata, documents, "document_id"),
        periods=_semi(index.periods, documents, "document_id"),
        restricted=True,
    )


def _semi(frame: pl.DataFrame | None, among: pl.DataFrame, key: str) -> pl.DataFrame | None:
    return None if frame is None else frame.join(among, on=key, how="semi")


def _columns(frame: pl.DataFrame | None) -> list[str]:
    return [] if frame is None else frame.columns


def _with_units(claims: pl.DataFrame) -> pl.DataFrame:
    """Claims of older versions are of one text unit each."""
    if "text_unit_ids" in claims.columns:
        return claims
    return claims.with_columns(text_unit_ids=pl.concat_list("text_unit_id"))


def _within(frame: pl.DataFrame, kept: Set[str]) -> pl.DataFrame:
    """All rows with the text units that stay, and whether all of them do."""
    found = [[unit for unit in ids if unit in kept] for ids in frame["text_unit_ids"]]
    whole = [len(some) == len(ids) for some, ids in zip(found, frame["text_unit_ids"], strict=True)]
    return frame.with_columns(
        pl.Series("text_unit_ids", found, dtype=pl.List(pl.String)),
        pl.Series(_INSIDE, whole, dtype=pl.Boolean),
    )


def _shown(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.filter(pl.col("text_unit_ids").list.len() > 0)
        .with_columns(description=pl.when(_INSIDE).then("description").otherwise(pl.lit("")))
        .drop(_INSIDE)
    )


def _partly(entities: pl.DataFrame, relationships: pl.DataFrame, claims: pl.DataFrame | None) -> pl.Series:
    """Entities that something outside is said of: in a description, a relationship or a claim."""
    outside = relationships.filter(~pl.col(_INSIDE))
    said = [entities.filter(~pl.col(_INSIDE))["entity_id"], outside["source_id"], outside["target_id"]]
    if claims is not None:
        about = claims.filter(~pl.col(_INSIDE))
        names = pl.concat([about["subject"], about["object"].drop_nulls()])
        said.append(entities.filter(pl.col("name").is_in(names.implode()))["entity_id"])
    return pl.concat(said)


def _reports(index: IndexSnapshot, partly: pl.Series) -> pl.DataFrame:
    if index.members is None:
        return index.reports.clear()
    outside = index.members.filter(pl.col("entity_id").is_in(partly.unique().implode()))
    return index.reports.join(outside, left_on="report_id", right_on="community_id", how="anti")

"""An index as if it held some of its documents only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Set

    from graphrag_dagster.kernel.questions.context.index import IndexSnapshot

#: The column that says of a row whether all that it was written from stays.
INSIDE = "inside"


def restricted(index: IndexSnapshot, document_ids: Set[str]) -> IndexSnapshot:
    """Return the snapshot with only what was written from some of its documents.

    Their text units stay, and the entities and relationships that stand in these. What was written from
    several text units stays only where all of them do: the description of an entity or relationship is blank
    otherwise, a claim and a report are left out. A report was written from all that its community holds: its
    entities, and their relationships and claims. The parts of single systems say what stays of them.

    Args:
        index: the whole.
        document_ids: the documents.
    """
    documents = among(index.documents, "document_id", pl.Series(sorted(document_ids), dtype=pl.String))
    units = among(index.text_chunks, "document_id", documents["document_id"])
    kept = units["text_unit_id"]
    entities, relationships = within(index.entities, kept), within(index.relationships, kept)
    claims = None if index.claims is None else within(_with_units(index.claims), kept)
    reports = _reports(index, _partly(entities, relationships, claims))
    entities, relationships = _shown(entities), _shown(relationships)
    ends = entities["entity_id"]
    report_ids = reports["report_id"]
    return replace(
        index,
        documents=documents,
        text_chunks=units,
        entities=entities,
        relationships=among(among(relationships, "source_id", ends), "target_id", ends),
        reports=reports,
        findings=among(index.findings, "report_id", report_ids),
        references=among(index.references, "report_id", report_ids),
        claims=None if claims is None else claims.filter(INSIDE).select(_columns(index.claims)),
        claim_records=_if_made(index.claim_records, "text_unit_id", kept),
        unit_vectors=_if_made(index.unit_vectors, "text_unit_id", kept),
        entity_vectors=_if_made(index.entity_vectors, "entity_id", ends),
        report_vectors=_if_made(index.report_vectors, "report_id", report_ids),
        metadata=_if_made(index.metadata, "document_id", documents["document_id"]),
        periods=_if_made(index.periods, "document_id", documents["document_id"]),
        parts={name: part.restricted(kept, ends) for name, part in index.parts.items()},
        triples=None if index.triples is None else stated(index.triples, kept),
        context_nodes=_if_made(index.context_nodes, "entity_id", ends),
        context_vectors=_if_made(index.context_vectors, "entity_id", ends),
        queries=None,
        graph=None,
        restricted=True,
        shelf=None,
    )


def among(frame: pl.DataFrame, key: str, values: pl.Series) -> pl.DataFrame:
    """Return the rows with one of the values, in their order."""
    return frame.filter(pl.col(key).is_in(values.implode()))


def _if_made(frame: pl.DataFrame | None, key: str, values: pl.Series) -> pl.DataFrame | None:
    return None if frame is None else among(frame, key, values)


def stated(triples: pl.DataFrame, kept: pl.Series) -> pl.DataFrame:
    """Return the triples that some text unit states that stays."""
    found = within(triples, kept)
    return found.filter(pl.col("text_unit_ids").list.len() > 0).select(triples.columns)


def _columns(frame: pl.DataFrame | None) -> list[str]:
    return [] if frame is None else frame.columns


def _with_units(claims: pl.DataFrame) -> pl.DataFrame:
    """Claims of older versions are of one text unit each."""
    if "text_unit_ids" in claims.columns:
        return claims
    return claims.with_columns(text_unit_ids=pl.concat_list("text_unit_id"))


def within(frame: pl.DataFrame, kept: pl.Series) -> pl.DataFrame:
    """Return all rows with the text units that stay, and in :data:`INSIDE` whether all of them do."""
    numbered = frame.with_row_index("row")
    every = numbered.select("row", "text_unit_ids").explode("text_unit_ids").drop_nulls()
    some = among(every, "text_unit_ids", kept).group_by("row", maintain_order=True).agg("text_unit_ids")
    found = numbered.join(some, on="row", how="left", suffix="_kept", maintain_order="left")
    staying = pl.col("text_unit_ids_kept").fill_null([])
    return found.with_columns(
        (staying.list.len() == pl.col("text_unit_ids").list.len()).alias(INSIDE),
        text_unit_ids=staying,
    ).drop("row", "text_unit_ids_kept")


def _shown(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.filter(pl.col("text_unit_ids").list.len() > 0)
        .with_columns(description=pl.when(INSIDE).then("description").otherwise(pl.lit("")))
        .drop(INSIDE)
    )


def _partly(entities: pl.DataFrame, relationships: pl.DataFrame, claims: pl.DataFrame | None) -> pl.Series:
    """Entities that something outside is said of: in a description, a relationship or a claim."""
    outside = relationships.filter(~pl.col(INSIDE))
    said = [entities.filter(~pl.col(INSIDE))["entity_id"], outside["source_id"], outside["target_id"]]
    if claims is not None:
        about = claims.filter(~pl.col(INSIDE))
        names = pl.concat([about["subject"], about["object"].drop_nulls()])
        said.append(among(entities, "name", names)["entity_id"])
    return pl.concat(said).unique()


def _reports(index: IndexSnapshot, partly: pl.Series) -> pl.DataFrame:
    if index.members is None:
        return index.reports.clear()
    outside = among(index.members, "entity_id", partly)["community_id"].unique()
    return index.reports.filter(~pl.col("report_id").is_in(outside.implode()))

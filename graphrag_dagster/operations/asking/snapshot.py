"""The index of a corpus as the ways of answering see it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from graphrag_dagster import tables
from graphrag_dagster.core.search.context.context_units import told_in_words
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.operations.asking.kept_tables import kept_index
from graphrag_dagster.operations.querying.snapshot_queries import SnapshotQueries
from graphrag_dagster.resources.published import Published, published, reading
from graphrag_dagster.resources.published.shelf import SnapshotShelf

if TYPE_CHECKING:
    import polars as pl

    from graphrag_dagster.core.coterag.stored import CoteragTables
    from graphrag_dagster.resources.warehouse import Reader, Warehouse
    from graphrag_dagster.tables import Table


def open_snapshot(warehouse: Warehouse, corpus: str) -> IndexSnapshot:
    """Read the tables a search needs: those of the current snapshot, else those of the warehouse.

    Raises:
        WarehouseError: see :func:`open_published`.
    """
    return open_published(warehouse, corpus)[0]


def open_published(warehouse: Warehouse, corpus: str) -> tuple[IndexSnapshot, Published | None]:
    """Read the tables a search needs as :func:`open_snapshot` does, and say where they are from.

    Tables of the graph and the reports that were never made are empty; vectors and claims are None then.

    Returns:
        the tables, and the snapshot they were read from, None for the warehouse.

    Raises:
        WarehouseError: the corpus has not been indexed, or was by a version with other columns; names what
            to run.
    """
    found = published(warehouse, corpus)
    if found is None or not found.large:
        index, found = _read(warehouse, corpus)
    else:
        try:
            index = kept_index(SnapshotShelf(warehouse, corpus, found), partial(_read_just, warehouse, found))
        except _ReplacedError:
            return open_published(warehouse, corpus)
    shelf = SnapshotShelf(warehouse, corpus, found) if found else None
    return replace(index, queries=SnapshotQueries(warehouse, corpus, found), shelf=shelf), found


class _ReplacedError(WarehouseError):
    """Another snapshot has taken the place of the one that was to be read."""


def _read_just(warehouse: Warehouse, wanted: Published) -> IndexSnapshot:
    index, found = _read(warehouse, wanted.manifest["corpus"])
    if found is None or found.index != wanted.index:
        raise _ReplacedError(f"{wanted.file} was replaced while it was opened; ask again")
    return index


def _read(warehouse: Warehouse, corpus: str) -> tuple[IndexSnapshot, Published | None]:
    with reading(warehouse, corpus) as (reader, found):

        def rows(table: Table) -> pl.DataFrame:
            made = reader.read_if_present(table)
            return table.empty() if made is None else made

        records = reader.read_if_present(tables.CLAIMS)
        merged = reader.read_if_present(tables.MERGED_CLAIMS)
        # Indexes of older versions have claims that were not merged.
        claims = records if merged is None else merged
        triples = reader.read_if_present(tables.TRIPLES)
        index = IndexSnapshot(
            documents=reader.read(tables.DOCUMENTS),
            text_chunks=reader.read(tables.TEXT_CHUNKS),
            entities=rows(tables.ENTITIES),
            relationships=rows(tables.RELATIONSHIPS),
            communities=rows(tables.COMMUNITIES),
            community_levels=rows(tables.COMMUNITY_LEVELS),
            reports=rows(tables.COMMUNITY_REPORTS),
            findings=rows(tables.REPORT_FINDINGS),
            references=rows(tables.REPORT_REFERENCES),
            members=reader.read_if_present(tables.COMMUNITY_MEMBERS),
            claims=claims,
            claim_records=records,
            unit_vectors=reader.read_if_present(tables.TEXT_UNIT_EMBEDDINGS),
            entity_vectors=reader.read_if_present(tables.ENTITY_EMBEDDINGS),
            report_vectors=reader.read_if_present(tables.REPORT_EMBEDDINGS),
            metadata=reader.read_if_present(tables.DOCUMENT_METADATA),
            periods=reader.read_if_present(tables.DOCUMENT_PERIODS),
            coterag=_coterag(reader, triples),
            triples=triples,
            context_nodes=reader.read_if_present(tables.CONTEXT_NODES),
            context_vectors=reader.read_if_present(tables.CONTEXT_VECTORS),
            statements=reader.read_if_present(tables.IMPORTED_RELATIONS),
            declared=reader.read_if_present(tables.IMPORTED_ENTITIES),
        )
    return told_in_words(index), found


def _coterag(reader: Reader, triples: pl.DataFrame | None) -> CoteragTables | None:
    """What CoTeRAG-S answers from; None where the index was made without it."""
    thresholds = reader.read_if_present(tables.COTERAG_THRESHOLDS)
    if thresholds is None or thresholds.is_empty() or triples is None:
        return None
    from graphrag_dagster.core.coterag.stored import CoteragTables

    return CoteragTables(
        thresholds=thresholds,
        triples=triples,
        stores=reader.read(tables.COTERAG_STORES),
        members=reader.read(tables.COTERAG_MEMBERS),
        summaries=reader.read(tables.COTERAG_SUMMARIES),
        summary_quotes=reader.read(tables.COTERAG_QUOTES),
        terms=reader.read(tables.COTERAG_TERMS),
        description_vectors=reader.read(tables.COTERAG_DESCRIPTION_VECTORS),
        summary_vectors=reader.read(tables.COTERAG_SUMMARY_VECTORS),
    )

"""The index of a corpus as the ways of answering see it."""

from graphrag_dagster import tables
from graphrag_dagster.core.search.index import IndexSnapshot
from graphrag_dagster.resources.warehouse import Warehouse


def open_snapshot(warehouse: Warehouse, corpus: str) -> IndexSnapshot:
    """Read the tables a search needs.

    Raises:
        WarehouseError: the corpus has not been indexed, or a table is missing; names what to run.
    """
    return IndexSnapshot(
        documents=warehouse.read(tables.DOCUMENTS, corpus),
        text_chunks=warehouse.read(tables.TEXT_CHUNKS, corpus),
        entities=warehouse.read(tables.ENTITIES, corpus),
        relationships=warehouse.read(tables.RELATIONSHIPS, corpus),
        communities=warehouse.read(tables.COMMUNITIES, corpus),
        community_levels=warehouse.read(tables.COMMUNITY_LEVELS, corpus),
        reports=warehouse.read(tables.COMMUNITY_REPORTS, corpus),
        findings=warehouse.read(tables.REPORT_FINDINGS, corpus),
        references=warehouse.read(tables.REPORT_REFERENCES, corpus),
    )

"""Graphs that came from elsewhere, put into a warehouse as reading them would."""

from collections.abc import Mapping
from typing import Any

from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.storage.published import SnapshotProvenance, publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.table_declaration import Table

Row = Mapping[str, Any]


def write_imported(corpus: str, graph: Mapping[Table, list[Row]], **imports: str) -> Warehouse:
    """Fill the tables of a corpus with rows, and publish them as a corpus of the kind graph."""
    warehouse = Warehouse()
    for table, rows in graph.items():
        warehouse.write(table, corpus, table.frame(rows))
    settings = parse_settings({"kind": "graph", "imports": imports}, "test")
    publish(warehouse, corpus, SnapshotProvenance(settings=settings))
    return warehouse

"""Published corpora of a few rows, written as a test says."""

from collections.abc import Mapping
from pathlib import Path

from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import Table
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from support.published_graphs import MadeGraph, filled, publish_graph

Rows = Mapping[Table, Mapping[str, object]]
_MADE = [
    table
    for table in all_tables()
    if table.group in {"corpus", "extraction", "graph", "communities", "reports"}
]


def publish_rows(rows: Rows, corpus: str = "made") -> Explorer:
    """Write rows into the tables of an index, all others empty, publish them, and see them."""
    Path("corpora", corpus).mkdir(parents=True, exist_ok=True)
    warehouse = Warehouse()
    frames = {table: filled(table, rows[table]) if table in rows else table.empty() for table in _MADE}
    warehouse.write_all(corpus, frames)
    publish(warehouse, corpus)
    return Explorer(corpus)


def publish_made(made: MadeGraph, corpus: str = "made") -> Explorer:
    """Publish a made-up graph, and see it."""
    Path("corpora", corpus).mkdir(parents=True, exist_ok=True)
    publish_graph(made, corpus, Warehouse())
    return Explorer(corpus)

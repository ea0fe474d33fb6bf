"""The source columns of each column of a SQL model."""

from collections.abc import Iterable

from sqlglot import exp
from sqlglot.lineage import Node, lineage

from graphrag_dagster.kernel.tables.table_declaration import VECTOR, Table


def column_lineage(query: str, target: Table, refs: Iterable[Table]) -> dict[str, list[tuple[str, str]]]:
    """Return, per column of ``target``, its source columns as sorted pairs (``schema.table``, column)."""
    schema: dict[str, object] = {}
    for table in refs:
        columns = {c.name: "FLOAT[]" if c.type == VECTOR else c.type for c in table.columns}
        by_name = schema.setdefault(table.schema, {})
        if isinstance(by_name, dict):
            by_name[table.name] = {"corpus": "VARCHAR", **columns}
    # None: all columns, in one pass over the query.
    nodes = lineage(None, query, schema=schema, dialect="duckdb")
    return {column: _sources(nodes[column]) for column in target.column_names}


def _sources(root: Node) -> list[tuple[str, str]]:
    sources: set[tuple[str, str]] = set()
    for node in root.walk():
        source = node.expression
        if isinstance(source, exp.Table):
            sources.add((f"{source.db}.{source.name}", node.name.rpartition(".")[2].strip('"')))
    return sorted(sources)

"""Which columns each column of a SQL model is computed from."""

from collections.abc import Iterable

from sqlglot import exp
from sqlglot.lineage import Node, lineage

from graphrag_dagster.kernel.tables import VECTOR, Table


def column_lineage(query: str, target: Table, refs: Iterable[Table]) -> dict[str, list[tuple[str, str]]]:
    """Return, per column of ``target``, the (``schema.table``, column) pairs it is read from, sorted."""
    schema: dict[str, object] = {}
    for table in refs:
        columns = {c.name: "FLOAT[]" if c.type == VECTOR else c.type for c in table.columns}
        by_name = schema.setdefault(table.schema, {})
        if isinstance(by_name, dict):
            by_name[table.name] = {"corpus": "VARCHAR", **columns}
    # Without a column: of all at once, in one pass over the query.
    nodes = lineage(None, query, schema=schema, dialect="duckdb")
    return {column: _sources(nodes[column]) for column in target.column_names}


def _sources(made: Node) -> list[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for node in made.walk():
        source = node.expression
        if isinstance(source, exp.Table):
            found.add((f"{source.db}.{source.name}", node.name.rpartition(".")[2].strip('"')))
    return sorted(found)

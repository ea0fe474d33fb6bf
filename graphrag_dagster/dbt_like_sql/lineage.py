"""Which columns each column of a SQL model is computed from."""

from collections.abc import Iterable

import sqlglot
from sqlglot import exp
from sqlglot.lineage import lineage

from graphrag_dagster.tables import VECTOR, Table


def column_lineage(query: str, target: Table, refs: Iterable[Table]) -> dict[str, list[tuple[str, str]]]:
    """Return, per column of ``target``, the (``schema.table``, column) pairs it is read from, sorted."""
    schema: dict[str, object] = {}
    for table in refs:
        columns = {c.name: "FLOAT[]" if c.type == VECTOR else c.type for c in table.columns}
        by_name = schema.setdefault(table.schema, {})
        if isinstance(by_name, dict):
            by_name[table.name] = {"corpus": "VARCHAR", **columns}
    tree = sqlglot.parse_one(query, dialect="duckdb")
    return {column: _sources(column, tree, schema) for column in target.column_names}


def _sources(column: str, tree: exp.Expr, schema: dict[str, object]) -> list[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for node in lineage(column, tree.copy(), schema=schema, dialect="duckdb").walk():
        source = node.expression
        if isinstance(source, exp.Table):
            found.add((f"{source.db}.{source.name}", node.name.rpartition(".")[2].strip('"')))
    return sorted(found)

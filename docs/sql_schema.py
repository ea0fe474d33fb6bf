"""The declared tables of the SQL models as a dbt user reads them: ``schema.yml``."""

import json
from collections.abc import Iterable, Iterator

from graphrag_dagster.kernel.tables.table_declaration import Column, Table


def schema_yml(tables: Iterable[Table]) -> str:
    """Return the content of a ``schema.yml`` that declares tables with their columns and tests."""
    lines = ["# Made from the declarations of the tables by `make docs`.", "version: 2", "models:"]
    for table in tables:
        lines += [
            f"  - name: {table.name}",
            f"    description: {json.dumps(table.meaning, ensure_ascii=False)}",
        ]
        lines += [f"    config: {{schema: {table.schema}}}", "    columns:"]
        lines += [f"      - {{{', '.join(_column(table, column))}}}" for column in table.columns]
    return "\n".join(lines) + "\n"


def _column(table: Table, column: Column) -> Iterator[str]:
    yield f"name: {column.name}"
    yield f"data_type: {json.dumps(column.type)}"
    yield f"description: {json.dumps(column.meaning, ensure_ascii=False)}"
    tests = [] if column.nullable else ["not_null"]
    if table.key == (column.name,):
        tests.append("unique")
    if column.values:
        tests.append(f"accepted_values: {{values: {json.dumps(list(column.values))}}}")
    if column.references:
        schema, name, key = column.references.split(".")
        tests.append(f"relationships: {{to: \"ref('{schema}.{name}')\", field: {key}}}")
    if tests:
        yield f"tests: [{', '.join(one if ':' not in one else f'{{{one}}}' for one in tests)}]"

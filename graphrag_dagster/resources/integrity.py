"""What must hold of every written table, derived from its declaration."""

import duckdb

from graphrag_dagster import tables
from graphrag_dagster.resources.warehouse import Reader, qualified
from graphrag_dagster.tables import Table


def violations(reader: Reader, table: Table) -> list[str]:
    """Return what is wrong with the corpus's rows: duplicate keys, nulls, values, dangling references."""
    connection, corpus = reader.connection, reader.corpus
    found = [*_keys(connection, table, corpus)]
    for column in table.columns:
        name = f'"{column.name}"'
        if not column.nullable:
            found += _counted(connection, table, corpus, f"{name} is null", f"{column.name} is null")
        if column.values:
            listed = ", ".join(f"'{value}'" for value in column.values)
            found += _counted(
                connection, table, corpus, f"{name} not in ({listed})", f"{column.name} is not allowed"
            )
        if column.references:
            found += _dangling(connection, table, corpus, column.name, column.references)
    return found


def _keys(connection: duckdb.DuckDBPyConnection, table: Table, corpus: str) -> list[str]:
    keys = ", ".join(f'"{key}"' for key in table.key)
    row = connection.execute(
        f"select count(*) from (select 1 from {qualified(table)} where corpus = ? "
        f"group by {keys} having count(*) > 1)",
        [corpus],
    ).fetchone()
    return [f"{row[0]} keys are not unique"] if row and row[0] else []


def _counted(
    connection: duckdb.DuckDBPyConnection, table: Table, corpus: str, condition: str, problem: str
) -> list[str]:
    row = connection.execute(
        f"select count(*) from {qualified(table)} where corpus = ? and {condition}",
        [corpus],
    ).fetchone()
    return [f"{problem} in {row[0]} rows"] if row and row[0] else []


def _dangling(
    connection: duckdb.DuckDBPyConnection, table: Table, corpus: str, column: str, reference: str
) -> list[str]:
    target_name, _, key = reference.rpartition(".")
    target = tables.table(target_name)
    known = f'select "{key}" from {qualified(target)} where corpus = {qualified(table)}.corpus'
    condition = f'"{column}" is not null and "{column}" not in ({known})'
    return _counted(connection, table, corpus, condition, f"{column} does not stand in {reference}")

"""The number of the format of a corpus's DuckDB file, in its table ``meta.format``.

It is raised with every change of the declared tables after which files of before cannot be read.
"""

from pathlib import Path

import duckdb

from graphrag_dagster.errors import ForeignError, WarehouseError
from graphrag_dagster.kernel.storage.duckdb_access import first_row

#: The only format that is read and written.
FORMAT = 6


def check_format(connection: duckdb.DuckDBPyConnection, file: Path) -> int | None:
    """Check that an open file is of the current format, and return it; None if it has no tables yet.

    Raises:
        ForeignError: another program wrote it.
        WarehouseError: it is of another format.
    """
    if (found := _format_of(connection)) == 0 and not our_tables(connection):
        raise ForeignError(
            f"{file} has tables of another program, and stays as it is; move it away, or set "
            "GRAPHRAG_DAGSTER_WAREHOUSE to another place"
        )
    if found not in {None, FORMAT}:
        raise WarehouseError(
            f"{file} has format {found}, and this version of graphrag-dagster reads format {FORMAT} only; "
            "install the version that wrote it, or delete it and index the corpus again"
        )
    return found


def begin_format(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Check the format of an open, writable file as :func:`check_format` does, and number a new one.

    Raises:
        ForeignError: another program wrote it.
        WarehouseError: it is of another format.
    """
    if check_format(connection, file) is None:
        connection.execute("create schema if not exists meta")
        connection.execute(f"create or replace table meta.format as select {FORMAT}::INTEGER as version")


def _format_of(connection: duckdb.DuckDBPyConnection) -> int | None:
    """The number of a file; 0 where it has tables or views without one, None where it has none."""
    try:
        row = first_row(connection.execute("select version from meta.format"))
    except duckdb.CatalogException:
        found = first_row(
            connection.execute(
                "select 1 from (select database_name from duckdb_tables() union all "
                "select database_name from duckdb_views() where not internal) "
                "where database_name = current_database() limit 1"
            )
        )
        return None if found is None else 0
    return int(row[0]) if row else 0


def our_tables(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Return schemas and names of the tables that begin with the corpus, as all of ours do."""
    return connection.execute(
        "select t.schema_name, t.table_name from duckdb_tables() t join duckdb_columns() c "
        "using (database_name, schema_name, table_name) where database_name = current_database() "
        "and not t.internal and not t.temporary and c.column_index = 1 and c.column_name = 'corpus'"
    ).fetchall()

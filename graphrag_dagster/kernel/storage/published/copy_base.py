"""The copy base of a snapshot file: the bytes of the working file, if it holds little else.

Copying a file takes a hundredth of the time of writing its tables, which must be compressed again.
"""

from collections.abc import Collection
from pathlib import Path

import duckdb

from graphrag_dagster.kernel.storage.duckdb_files.frames import first_row

#: Of the blocks of a file, most that may be free: what was deleted takes room in the copy.
_MOST_FREE = 0.25


def can_begin_as(connection: duckdb.DuckDBPyConnection, alias: str, file: Path) -> bool:
    """Whether the bytes of a file are all there is in it, and most of them in use.

    Args:
        connection: to which it is attached, to be read.
        alias: under this name.
        file: its path.
    """
    log = file.with_name(f"{file.name}.wal")
    if log.is_file() and log.stat().st_size:
        return False
    run = connection.execute
    other = "select 1 from {}() where database_name = ? and not internal limit 1"
    if first_row(run(other.format("duckdb_views"), [alias])):
        return False
    room = "select free_blocks, total_blocks from pragma_database_size() where database_name = ?"
    free, blocks = first_row(run(room, [alias])) or (0, 0)
    return bool(free <= _MOST_FREE * blocks)


def keep_only(connection: duckdb.DuckDBPyConnection, alias: str, names: Collection[tuple[str, str]]) -> None:
    """Drop all tables of an attached file but those of these schemas and names."""
    query = "select schema_name, table_name from duckdb_tables() where database_name = ?"
    for place in connection.execute(query, [alias]).fetchall():
        if place not in names:
            schema, name = (part.replace('"', '""') for part in place)
            connection.execute(f'drop table {alias}."{schema}"."{name}"')

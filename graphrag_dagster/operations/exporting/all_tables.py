"""A snapshot as it is: every table as a Parquet file."""

from graphrag_dagster.core.exporting.folder import Making
from graphrag_dagster.core.exporting.parquet_file import told_columns, write_parquet
from graphrag_dagster.operations.exporting.source import Source, view_of
from graphrag_dagster.tables import ALL_TABLES


def write_tables(source: Source, made: Making) -> list[str]:
    """Write every table that the snapshot has, in the order of its key."""
    for table in ALL_TABLES:
        if table not in source.present:
            continue
        order = ", ".join(f'"{name}"' for name in table.key)
        rows = source.rows(f'select * from "{view_of(table)}" order by {order}')
        path = f"{table.schema}/{table.name}.parquet"
        made.note(path, write_parquet(made.place(path), rows), told_columns(rows.schema))
    return []

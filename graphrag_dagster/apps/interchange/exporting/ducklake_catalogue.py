"""A DuckLake catalogue of Parquet files: tables with comments, in a folder that can be moved."""

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb

from graphrag_dagster.errors import ExportError
from graphrag_dagster.kernel.storage.duckdb_access import CONFIG
from graphrag_dagster.kernel.storage.warehouse import qualified
from graphrag_dagster.kernel.tables.table_declaration import Table

_PACKAGE, _EXTRA = "duckdb_extension_ducklake", "graphrag-dagster[ducklake]"
_LAKE = "lake"
#: Where files are, from the folder of the catalogue: DuckLake would write down where it was made.
_DATA_PATH = "./"
#: Bytes; the least that DuckDB has, since many small tables make a catalogue.
_BLOCK = 16_384


def path_in_lake(table: Table) -> str:
    """Return the path of a table's file beside the catalogue; in other folders it would be absolute."""
    return f"{table.schema}/{table.name}/{table.name}.parquet"


@contextmanager
def lake_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to DuckDB with its extension ``ducklake``: of the package, else as DuckDB has installed it.

    Raises:
        ExportError: it is not installed.
    """
    with duckdb.connect(config=CONFIG) as connection:
        spec = importlib.util.find_spec(_PACKAGE)
        folders = (spec and spec.submodule_search_locations) or ()
        built = f"extensions/v{duckdb.__version__}/ducklake.duckdb_extension"
        file = next((place for one in folders if (place := Path(one, built)).is_file()), "ducklake")
        try:
            connection.execute(f"load {_text(str(file))}")
        except duckdb.Error as error:
            raise ExportError(
                f"DuckDB {duckdb.__version__} has no extension ducklake ({str(error).splitlines()[0]}); run: "
                f'pip install "{_EXTRA}"'
            ) from error
        yield connection


def write_catalogue(
    connection: duckdb.DuckDBPyConnection, place: Path, tables: Mapping[Table, Mapping[str, str]]
) -> None:
    """Write the catalogue of the tables whose files lie beside it, see :func:`path_in_lake`.

    Args:
        connection: see :func:`lake_connection`.
        place: the file of the catalogue.
        tables: table → its columns.
    """
    run, folder = connection.execute, place.parent
    # In memory first: a file would keep in its free blocks where it was made.
    run(f"attach 'ducklake::memory:' as {_LAKE} (data_path {_text(f'{folder}/')}, metadata_catalog 'made')")
    run("begin")
    for schema in dict.fromkeys(table.schema for table in tables):
        run(f'create schema if not exists {_LAKE}."{schema}"')
    for table, columns in tables.items():
        name, file = qualified(table, _LAKE), _text(str(folder / path_in_lake(table)))
        run(f"create table {name} as from read_parquet({file}) limit 0")
        run(f"call ducklake_add_data_files('{_LAKE}', '{table.name}', {file}, schema => '{table.schema}')")
        run(f"comment on table {name} is {_text(table.meaning)}")
        for column in table.columns:
            if column.name in columns:
                run(f'comment on column {name}."{column.name}" is {_text(column.meaning)}')
    run("commit")
    run("update made.ducklake_metadata set value = ? where key = 'data_path'", [_DATA_PATH])
    run(f"attach {_text(str(place))} as catalogue (block_size {_BLOCK})")
    run("copy from database made to catalogue")
    run("detach catalogue")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"

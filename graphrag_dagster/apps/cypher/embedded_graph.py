"""The embedded property graph of a published snapshot, built on first use (extra ``graph-db``)."""

import json
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from graphrag_dagster.apps.cypher.tables import FORMAT as GRAPH_FORMAT
from graphrag_dagster.apps.cypher.tables import GRAPH_TABLES, GraphTable
from graphrag_dagster.errors import EngineError, WarehouseError
from graphrag_dagster.kernel.storage.duckdb_access import first_row
from graphrag_dagster.kernel.storage.published.derived_files import DerivedFile
from graphrag_dagster.kernel.storage.published.snapshot_manifest import reading
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse

__all__ = ["graph_of"]


_PROGRAM = Path(__file__).with_name("loading_process.py")
#: Memory for the pages of a graph that is made.
_MAKING_BYTES = 1_000_000_000
_READ_ONLY = 0o444

#: Files of property graphs.
GRAPHS = DerivedFile("graphs", f"{GRAPH_FORMAT}.lbug", "the graph")


def graph_of(warehouse: Warehouse, corpus: str) -> Path:
    """Return the file of the graph of a corpus's current snapshot, and make it where it is not there yet.

    Raises:
        EngineError: the extra ``graph-db`` is not installed.
        WarehouseError: nothing has been published, or the graph cannot be made.
        DamagedError: what was published cannot be read.
    """
    if find_spec("ladybug") is None:
        raise EngineError(
            "queries in Cypher need the graph database of the extra graph-db: pip install "
            "'graphrag-dagster[graph-db]'"
        )
    with reading(warehouse, corpus) as (reader, snapshot):
        if snapshot is None:
            raise WarehouseError(
                f"nothing of corpus {corpus!r} has been published; run 'graphrag-dagster index {corpus}'"
            )
        file = GRAPHS.place(snapshot)
        if not file.is_file():
            GRAPHS.make(warehouse, corpus, snapshot, file, partial(_write, reader))
    return file


def _write(reader: Reader, making: Path) -> None:
    _load(making, [_export_table(reader, table, making.parent) for table in GRAPH_TABLES])
    making.chmod(_READ_ONLY)


def _export_table(reader: Reader, table: GraphTable, folder: Path) -> list[str]:
    """Write the rows of a table; returns the statements that declare and fill it."""
    if any(not _has(reader, name) for name in table.needs):
        return [table.statement]
    name = f"{table.name}.parquet"
    target = str(folder / name).replace("'", "''")
    reader.connection.execute(f"copy ({table.rows}) to '{target}' (format parquet)")
    return [table.statement, f"COPY {table.name} FROM '{name}'"]


def _has(reader: Reader, full_name: str) -> bool:
    schema, name = full_name.split(".")
    found = first_row(
        reader.connection.execute(
            "select 1 from duckdb_tables() where schema_name = ? and table_name = ? "
            "and database_name = current_database()",
            [schema, name],
        )
    )
    return found is not None


def _load(file: Path, statements: list[list[str]]) -> None:
    request = {
        "file": file.name,
        "bytes": _MAKING_BYTES,
        "statements": [one for table in statements for one in table],
    }
    ended = subprocess.run(
        [sys.executable, "-P", str(_PROGRAM)],
        input=json.dumps(request),
        cwd=file.parent,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if ended.returncode != 0:
        why = (ended.stdout or ended.stderr).strip().splitlines()
        told = why[-1] if why else "it was killed"
        raise WarehouseError(f"the graph {file.parent.parent / file.name} cannot be made: {told}")

"""A DuckLake catalogue, attached as an analyst does."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import polars as pl
import pytest

from graphrag_dagster import export
from graphrag_dagster.apps.interchange.exporting import ducklake_catalogue
from graphrag_dagster.apps.interchange.exporting.ducklake_catalogue import lake_connection
from graphrag_dagster.apps.interchange.exporting.graph_export import Exported
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import ExportError
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import declared_table

GONE = ("Corvane", "Ilse Maro", "report.txt")


@pytest.fixture(scope="module")
def warehouse(indexed_home: Path) -> Warehouse:
    return Warehouse(path=str(indexed_home / "warehouse" / "{corpus}.duckdb"))


@pytest.fixture(scope="module")
def exported(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return export("coast", "ducklake", tmp_path_factory.mktemp("lake") / "out", warehouse=warehouse)


@contextmanager
def attached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[duckdb.DuckDBPyConnection]:
    monkeypatch.chdir(folder)
    with lake_connection() as connection:
        connection.execute("attach 'ducklake:coast.ducklake' as lake (read_only)")
        yield connection


def test_every_table_and_its_meaning_is_in_the_catalogue(
    warehouse: Warehouse, exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = published(warehouse, "coast")
    assert snapshot is not None
    with attached(exported.folder, monkeypatch) as lake:
        lake.execute(f"attach '{snapshot.file}' as snapshot (read_only)")
        tables = {declared_table(f"{schema}.{name}"): text for schema, name, text in told(lake, "tables")}
        files = {Path(file.path) for file in exported.files if file.path.endswith(".parquet")}
        assert files == {Path(table.schema, table.name, f"{table.name}.parquet") for table in tables}
        assert tables == {table: table.meaning for table in tables}
        meanings = {
            (*table.path, column.name, column.meaning) for table in tables for column in table.columns
        }
        assert told(lake, "columns") == meanings
        for table in tables:
            order = f"order by {', '.join(table.key)}"
            before = lake.sql(f"select * exclude (corpus) from snapshot.{table.full_name} {order}").pl()
            after = lake.sql(f"select * from lake.{table.full_name} {order}").pl()
            vectors = [name for name, of in before.schema.items() if isinstance(of, pl.Array)]
            lists = before.with_columns(pl.col(name).arr.to_list() for name in vectors)
            assert after.select(before.columns).equals(lists)


def told(lake: duckdb.DuckDBPyConnection, what: str) -> set[tuple[str, ...]]:
    names = "table_name" if what == "tables" else "table_name, column_name"
    query = f"select schema_name, {names}, comment from duckdb_{what}() where database_name = 'lake'"
    return set(lake.sql(query).fetchall())


def test_its_folder_can_be_moved(exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = str(exported.folder.parent).encode()
    assert made not in (exported.folder / "coast.ducklake").read_bytes()
    moved = Path(shutil.copytree(exported.folder, tmp_path / "it's moved"))
    # Where they were made there are no rows any more.
    counting = "select count(*), count(title) from lake.graph.entities"
    rows = next(file.rows for file in exported.files if file.path.endswith("graph/entities/entities.parquet"))
    (exported.folder / "graph").rename(exported.folder / "elsewhere")
    try:
        with attached(moved, monkeypatch) as lake:
            assert lake.execute(counting).fetchall() == [(rows, rows)]
        monkeypatch.chdir(tmp_path)
        place = str(moved).replace("'", "''")
        with lake_connection() as connection:
            options = f"(read_only, data_path '{place}', override_data_path true)"
            connection.execute(f"attach 'ducklake:{place}/coast.ducklake' as lake {options}")
            assert connection.execute(counting).fetchall() == [(rows, rows)]
    finally:
        (exported.folder / "elsewhere").rename(exported.folder / "graph")


@pytest.mark.long
def test_a_document_deleted_leaves_no_trace_once_exported_again(coast: Path, home: Path) -> None:
    out = home / "out"
    export("coast", "ducklake", out)
    assert "coast.ducklake" in marked(out)
    for name in ("report.txt", "letter.txt"):
        (coast / "institute" / name).unlink()
    run_job("coast")
    export("coast", "ducklake", out)
    assert not marked(out)
    assert pl.read_parquet(out / "corpus" / "documents" / "documents.parquet").height == 2


def marked(folder: Path) -> set[str]:
    """The files that have a marker, readable as they are or only once decompressed."""
    found = set()
    for file in folder.rglob("*"):
        if file.is_file():
            content = (
                str(pl.read_parquet(file).to_dicts())
                if file.suffix == ".parquet"
                else file.read_bytes().decode("latin-1")
            )
            found |= {file.name for marker in GONE if marker in content}
    return found


def test_without_the_extension_the_extra_is_named_and_nothing_is_written(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, ducklake_catalogue._PACKAGE, None)
    # Where DuckDB would have installed it.
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    with pytest.raises(ExportError, match=r'pip install "graphrag-dagster\[ducklake\]"'):
        export("coast", "ducklake", tmp_path / "made" / "out", warehouse=warehouse)
    assert not list((tmp_path / "made").iterdir())


def test_what_duckdb_has_installed_itself_serves_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb_extension_ducklake

    file = next(Path(duckdb_extension_ducklake.__path__[0]).rglob("*.duckdb_extension"))
    monkeypatch.setitem(sys.modules, ducklake_catalogue._PACKAGE, None)
    monkeypatch.setenv("HOME", str(tmp_path))
    with duckdb.connect() as connection:
        connection.execute(f"install '{file}'")
    with lake_connection() as connection:
        loaded = "select loaded from duckdb_extensions() where extension_name = 'ducklake'"
        assert connection.execute(loaded).fetchall() == [(True,)]

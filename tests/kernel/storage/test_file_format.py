"""Working files and snapshots of another format than the current one are refused, and stay as they are."""

import json
import re
from pathlib import Path

import duckdb
import pytest

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.file_format import FORMAT
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.published.snapshot_manifest import folder_of
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from support.commands import Run
from support.tables_of import contents

WITHOUT_A_NUMBER = """
create schema graph;
create table graph.community_members (corpus VARCHAR, community_id VARCHAR, entity_id VARCHAR, level INTEGER);
insert into graph.community_members values ('coast', 'c', 'e', 0);
"""


def numbered(version: int) -> str:
    return f"create schema meta; create table meta.format as select {version} as version"


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(path=str(tmp_path / "{corpus}.duckdb"), lock_timeout_seconds=0.5)


def written(warehouse: Warehouse, statements: str) -> Path:
    with duckdb.connect(str(warehouse.file("coast"))) as connection:
        connection.execute(statements)
    return warehouse.file("coast")


def format_of(file: Path) -> int:
    with duckdb.connect(str(file), read_only=True) as connection:
        return int(connection.execute("from meta.format").fetchall()[0][0])


def test_a_new_file_is_of_the_current_format(warehouse: Warehouse) -> None:
    with warehouse.connect("coast"):
        pass
    assert format_of(warehouse.file("coast")) == FORMAT


def test_an_empty_file_can_be_read_and_gets_a_number_when_it_is_written(warehouse: Warehouse) -> None:
    file = written(warehouse, "")
    assert warehouse.read_if_present(tables.COMMUNITY_MEMBERS, "coast") is None
    with warehouse.connect("coast"):
        pass
    assert format_of(file) == FORMAT


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(
    ("statements", "found"),
    [(WITHOUT_A_NUMBER, 0), (numbered(FORMAT - 1), FORMAT - 1), (numbered(FORMAT + 1), FORMAT + 1)],
)
def test_a_file_of_another_format_is_refused_and_stays_as_it_is(
    warehouse: Warehouse, statements: str, found: int, read_only: bool
) -> None:
    file = written(warehouse, statements)
    before = file.read_bytes()
    told = rf"{re.escape(str(file))} has format {found}, .* reads format {FORMAT} only; .*delete it and index"
    with pytest.raises(WarehouseError, match=told), warehouse.connect("coast", read_only=read_only):
        pytest.fail("it was opened")
    assert file.read_bytes() == before


@pytest.mark.usefixtures("coast")
def test_a_missing_column_names_the_command_that_makes_its_table() -> None:
    warehouse = Warehouse()
    with warehouse.connect("coast") as connection:
        connection.execute("alter table reports.community_reports drop column tokens")
    with pytest.raises(WarehouseError, match="'tokens'.*materialise reports/community_reports"):
        warehouse.read(tables.COMMUNITY_REPORTS, "coast")


@pytest.mark.usefixtures("coast")
def test_an_index_begins_anew_where_a_file_of_another_format_was_deleted(run: Run) -> None:
    warehouse = Warehouse()
    file, made = warehouse.file("coast"), contents(warehouse, "coast")
    with duckdb.connect(str(file)) as connection:
        connection.execute("drop schema meta cascade")
    code, _, error = run("index", "coast", "--again")
    assert (code, "has format 0" in error, str(file) in error) == (1, True, True)
    file.unlink()
    code, _, error = run("index", "coast")
    assert code == 0, error
    assert contents(warehouse, "coast") == made


@pytest.mark.usefixtures("coast")
def test_a_snapshot_of_another_format_is_refused_until_it_is_deleted(run: Run) -> None:
    warehouse = Warehouse()
    (manifest,) = (one for one in folder_of(warehouse, "coast").glob("*.json") if one.name != "current.json")
    manifest.write_text(json.dumps({**json.loads(manifest.read_text("utf-8")), "format": 1}), "utf-8")
    with pytest.raises(
        WarehouseError, match=rf"{re.escape(str(manifest))} has format 1, .*; delete it and run"
    ):
        published(warehouse, "coast")
    assert "has format 1" in run("ask", "coast", "Who led the strike?")[2]
    manifest.unlink()
    code, _, error = run("index", "coast")
    assert code == 0, error
    assert published(warehouse, "coast") is not None

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from graphrag_dagster.apps.evaluation.tables import VERDICTS
from graphrag_dagster.errors import CorpusError, WarehouseError
from graphrag_dagster.kernel.pipeline.table_checks import violations
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.resources.io_manager import data_version
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES
from support.disks import files_of_at_most


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(path=str(tmp_path / "wh" / "{corpus}.duckdb"), lock_timeout_seconds=0.5)


def members(*rows: tuple[str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["community_id", "entity_id", "level"], orient="row")


def vectors(length: int, *ids: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "entity_id": ids,
            "text_hash": ["h"] * len(ids),
            "embedder": [f"e{length}"] * len(ids),
            "vector": pl.Series(np.ones((len(ids), length), np.float32), dtype=pl.Array(pl.Float32, length)),
        }
    )


def test_written_rows_come_back_in_key_order(warehouse: Warehouse) -> None:
    assert warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(("b", "x", 0), ("a", "y", 0))) == 2
    assert warehouse.read(tables.COMMUNITY_MEMBERS, "a")["community_id"].to_list() == ["a", "b"]


def test_rows_that_stand_in_another_order_come_back_in_key_order(warehouse: Warehouse) -> None:
    rows = [("b", "y", 0), ("a", "z", 0), ("b", "x", 0), ("a", "é", 0), ("a", "Z", 0)]
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(*rows))
    written = warehouse.read(tables.COMMUNITY_MEMBERS, "a")
    assert written.select("community_id", "entity_id").rows() == sorted(row[:2] for row in rows)
    with warehouse.connect("a") as connection:
        connection.execute("create temp table moved as from graph.community_members order by entity_id desc")
        connection.execute("delete from graph.community_members")
        connection.execute("insert into graph.community_members from moved")
    assert warehouse.read(tables.COMMUNITY_MEMBERS, "a").equals(written)


def test_every_declared_table_can_be_written_empty_and_read(warehouse: Warehouse) -> None:
    for table in all_tables():
        frame = table.empty()
        if "vector" in frame.columns:
            frame = frame.with_columns(pl.Series("vector", [], dtype=pl.Array(pl.Float32, 4)))
        warehouse.write(table, "a", frame)
        with warehouse.reading("a") as reader:
            assert reader.read(table).is_empty()
            assert reader.is_empty(table)
            assert violations(reader, table) == []


def test_a_table_is_empty_only_in_its_declared_shape(warehouse: Warehouse) -> None:
    with warehouse.connect("a") as connection:
        connection.execute(
            "create schema graph; create table graph.community_members (corpus varchar, level integer)"
        )
    with warehouse.reading("a") as reader:
        assert not reader.is_empty(tables.COMMUNITY_MEMBERS)
        assert not reader.is_empty(tables.ENTITIES)
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", members())
    with warehouse.reading("a") as reader:
        assert reader.is_empty(tables.COMMUNITY_MEMBERS)
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(("a", "x", 0)))
    with warehouse.reading("a") as reader:
        assert not reader.is_empty(tables.COMMUNITY_MEMBERS)


def test_spans_lists_and_nulls_survive(warehouse: Warehouse) -> None:
    row = {"instance_id": "i", "text_unit_id": "u", "round": 0, "position": 0, "name": "A", "surface": "A"}
    text = {"type": "T", "description": "é 😀 'quoted'", "engine": "extractive"}
    frame = GLEANED_ENTITIES.frame([{**row, **text, "spans": [{"start": 1, "end": 2}]}])
    warehouse.write(GLEANED_ENTITIES, "a", frame)
    assert warehouse.read(GLEANED_ENTITIES, "a").equals(frame)


def test_a_second_write_replaces_the_first(warehouse: Warehouse) -> None:
    for rows in ([("a", "x", 0), ("a", "y", 0)], [("c", "z", 1)]):
        warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(*rows))
    assert warehouse.read(tables.COMMUNITY_MEMBERS, "a").rows() == [("c", "z", 1)]


def test_frames_are_given_up_as_they_are_written(warehouse: Warehouse) -> None:
    frames = {tables.COMMUNITY_MEMBERS: members(("b", "x", 0), ("a", "y", 1))}
    seen: dict[str, list[tuple[object, ...]]] = {}
    queries = {tables.LAYOUT: "select entity_id, 1.0 as x, 2.0 as y from graph.community_members"}

    def look(table: Table, rows: pl.DataFrame) -> None:
        seen[table.name] = rows.rows()
        assert table not in frames

    warehouse.write_all("a", frames, queries, look)
    assert frames == {}
    assert seen == {
        "community_members": [("a", "y", 1), ("b", "x", 0)],
        "layout": [("x", 1.0, 2.0), ("y", 1.0, 2.0)],
    }


def test_some_columns_are_read_alone(warehouse: Warehouse) -> None:
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(("b", "x", 0), ("a", "y", 1)))
    with warehouse.reading("a") as reader:
        assert reader.read(tables.COMMUNITY_MEMBERS, ["level"]).to_dict(as_series=False) == {"level": [1, 0]}


def test_texts_kept_once_are_written_and_told_like_any(warehouse: Warehouse) -> None:
    plain = members(("b", "x", 0), ("a", "a rather long identity", 0), ("c", "x", 0))
    once = plain.cast({"entity_id": pl.Categorical})
    assert data_version(tables.COMMUNITY_MEMBERS, once) == data_version(tables.COMMUNITY_MEMBERS, plain)
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", once)
    stored = warehouse.read(tables.COMMUNITY_MEMBERS, "a")
    assert stored.equals(tables.COMMUNITY_MEMBERS.validated(plain))


def test_a_write_that_fails_leaves_the_rows_in_place(warehouse: Warehouse) -> None:
    good = members(("a", "x", 0))
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", good)
    with pytest.raises(WarehouseError):
        warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(("a", "x", 0), ("a", "x", 0)))
    query = "select 'a' as community_id, 'x' as entity_id, error('broken half-way')::integer as level"
    with pytest.raises(Exception, match="broken half-way"):
        warehouse.write_all("a", {}, {tables.COMMUNITY_MEMBERS: query})
    query = "select entity_id, error('broken after one') as x, 2.0 as y from graph.community_members"
    with pytest.raises(Exception, match="broken after one"):
        warehouse.write_all(
            "a", {tables.COMMUNITY_MEMBERS: members(("b", "y", 0), ("b", "z", 9))}, {tables.LAYOUT: query}
        )
    assert warehouse.read(tables.COMMUNITY_MEMBERS, "a").equals(tables.COMMUNITY_MEMBERS.validated(good))


def test_a_full_disk_leaves_the_rows_and_is_told(warehouse: Warehouse) -> None:
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(("b", "x", 0)))
    many = [(f"community {number}", f"entity {number * 7919 % 100_003}", 0) for number in range(100_000)]
    with (
        files_of_at_most(100_000),
        pytest.raises(WarehouseError, match=r"a\.duckdb cannot be written .*Free disk space"),
    ):
        warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(*many))
    assert warehouse.read(tables.COMMUNITY_MEMBERS, "a").rows() == [("b", "x", 0)]
    assert warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(*many)) == len(many)


def test_a_new_column_is_added_and_a_new_vector_length_accepted(warehouse: Warehouse) -> None:
    with warehouse.connect("a") as connection:
        connection.execute(
            "create schema graph; create table graph.community_members (corpus varchar, level integer)"
        )
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(("a", "x", 0)))
    assert warehouse.read(tables.COMMUNITY_MEMBERS, "a").height == 1
    warehouse.write(tables.ENTITY_EMBEDDINGS, "a", vectors(4, "x", "y"))
    warehouse.write(tables.ENTITY_EMBEDDINGS, "a", vectors(8, "x"))
    assert warehouse.read(tables.ENTITY_EMBEDDINGS, "a").schema["vector"] == pl.Array(pl.Float32, 8)


@pytest.mark.parametrize(
    "name", ["../other", "a/b", "a'b", 'a"b', "", ".", "..", "a..b", "Graph", "main", "x\n", "x" * 101]
)
def test_a_name_that_could_leave_the_folder_is_refused(warehouse: Warehouse, name: str) -> None:
    with pytest.raises(CorpusError, match="is not a valid corpus name"):
        warehouse.file(name)


def test_a_template_without_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="corpus"):
        Warehouse(path=str(tmp_path / "all.duckdb")).file("a")


def test_a_corpus_that_was_never_indexed_says_what_to_run(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match="graphrag-dagster index"):
        warehouse.read(tables.FILES, "a")
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(("a", "x", 0)))
    with pytest.raises(WarehouseError, match="run 'graphrag-dagster index a'.*materialise corpus/files"):
        warehouse.read(tables.FILES, "a")
    with pytest.raises(WarehouseError, match="run 'graphrag-dagster evaluate a'"):
        warehouse.read(VERDICTS, "a")


def test_a_file_that_is_no_database_is_named(warehouse: Warehouse) -> None:
    file = warehouse.file("a")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"this is no database " * 1000)
    with pytest.raises(WarehouseError, match="a.duckdb cannot be opened"):
        warehouse.read(tables.FILES, "a")


def test_a_file_held_by_another_process_is_waited_for_and_its_holder_named(warehouse: Warehouse) -> None:
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(("a", "x", 0)))
    script = textwrap.dedent(f"""
        import duckdb, sys
        held = duckdb.connect({str(warehouse.file("a"))!r})
        print("held", flush=True)
        sys.stdin.read()
    """)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(WarehouseError, match=f"process {holder.pid}"):
            warehouse.read(tables.COMMUNITY_MEMBERS, "a")
        patient = Warehouse(path=warehouse.path, lock_timeout_seconds=30)
        holder.communicate("")
        assert patient.read(tables.COMMUNITY_MEMBERS, "a").height == 1


def test_violations_are_found(warehouse: Warehouse) -> None:
    warehouse.write(tables.COMMUNITY_MEMBERS, "a", members(("a", "x", 0)))
    warehouse.write(tables.COMMUNITIES, "a", tables.COMMUNITIES.empty())
    warehouse.write(tables.ENTITIES, "a", tables.ENTITIES.empty())
    with warehouse.connect("a") as connection:
        connection.execute(
            "insert into graph.community_members values ('a', 'a', 'x', 0), ('a', 'b', null, 0)"
        )
    with warehouse.reading("a") as reader:
        found = violations(reader, tables.COMMUNITY_MEMBERS)
    assert "1 keys are not unique" in found
    assert "entity_id is null in 1 rows" in found
    assert any("community_id is missing from graph.communities.community_id" in problem for problem in found)


def test_names_of_indexed_corpora_are_listed(warehouse: Warehouse) -> None:
    assert warehouse.corpora() == []
    for name in ("b", "a b"):
        warehouse.write(tables.COMMUNITY_MEMBERS, name, members(("a", "x", 0)))
    assert warehouse.corpora() == ["a b", "b"]


@pytest.mark.parametrize(
    "template",
    [
        "{corpus}/tables.duckdb",
        "of {corpus}.duckdb",
        "a/{corpus}/b/{corpus}.duckdb",
        "[a]*/{corpus}-{corpus}.duckdb",
        "x{corpus}.y/z.duckdb",
    ],
)
def test_they_are_listed_wherever_the_template_has_their_name(tmp_path: Path, template: str) -> None:
    warehouse = Warehouse(path=str(tmp_path / template))
    for name in ("b", "a b", "c.d", "Łódź"):
        warehouse.write(tables.COMMUNITY_MEMBERS, name, members(("a", "x", 0)))
        warehouse.file(name).with_suffix(".bak").touch()
    assert warehouse.corpora() == ["a b", "b", "c.d", "Łódź"]
    assert warehouse.read(tables.COMMUNITY_MEMBERS, "b").height == 1

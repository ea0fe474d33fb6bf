"""A file written anew loses nothing of what is in it, whoever writes to it meanwhile."""

import os
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import polars as pl
import pytest

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.pipeline.corpus_deletion import delete_derived
from graphrag_dagster.kernel.storage import duckdb_access as opening
from graphrag_dagster.kernel.storage.compaction import compact
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from support.disks import files_of_at_most

WORD = "Zentholm"
WRITING = """
import sys, duckdb
from graphrag_dagster.kernel.storage.warehouse import Warehouse
warehouse, who = Warehouse(path=sys.argv[1]), int(sys.argv[2])
for number in range(int(sys.argv[3])):
    with warehouse.connect("coast") as connection:
        connection.execute("insert into main.rows values (?, ?)", [who, number])
    print(number, flush=True)
"""
COMPACTING = """
import sys
from graphrag_dagster.kernel.storage.compaction import compact
from graphrag_dagster.kernel.storage.warehouse import Warehouse
warehouse = Warehouse(path=sys.argv[1])
for number in range(int(sys.argv[3])):
    compact(warehouse, "coast")
    print(number, flush=True)
"""


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    made = Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    with made.connect("coast") as connection:
        connection.execute("create table main.rows (who integer, number integer)")
    return made


def start(code: str, warehouse: Warehouse, who: int, times: int) -> subprocess.Popen[str]:
    paths = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-c", code, warehouse.path, str(who), str(times)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        text=True,
    )


def quarantine(reason: str) -> pl.DataFrame:
    """Five thousand rows that do not compress to nothing."""
    rows = [
        {
            "path": f"{number * 2654435761 % 2**32:x}.txt",
            "status": "failed",
            "reason": f"{reason} {number}",
            "bytes": number,
            "documents": 0,
        }
        for number in range(5000)
    ]
    return tables.FILES.frame([{name: row.get(name) for name in tables.FILES.column_names} for row in rows])


def test_deleted_bytes_are_gone_and_everything_else_is_there(warehouse: Warehouse, tmp_path: Path) -> None:
    file = warehouse.file("coast")
    with warehouse.connect("coast") as connection:
        connection.execute("create view main.counted as select count(*) as n from main.rows")
        connection.execute("create table main.words as select 'x' || range as w from range(9000)")
        connection.execute(
            "create table main.going as select repeat('Zentholm ', 40) || random() as w from range(5000)"
        )
        connection.execute("insert into main.rows select 9, range from range(5000)")
    warehouse.write(tables.FILES, "coast", quarantine("kept"))
    assert WORD.encode() in file.read_bytes()
    with warehouse.connect("coast") as connection:
        connection.execute("drop table main.going")
    assert WORD.encode() in file.read_bytes()
    before = warehouse.read(tables.FILES, "coast")
    sizes = compact(warehouse, "coast")
    assert sizes.after < sizes.before
    assert WORD.encode() not in file.read_bytes()
    assert [one.name for one in tmp_path.iterdir()] == [file.name]
    assert warehouse.read(tables.FILES, "coast").equals(before)
    with warehouse.connect("coast", read_only=True) as connection:
        assert connection.execute("from main.counted").fetchall() == [(5000,)]
        assert connection.execute("select bool_and(w = 'x' || rowid) from main.words").fetchall() == [(True,)]


def test_no_row_of_another_process_is_lost(warehouse: Warehouse) -> None:
    writers = [start(WRITING, warehouse, who, 25) for who in (1, 2)]
    compacting = [start(COMPACTING, warehouse, who, 25) for who in (3, 4)]
    for process in (*writers, *compacting):
        process.communicate(timeout=120)
        assert process.returncode == 0
    with warehouse.connect("coast", read_only=True) as connection:
        rows = connection.execute(
            "select who, count(distinct number) from main.rows group by 1 order by 1"
        ).fetchall()
    assert rows == [(1, 25), (2, 25)]


def test_who_opened_the_file_before_it_was_replaced_opens_it_again(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment between opening and locking, which no test meets by itself, made long."""
    connect, opened = duckdb.connect, []

    def slow(path: str, **options: object) -> duckdb.DuckDBPyConnection:
        connection = connect(path, **options)  # type: ignore[arg-type]
        opened.append(path)
        if len(opened) == 1:
            connection.close()
            monkeypatch.setattr(duckdb, "connect", connect)
            old = Path(path).with_suffix(".old")
            os.link(path, old)
            compact(warehouse, "coast")
            return connect(str(old))
        return connection

    monkeypatch.setattr(duckdb, "connect", slow)
    with warehouse.connect("coast") as connection:
        connection.execute("insert into main.rows values (7, 7)")
    with warehouse.connect("coast", read_only=True) as connection:
        assert connection.execute("from main.rows").fetchall() == [(7, 7)]


KILLED_WRITER = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("insert into main.rows values (8, 8)")
os._exit(0)
"""


@pytest.mark.parametrize("kept", [False, True])
def test_who_locks_a_replaced_file_takes_no_log_of_the_new_one(
    warehouse: Warehouse, tmp_path: Path, kept: bool
) -> None:
    """Who opened the old file and was slow to lock it; a back-up by a second name stays what it is."""
    file = warehouse.file("coast")
    with file.open("rb") as old:
        if kept:
            os.link(file, tmp_path / "back-up")
        compact(warehouse, "coast")
        replaced = old.read()
    if kept:
        with duckdb.connect(str(tmp_path / "back-up")) as connection:
            assert connection.execute("from main.rows").fetchall() == []
        return
    subprocess.run([sys.executable, "-c", KILLED_WRITER, file], check=True)
    log = tmp_path / "coast.duckdb.wal"
    assert log.stat().st_size
    new = file.rename(tmp_path / "new")
    file.write_bytes(replaced)
    for read_only in (False, True):
        with pytest.raises(duckdb.Error), duckdb.connect(str(file), read_only=read_only):
            pass
    new.replace(file)
    assert log.stat().st_size
    with warehouse.connect("coast", read_only=True) as connection:
        assert connection.execute("from main.rows").fetchall() == [(8, 8)]


def test_who_meets_a_replaced_file_opens_the_new_one(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    attaching, met = opening.attach, []

    def slow(connection: duckdb.DuckDBPyConnection, file: Path, alias: str, *, read_only: bool) -> None:
        if not met:
            with file.open("rb") as old:
                compact(warehouse, "coast")
                replaced = file.with_suffix(".replaced")
                replaced.write_bytes(old.read())
            met.append(replaced)
            file = replaced
        attaching(connection, file, alias, read_only=read_only)

    monkeypatch.setattr("graphrag_dagster.kernel.storage.warehouse.attach", slow)
    with duckdb.connect() as connection:
        warehouse.attach(connection, "coast", "seen")
        assert connection.execute("from seen.main.rows").fetchall() == []
    assert met


def test_what_another_makes_once_the_file_is_replaced_is_left_alone(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    making, replace = tmp_path / ".coast.duckdb.compacting", Path.replace

    def replaced_and_made_anew(one: Path, other: Path) -> Path:
        done = replace(one, other)
        making.write_bytes(b"another's")
        return done

    monkeypatch.setattr(Path, "replace", replaced_and_made_anew)
    compact(warehouse, "coast")
    assert making.read_bytes() == b"another's"


def test_a_file_that_was_replaced_while_it_was_opened_is_not_opened_again_without_looking(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that stays open for a moment is told from the one that took its place meanwhile."""
    file = warehouse.file("coast")
    telling, seen = opening._attaching, []

    def slow(place: Path, alias: str, *, read_only: bool) -> str:
        if not seen:
            # What is attached is the old file, by a name that it has kept.
            seen.append(place := file.with_suffix(".old"))
            os.link(file, place)
            compact(warehouse, "coast")
        return telling(place, alias, read_only=read_only)

    with opening.keep_open():
        opening._cache.release()
        monkeypatch.setattr(opening, "_attaching", slow)
        with warehouse.connect("coast") as connection:
            connection.execute("insert into main.rows values (6, 6)")
    with duckdb.connect(str(file), read_only=True) as connection:
        assert connection.execute("from main.rows").fetchall() == [(6, 6)]
    assert seen


def test_killed_at_any_moment_either_file_is_whole_and_nothing_is_left(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    with warehouse.connect("coast") as connection:
        connection.execute("insert into main.rows select 5, range from range(200000)")
    for attempt in range(6):
        process = start(COMPACTING, warehouse, 0, 1000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.007 * attempt)
        process.kill()
        process.communicate()
        with warehouse.connect("coast", read_only=True) as connection:
            assert connection.execute("select count(*) from main.rows").fetchall() == [(200000,)]
    compact(warehouse, "coast")
    assert [one.name for one in tmp_path.iterdir()] == ["coast.duckdb"]


def test_what_a_killed_process_left_is_removed(warehouse: Warehouse, tmp_path: Path) -> None:
    for name in (".coast.duckdb.compacting", ".coast.duckdb.compacting.wal"):
        (tmp_path / name).write_text("torn")
    (tmp_path / "coast.duckdb.tmp").mkdir()
    (tmp_path / "coast.duckdb.tmp" / "spilled").write_text(WORD)
    compact(warehouse, "coast")
    assert [one.name for one in tmp_path.iterdir()] == ["coast.duckdb"]
    assert warehouse.corpora() == ["coast"]


@pytest.mark.parametrize("file", ["whole", "damaged", "gone"])
def test_what_a_killed_process_left_goes_with_its_corpus(
    warehouse: Warehouse, tmp_path: Path, home: Path, file: str
) -> None:
    for name in (".coast.duckdb.compacting", ".coast.duckdb.compacting.wal"):
        (tmp_path / name).write_text("torn")
    for name in ("coast.duckdb.tmp", ".coast.duckdb.compacting.tmp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spilled").write_text(WORD)
    if file == "damaged":
        warehouse.file("coast").write_bytes(b"no DuckDB file")
    elif file == "gone":
        warehouse.file("coast").unlink()
    before = {*tmp_path.iterdir()} - {home}
    assert {*delete_derived(warehouse, "coast").paths} == before
    assert {*tmp_path.iterdir()} <= {home}


def test_a_copy_that_cannot_be_written_leaves_the_file_as_it_was_and_nothing_beside_it(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    warehouse.write(tables.FILES, "coast", quarantine("kept"))
    file = warehouse.file("coast")
    before = file.read_bytes()
    with files_of_at_most(len(before) // 2), pytest.raises(WarehouseError, match="cannot be rewritten"):
        compact(warehouse, "coast")
    assert file.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [file.name]


def test_a_connection_of_the_same_process_keeps_it_out(warehouse: Warehouse) -> None:
    hasty = Warehouse(path=warehouse.path, lock_timeout_seconds=0.1)
    with warehouse.connect("coast"), pytest.raises(WarehouseError, match="in use by"):
        compact(hasty, "coast")
    compact(hasty, "coast")


def test_a_corpus_without_tables_is_told(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match="has no tables"):
        compact(warehouse, "moor")

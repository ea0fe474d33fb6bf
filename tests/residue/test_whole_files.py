"""A kill while Dagster's files are made leaves none that the next run takes for whole."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import dagster as dg
import pytest

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.orchestration.dagster_instance import instance
from graphrag_dagster.orchestration.dagster_private.whole_files import INDEX, RUNS, SCHEDULES, make_whole


@dg.asset(partitions_def=dg.DynamicPartitionsDefinition(name="part"))
def counted() -> None:
    pass


def run_in(opened: dg.DagsterInstance) -> None:
    if not opened.has_dynamic_partition("part", "one"):
        opened.add_dynamic_partitions("part", ["one"])
    assert dg.materialize([counted], instance=opened, partition_key="one").success


def content(file: Path) -> dict[str, object]:
    with closing(sqlite3.connect(file)) as connection:
        told = set(connection.execute("select type, name, sql from sqlite_master"))
        marks = set(connection.execute("select name from secondary_indexes"))
        revision = connection.execute("select version_num from alembic_version").fetchall()
        (mode,) = connection.execute("pragma journal_mode").fetchone()
    return {"schema": told, "marks": marks, "revision": revision, "mode": mode}


@pytest.fixture(scope="module")
def made_by_dagster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dagster")
    with dg.DagsterInstance.local_temp(str(folder)):
        return folder


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "records"))
    return tmp_path / "records"


def some_tables(file: Path) -> None:
    """The first tables, before the revision is written."""
    _without(file, "alembic_version", "dynamic_partitions", "run_tags", "job_ticks")


def no_revision(file: Path) -> None:
    """All tables; that of the revision without a row."""
    _execute(file, "delete from alembic_version", "delete from secondary_indexes")


def stamped_with_tables_missing(file: Path) -> None:
    _execute(file, "delete from secondary_indexes")
    _without(file, "dynamic_partitions", "asset_keys", "bulk_actions", "instance_info", "jobs")


def only_the_revision(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        tables = [one for (one,) in connection.execute("select name from sqlite_master where type = 'table'")]
    _without(file, *(one for one in tables if not one.startswith(("sqlite_", "alembic_"))))


def without_marks(file: Path) -> None:
    _execute(file, "delete from secondary_indexes")


def without_the_last_mark(file: Path) -> None:
    _execute(file, "delete from secondary_indexes where id = (select max(id) from secondary_indexes)")


def header_alone(file: Path) -> None:
    file.unlink()
    _execute(file, "pragma journal_mode = wal", "create table gone (id)", "drop table gone")


def without_a_byte(file: Path) -> None:
    file.write_bytes(b"")


def in_the_log(file: Path) -> None:
    """A part of the tables lies in the log beside the file, as where the process was killed."""
    _without(file, "alembic_version", "run_tags", "dynamic_partitions", "job_ticks")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma wal_autocheckpoint = 0")
        connection.execute("create table more (id)")
        connection.commit()
        left = {one.name: one.read_bytes() for one in file.parent.glob(f"{file.name}*")}
    for name, content in left.items():
        (file.parent / name).write_bytes(content)
    assert (file.parent / f"{file.name}-wal").stat().st_size


def _without(file: Path, *tables: str) -> None:
    _execute(file, *(f'drop table if exists "{one}"' for one in tables))


def _execute(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    "leave",
    [
        some_tables,
        no_revision,
        stamped_with_tables_missing,
        only_the_revision,
        without_marks,
        without_the_last_mark,
        header_alone,
        without_a_byte,
        in_the_log,
    ],
)
def test_what_a_kill_left_is_made_whole(
    made_by_dagster: Path, tmp_path: Path, leave: Callable[[Path], None]
) -> None:
    folder, names = tmp_path / "left", (RUNS, INDEX, SCHEDULES)
    shutil.copytree(made_by_dagster, folder)
    for name in names:
        leave(folder / name)
    make_whole(folder, *names)
    for name in names:
        assert content(folder / name) == content(made_by_dagster / name)
        assert (folder / name).stat().st_size
    assert {one.name for one in folder.iterdir()} == {one.name for one in made_by_dagster.iterdir()}


@pytest.mark.parametrize("running", [True, False])
def test_the_next_run_works_on_what_a_kill_left(records: Path, made_by_dagster: Path, running: bool) -> None:
    shutil.copytree(made_by_dagster, records)
    some_tables(records / INDEX)
    some_tables(records / RUNS)
    with instance(running=running) as opened:
        run_in(opened)
    with instance() as usual:
        assert usual.get_materialized_partitions(counted.key) == {"one"}


KILLED = """
import os, sys
from pathlib import Path
from graphrag_dagster.orchestration.dagster_private import whole_files

folder, opened = Path(sys.argv[1]), whole_files._opened
for moment in (1, 3, 9, "commit"):
    if not (child := os.fork()):
        def copy(made, pattern, copying=whole_files._copy):
            seen = []
            def die(statement):
                seen.append(statement)
                if moment in (len(seen), statement.casefold()):
                    os._exit(9)
            made.set_trace_callback(die)
            copying(made, pattern)
        whole_files._copy = copy
        whole_files.make_whole(folder, whole_files.INDEX)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_killed_at_any_statement_the_file_is_made_by_the_next(made_by_dagster: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    told = subprocess.run([sys.executable, "-c", KILLED, folder], check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["9"] * 4, told.stderr
    make_whole(folder, INDEX)
    assert content(folder / INDEX) == content(made_by_dagster / INDEX)
    assert [one.name for one in folder.iterdir()] == ["history"]


def test_what_holds_records_is_left_as_it_is(records: Path) -> None:
    with instance(running=True) as opened:
        run_in(opened)
    for name in (RUNS, INDEX):
        without_marks(records / name)
        _without(records / name, "alembic_version")
    before = {name: (records / name).read_bytes() for name in (RUNS, INDEX)}
    make_whole(records, RUNS, INDEX)
    assert {name: (records / name).read_bytes() for name in before} == before


def test_a_name_of_a_partition_is_a_record(records: Path) -> None:
    with instance(running=True) as opened:
        opened.add_dynamic_partitions("part", ["one"])
    without_marks(records / INDEX)
    make_whole(records, INDEX)
    with instance() as usual:
        assert usual.get_dynamic_partitions("part") == ["one"]


def test_an_empty_index_beside_runs_is_told(records: Path) -> None:
    with instance(running=True) as opened:
        run_in(opened)
    (records / INDEX).write_bytes(b"")
    with (
        pytest.raises(GraphragError, match="records are damaged: .*index.db"),
        instance(running=True) as opened,
    ):
        run_in(opened)

"""Dagster's records, as its own storage keeps them: a kill leaves none that the next run does not work on."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import dagster as dg
import pytest

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.resources.dagster_instance import instance
from graphrag_dagster.resources.run_history import delete_run

FILES = RUNS, INDEX, SCHEDULES = "history/runs.db", "history/runs/index.db", "schedules/schedules.db"


@dg.asset(partitions_def=dg.DynamicPartitionsDefinition(name="part"))
def counted() -> None:
    pass


def run_in(opened: dg.DagsterInstance) -> str:
    if not opened.has_dynamic_partition("part", "one"):
        opened.add_dynamic_partitions("part", ["one"])
    made = dg.materialize([counted], instance=opened, partition_key="one")
    assert made.success
    return made.run_id


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "records"))
    return tmp_path / "records"


KILLED = """
import os, sys
from pathlib import Path
from sqlalchemy import Engine, event
from graphrag_dagster.resources.dagster_instance import instance

for moment in map(int, sys.argv[2:]):
    if not (child := os.fork()):
        os.environ["DAGSTER_HOME"] = str(Path(sys.argv[1]) / str(moment))
        seen = []
        @event.listens_for(Engine, "before_cursor_execute")
        def die(*_):
            seen.append(1)
            if len(seen) == moment:
                os._exit(9)
        with instance():
            os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_killed_at_any_statement_of_its_making_they_are_made_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = ["12", "45", "90"]
    killed = [sys.executable, "-c", KILLED, tmp_path, *moments]
    told = subprocess.run(killed, check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["9"] * len(moments), told.stderr
    for moment in moments:
        monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / moment))
        with instance(running=True) as opened:
            run_in(opened)
            assert opened.get_materialized_partitions(counted.key) == {"one"}
        assert not (tmp_path / moment / ".making").exists()


def test_what_holds_records_is_kept_whatever_was_left(records: Path) -> None:
    with instance(running=True) as opened:
        run_id = run_in(opened)
    (records / ".making").mkdir()
    with instance() as opened:
        assert opened.get_run_by_id(run_id).status == dg.DagsterRunStatus.SUCCESS
        assert opened.get_materialized_partitions(counted.key) == {"one"}


@pytest.mark.parametrize("name", FILES)
def test_an_empty_file_beside_the_events_of_runs_is_told(records: Path, name: str) -> None:
    with instance(running=True) as opened:
        run_in(opened)
    (records / name).write_bytes(b"")
    with pytest.raises(GraphragError, match=f"records are damaged: .*{name}"), instance(running=True):
        pass


def test_an_index_that_was_moved_away_is_made_anew(records: Path) -> None:
    with instance(running=True) as opened:
        run_in(opened)
    for file in (records / INDEX).parent.glob("index.db*"):
        file.unlink()
    with instance(running=True) as opened:
        run_in(opened)
        assert opened.get_runs_count() == 2
        assert opened.get_materialized_partitions(counted.key) == {"one"}


def test_a_home_of_an_earlier_release_opens(records: Path) -> None:
    """Its storage began the file of a run with the schema of the index, all at once."""
    with instance() as opened:
        first = run_in(opened)
    own = (records / INDEX).with_name(f"{first}.db")
    with closing(sqlite3.connect(records / INDEX)) as index, closing(sqlite3.connect(own)) as run:
        (mode,) = run.execute("pragma journal_mode").fetchone()
        assert mode == "wal"
        for (made,) in index.execute("select sql from sqlite_master where type = 'table'").fetchall():
            run.execute(made.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
        run.commit()
    with instance(running=True) as opened:
        assert opened.get_run_by_id(first).status == dg.DagsterRunStatus.SUCCESS
        assert [one.message for one in opened.all_logs(first)]
        run_in(opened)
        assert opened.get_runs_count() == 2


def test_records_are_where_the_settings_say(records: Path, tmp_path: Path) -> None:
    records.mkdir()
    elsewhere = tmp_path / "elsewhere"
    (records / "dagster.yaml").write_text(
        f"storage: {{sqlite: {{base_dir: {elsewhere}}}}}\n", encoding="utf-8"
    )
    with instance(running=True) as opened:
        run_in(opened)
    assert (elsewhere / RUNS).is_file()
    assert not (records / RUNS).exists()


def test_a_run_whose_records_are_deleted_under_it_is_told_so(records: Path) -> None:
    told = "the records of this run were deleted .* while it was under way; run again"

    def go_on() -> None:
        with instance() as opened:
            run = opened.get_run_by_id(run_in(opened))
            assert run is not None
            delete_run(opened, run.run_id)
            opened.report_engine_event("more", run)

    with pytest.raises(GraphragError, match=told):
        go_on()

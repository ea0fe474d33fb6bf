"""A run writes Dagster's records by connections that stay open; they are the same records in the same files."""

import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from subprocess import run

import dagster as dg
import pytest
import yaml
from sqlalchemy.exc import IntegrityError

from graphrag_dagster.orchestration.dagster_instance import instance

PARTS = dg.DynamicPartitionsDefinition(name="part")


@dg.asset(partitions_def=PARTS)
def counted() -> dg.MaterializeResult[None]:
    return dg.MaterializeResult(metadata={"rows": 7})


@dg.asset_check(asset=counted, partitions_def=PARTS)
def is_counted() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


def run_in(opened: dg.DagsterInstance) -> str:
    opened.add_dynamic_partitions("part", ["one"])
    made = dg.materialize([counted, is_counted], instance=opened, partition_key="one")
    return made.run_id


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "records"))
    return tmp_path / "records"


def test_what_a_run_wrote_is_read_by_whoever_opens_the_records_in_the_usual_way(records: Path) -> None:
    with instance(running=True) as kept:
        run_id = run_in(kept)
        seen = [one.message for one in kept.all_logs(run_id)]
    with instance() as usual:
        assert usual.get_run_by_id(run_id).status == dg.DagsterRunStatus.SUCCESS
        assert usual.get_materialized_partitions(counted.key) == {"one"}
        assert [one.message for one in usual.all_logs(run_id)] == seen
        assert usual.has_dynamic_partition("part", "one")
        checked = usual.event_log_storage.get_latest_asset_check_execution_by_key(list(is_counted.check_keys))
        assert [one.run_id for one in checked.values()] == [run_id]
        assert run_in(usual) != run_id
    with instance(running=True) as kept:
        assert kept.get_runs_count() == 2


def schema(file: Path) -> tuple[set[tuple[str, str, str | None]], list[str], str]:
    with closing(sqlite3.connect(file)) as connection:
        made = set(connection.execute("select type, name, sql from sqlite_master"))
        revisions = [one for (one,) in connection.execute("select version_num from alembic_version")]
        return made, revisions, connection.execute("pragma journal_mode").fetchone()[0]


def test_the_file_of_a_run_is_the_one_that_dagster_makes(records: Path) -> None:
    with instance(running=True) as kept:
        ours = run_in(kept)
    with instance() as usual:
        theirs = run_in(usual)
    files = records / "history" / "runs"
    assert schema(files / f"{ours}.db") == schema(files / f"{theirs}.db")


def test_where_all_runs_tell_no_revision_dagster_makes_the_file_of_a_run(records: Path) -> None:
    with instance(running=True) as kept:
        first = run_in(kept)
    with instance(running=True) as kept:
        # Gone while the index is open, as where another process mends it.
        with closing(sqlite3.connect(records / "history" / "runs" / "index.db")) as index:
            index.execute("drop table alembic_version")
        second = run_in(kept)
    files = records / "history" / "runs"
    assert schema(files / f"{second}.db") == schema(files / f"{first}.db")


def test_events_that_are_told_at_once_are_stored_at_once_or_not_at_all(records: Path) -> None:
    with instance(running=True) as kept:
        run_id = run_in(kept)
        wanted = {dg.DagsterEventType.STEP_START, dg.DagsterEventType.ASSET_MATERIALIZATION}
        told = [one for one in kept.all_logs(run_id) if one.dagster_event_type in wanted]
        storage = kept.event_log_storage
        before = len(storage.get_logs_for_run(run_id))
        storage.store_event_batch(told)
        assert len(storage.get_logs_for_run(run_id)) == before + len(told)
        planned = dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED
        twice = [one for one in kept.all_logs(run_id) if one.dagster_event_type == planned]
        with pytest.raises(IntegrityError):
            storage.store_event_batch([*told, *twice])
        assert len(storage.get_logs_for_run(run_id)) == before + len(told)
    with instance() as usual:
        assert len(usual.event_log_storage.get_logs_for_run(run_id)) == before + len(told)


def test_records_that_a_run_made_are_of_the_newest_revision(records: Path) -> None:
    with instance(running=True) as kept:
        run_id = run_in(kept)
    with instance() as usual:
        for storage in (usual.run_storage, usual.event_log_storage):
            own, newest = storage.alembic_version()
            assert own == newest is not None
        assert usual.all_instigator_state() == []
    versions = []
    for name in ("index", run_id):
        with closing(sqlite3.connect(records / "history" / "runs" / f"{name}.db")) as connection:
            versions += connection.execute("select version_num from alembic_version").fetchall()
    assert versions[0] == versions[1]


ALONE = """
import sqlite3, sys
from pathlib import Path
from graphrag_dagster.orchestration.dagster_instance import instance

with instance(running=True) as kept:
    kept.add_dynamic_partitions("part", ["one"])
files = sorted((Path(sys.argv[1]) / "history").rglob("*.db"))
for file in files:
    alone = sqlite3.connect(file, timeout=0.1, isolation_level=None)
    alone.execute("pragma locking_mode = exclusive")
    alone.execute("begin exclusive")
    assert alone.execute("pragma quick_check").fetchone() == ("ok",)
print(*(file.name for file in files))
"""


def test_nothing_is_left_open(records: Path) -> None:
    """In an interpreter of its own: the tests keep connections of Dagster's own storage open themselves."""
    told = run([sys.executable, "-c", ALONE, str(records)], check=True, capture_output=True, text=True)
    assert sorted(told.stdout.split()) == ["index.db", "runs.db"]


def test_records_are_where_the_settings_say(records: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    records.mkdir()
    settings = {"telemetry": {"enabled": False}, "storage": {"sqlite": {"base_dir": str(elsewhere)}}}
    (records / "dagster.yaml").write_text(yaml.safe_dump(settings))
    with instance(running=True) as opened:
        run_id = run_in(opened)
    assert (elsewhere / "history" / "runs" / f"{run_id}.db").is_file()
    assert not (records / "history").exists()


def test_an_event_is_seen_by_others_a_moment_after_it_was_told(records: Path) -> None:
    with instance(running=True) as kept:
        run_id = run_in(kept)
        told = next(
            one for one in kept.all_logs(run_id) if one.dagster_event_type is None or not one.step_key
        )
        file = records / "history" / "runs" / f"{run_id}.db"
        with closing(sqlite3.connect(file)) as other:
            (before,) = other.execute("select count(*) from event_logs").fetchone()
            kept.event_log_storage.store_event(told._replace(dagster_event=None))
            deadline = time.monotonic() + 30
            while other.execute("select count(*) from event_logs").fetchone() == (before,):
                assert time.monotonic() < deadline
                time.sleep(0.02)


def test_what_could_not_be_stored_in_time_is_told_to_who_stores_the_next(
    records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with instance(running=True) as kept:
        run_id = run_in(kept)
        storage = kept.event_log_storage
        told = kept.all_logs(run_id)[0]._replace(dagster_event=None)
        failing = threading.Event()

        def fail(*_: object) -> dict[str, object]:
            failing.set()
            raise OSError("no room")

        with monkeypatch.context() as patched:
            patched.setattr(storage, "_event_to_row", fail)
            storage.store_event(told)
            assert failing.wait(30)
        with pytest.raises(OSError, match="no room"):
            storage.store_event(told)
        storage.store_event(told)


def test_a_run_finds_what_it_has_told_itself(records: Path) -> None:
    with instance(running=True) as kept:
        first, second = run_in(kept), run_in(kept)
        filtered = dg.AssetRecordsFilter(counted.key, asset_partitions=["one"])
        (made,) = kept.fetch_materializations(filtered, limit=1).records
        (record,) = kept.get_asset_records([counted.key])
        version = "dagster/data_version"
        tags = kept.event_log_storage.get_latest_tags_by_partition(
            counted.key, dg.DagsterEventType.ASSET_MATERIALIZATION, [version], asset_partitions=["one"]
        )
    with instance() as usual:
        (stored,) = usual.fetch_materializations(filtered, limit=1).records
        assert made.storage_id == stored.storage_id
        assert made.event_log_entry == stored.event_log_entry
        assert made.run_id == second != first
        assert usual.get_asset_records([counted.key]) == [record]
        assert tags == usual.event_log_storage.get_latest_tags_by_partition(
            counted.key, dg.DagsterEventType.ASSET_MATERIALIZATION, [version], asset_partitions=["one"]
        )
        assert tags["one"][version]

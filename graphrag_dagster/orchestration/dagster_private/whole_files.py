"""Dagster's SQLite files made whole or not at all.

Dagster makes a file table by table and marks it at the end, which takes a second. A process that is killed
meanwhile leaves a file that Dagster takes for a finished one and then misses a table in.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.migration import ASSET_DATA_MIGRATIONS, EVENT_LOG_DATA_MIGRATIONS
from dagster._core.storage.runs import SqliteRunStorage
from dagster._core.storage.runs.migration import OPTIONAL_DATA_MIGRATIONS, REQUIRED_DATA_MIGRATIONS
from dagster._core.storage.schedules import SqliteScheduleStorage
from dagster._core.storage.schedules.migration import (
    OPTIONAL_SCHEDULE_DATA_MIGRATIONS,
    REQUIRED_SCHEDULE_DATA_MIGRATIONS,
)
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS

RUNS, INDEX, SCHEDULES = "history/runs.db", "history/runs/index.db", "schedules/schedules.db"
#: The marks that Dagster sets in each, one by one, once all tables are there.
_MARKS = {
    RUNS: {*REQUIRED_DATA_MIGRATIONS, *OPTIONAL_DATA_MIGRATIONS},
    INDEX: {*EVENT_LOG_DATA_MIGRATIONS, *ASSET_DATA_MIGRATIONS},
    SCHEDULES: {*REQUIRED_SCHEDULE_DATA_MIGRATIONS, *OPTIONAL_SCHEDULE_DATA_MIGRATIONS},
}
_REVISION, _MARKED = "alembic_version", "secondary_indexes"
#: Tables in which a file without records may have rows.
_OWN = {_REVISION, _MARKED, "instance_info"}
_PATTERNS = ".patterns"


def make_whole(folder: Path, *names: str) -> None:
    """Make files that are missing or that a killed process left half made, each in one transaction.

    A file that holds records or is no database is left as it is. So is an index of events without a byte
    where there are runs, since its events are lost, which is for a person to decide about.

    Args:
        folder: of the instance. No other process may do this in it at the same time; one that opens the
            records in Dagster's own way may.
        names: of the files, as this module calls them.

    Raises:
        OSError: the folder cannot be written.
        sqlite3.Error: a file cannot.
    """
    if not (wanted := [name for name in names if _is_to_be_made(folder, name)]):
        return
    patterns = folder / _PATTERNS
    shutil.rmtree(patterns, ignore_errors=True)
    try:
        for name in wanted:
            _have_dagster_make(patterns, name)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with _opened(folder / name) as made, _opened(patterns / name) as pattern:
                _copy(made, pattern)
    finally:
        shutil.rmtree(patterns, ignore_errors=True)


def _is_to_be_made(folder: Path, name: str) -> bool:
    file = folder / name
    if not file.exists():
        return True
    if not file.stat().st_size:
        return name != INDEX or not _holds_records(folder / RUNS)
    try:
        with _opened(file) as connection:
            tables = _tables(connection)
            if _has_records(connection, tables):
                return False
            return not (
                {_REVISION, _MARKED} <= set(tables)
                and connection.execute(f"select 1 from {_REVISION}").fetchone()
                and _MARKS[name] <= {one for (one,) in connection.execute(f"select name from {_MARKED}")}
            )
    except sqlite3.DatabaseError:
        # What is wrong with it Dagster finds as well.
        return False


def _holds_records(file: Path) -> bool:
    if not file.exists() or not file.stat().st_size:
        return False
    try:
        with _opened(file) as connection:
            return _has_records(connection, _tables(connection))
    except sqlite3.DatabaseError:
        return True


def _has_records(connection: sqlite3.Connection, tables: list[str]) -> bool:
    return any(
        connection.execute(f'select 1 from "{table}" limit 1').fetchone()
        for table in tables
        if table not in _OWN
    )


def _tables(connection: sqlite3.Connection) -> list[str]:
    query = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
    return [name for (name,) in connection.execute(query)]


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(
        sqlite3.connect(file, timeout=SQLITE_BUSY_TIMEOUT_SECONDS, isolation_level=None)
    ) as connection:
        yield connection


def _have_dagster_make(folder: Path, name: str) -> None:
    parent = str((folder / name).parent)
    if name == INDEX:
        SqliteEventLogStorage(parent).dispose()
    else:
        (SqliteRunStorage if name == RUNS else SqliteScheduleStorage).from_local(parent).dispose()


def _copy(made: sqlite3.Connection, pattern: sqlite3.Connection) -> None:
    """Put what a pattern holds in the place of a file's tables, unless there are records by now."""
    made.execute("pragma journal_mode = wal")
    made.execute("begin immediate")
    before = _tables(made)
    if _has_records(made, before):
        made.execute("rollback")
        return
    for table in before:
        made.execute(f'drop table "{table}"')
    schema = "select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by rowid"
    for (statement,) in pattern.execute(schema):
        made.execute(statement)
    for table in _tables(pattern):
        if rows := pattern.execute(f'select * from "{table}"').fetchall():
            places = ", ".join("?" * len(rows[0]))
            made.executemany(f'insert into "{table}" values ({places})', rows)
    made.execute("commit")

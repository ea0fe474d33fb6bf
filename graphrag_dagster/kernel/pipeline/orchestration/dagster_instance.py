"""The persistent Dagster instance: made on first use; errors are one line with the fix."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import yaml
from dagster import DagsterError, DagsterInstance, DagsterInvalidInvocationError
from filelock import FileLock, Timeout
from sqlalchemy.exc import SQLAlchemyError

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.atomic_files import write_durably
from graphrag_dagster.kernel.storage.home import dagster_home

_SETTINGS_FILE = "dagster.yaml"
_SETTINGS = "telemetry:\n  enabled: false\nnux:\n  enabled: false\n"
#: Settings of Dagster's class that captures nothing of what steps print: capturing it begins processes that a
#: Ctrl-C in the terminal ends with a traceback.
_NOT_CAPTURING = {
    "compute_logs": {
        "module": "dagster._core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
    }
}
_RUNS, _INDEX, _SCHEDULES = "history/runs.db", "history/runs/index.db", "schedules/schedules.db"
_FILES = (_RUNS, _INDEX, _SCHEDULES)
#: There while Dagster makes its files.
_MAKING = ".making"
_SECONDS = 120.0
_LONGEST = 400


class DagsterInstanceError(GraphragError):
    """Dagster's settings or records cannot be used."""


@contextmanager
def instance(*, running: bool = False) -> Iterator[DagsterInstance]:
    """Open the instance; the UI on the same home shows its runs.

    Args:
        running: for a run in this process: what its steps print is not kept for the UI.

    Raises:
        DagsterInstanceError: its settings or records cannot be used, then or in the block.
        OSError: its folder cannot be written.
    """
    folder = dagster_home()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["DAGSTER_HOME"] = str(folder)
    with _told(folder), _opened(folder, running=running) as opened:
        yield opened


@contextmanager
def recorded() -> Iterator[DagsterInstance | None]:
    """Open the instance to look things up; None where there is none yet.

    Raises:
        DagsterInstanceError: its settings or records cannot be used.
    """
    if not (dagster_home() / _SETTINGS_FILE).is_file():
        yield None
        return
    with instance() as opened:
        yield opened


def _opened(folder: Path, *, running: bool) -> DagsterInstance:
    """Open it, one process at a time: at the first opening Dagster makes its tables without a lock."""
    try:
        with FileLock(folder / ".opening.lock", timeout=_SECONDS):
            if not (folder / _SETTINGS_FILE).exists():
                write_durably(folder / _SETTINGS_FILE, _SETTINGS)
            if _keeps_records_elsewhere(folder):
                return _open(folder, running=running)
            return _open_whole(folder, running=running)
    except Timeout:
        raise DagsterInstanceError(
            f"another process has been opening Dagster's records in {folder} for {_SECONDS:.0f} s; stop it, "
            "and run again"
        ) from None
    except (DagsterInstanceError, OSError, SQLAlchemyError, sqlite3.Error):
        raise
    except (yaml.YAMLError, DagsterError) as error:
        told = " ".join(str(error).split())[:_LONGEST]
        raise DagsterInstanceError(
            f"{folder / _SETTINGS_FILE} is invalid: {told}; fix it, or move it away to have it recreated"
        ) from error
    except Exception as error:
        # What migrates the records has errors of its own, where another version of Dagster made them.
        raise DagsterInstanceError(
            f"Dagster's records in {folder} cannot be opened ({_first_line(error)}); if another version of "
            "Dagster made them, install that one, or run: dagster instance migrate"
        ) from error


def _open(folder: Path, *, running: bool) -> DagsterInstance:
    return DagsterInstance.local_temp(str(folder), _NOT_CAPTURING) if running else DagsterInstance.get()


def _open_whole(folder: Path, *, running: bool) -> DagsterInstance:
    """Open it with all its tables, whatever a process left that was killed while Dagster made them."""
    files = [folder / name for name in _FILES]
    blank = [file for file in files if file.exists() and not file.stat().st_size]
    if any(file.stem != "index" for file in (folder / _INDEX).parent.glob("*.db")):
        # There are events of runs: an index without a byte has lost what it held.
        if lost := [file for file in blank if file != folder / _SCHEDULES]:
            raise _damaged(lost, "nothing is in it")
    elif blank or (folder / _MAKING).exists():
        for file in files:
            for end in ("", "-wal", "-shm"):
                file.with_name(file.name + end).unlink(missing_ok=True)
    whole = all(map(_is_whole, files))
    if not whole:
        (folder / _MAKING).touch()
    opened = _open(folder, running=running)
    if not whole:
        # Dagster completes its index when it first reads there, but looks for some tables before that.
        opened.get_asset_keys(limit=1)
    (folder / _MAKING).unlink(missing_ok=True)
    return opened


def _is_whole(file: Path) -> bool:
    """Whether the revision of its tables is noted in a file, which is done last."""
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("select 1 from alembic_version").fetchone())
    except sqlite3.OperationalError:
        return False
    except sqlite3.DatabaseError:
        # What is wrong with it Dagster finds as well.
        return True


def _keeps_records_elsewhere(folder: Path) -> bool:
    """Whether its records are where its settings say, not in the folder."""
    settings = yaml.safe_load((folder / _SETTINGS_FILE).read_text(encoding="utf-8"))
    return isinstance(settings, dict) and any("storage" in name for name in settings)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Name the place and the way out where Dagster cannot read or write down what happens."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, DagsterInvalidInvocationError) as error:
        why = _first_line(getattr(error, "orig", None) or error)
        damaged = [file for name in _FILES if _is_damaged(file := folder / name)]
        if isinstance(error, DagsterInvalidInvocationError):
            if not damaged:
                raise
            why = "a Dagster table is missing"
        if damaged:
            raise _damaged(damaged, why) from error
        raise DagsterInstanceError(
            f"Dagster's records in {folder} cannot be written or read ({why}); free disk space or fix their "
            "permissions, and run again"
        ) from error


def _damaged(files: list[Path], why: str) -> DagsterInstanceError:
    return DagsterInstanceError(
        f"Dagster's records are damaged: {' and '.join(map(str, files))} ({why}); restore a backup, or move "
        "the damaged files away and run again. Only the history of runs is lost, no table"
    )


def _is_damaged(file: Path) -> bool:
    try:
        # SQLite takes a file without a byte for a database without tables, which Dagster misses then.
        if not file.stat().st_size:
            return True
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("pragma quick_check(1)").fetchone() != ("ok",))
    except (sqlite3.OperationalError, OSError):
        # It is not there, or not ours to read.
        return False
    except sqlite3.DatabaseError:
        return True


def _first_line(error: object) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]

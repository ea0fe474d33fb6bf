"""The persistent Dagster instance: made on first use; what is wrong with it is one line with the way out."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import yaml
from dagster import DagsterError, DagsterInstance, DagsterInvalidInvocationError
from filelock import FileLock, Timeout
from sqlalchemy.exc import SQLAlchemyError

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.orchestration.dagster_private import NO_COMPUTE_LOGS, kept_connections
from graphrag_dagster.orchestration.dagster_settings import FILE, keeps_records_elsewhere
from graphrag_dagster.resources.durable import write_durably
from graphrag_dagster.resources.home import dagster_home

_SETTINGS = "telemetry:\n  enabled: false\nnux:\n  enabled: false\n"
#: Capturing what steps print begins processes that a Ctrl-C in the terminal ends with a traceback.
_NOT_CAPTURING = {"compute_logs": NO_COMPUTE_LOGS}
_FILES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
#: Dagster's variable, without which each event is stored by itself.
_BATCH, _MOST_EVENTS = "DAGSTER_EVENT_BATCH_SIZE", "1000"
_SECONDS = 120.0
_LONGEST = 400


class DagsterInstanceError(GraphragError):
    """Dagster's settings or records cannot be used."""


@contextmanager
def instance(*, running: bool = False) -> Iterator[DagsterInstance]:
    """Open the instance; the UI on the same home shows its runs.

    Args:
        running: for a run in this process, which is faster so: what its steps print is not kept for the UI,
            and Dagster's own files stay open from one event to the next.

    Raises:
        DagsterInstanceError: its settings or records cannot be used, then or in the block.
        OSError: its folder cannot be written.
    """
    folder = dagster_home()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["DAGSTER_HOME"] = str(folder)
    with _told(folder), _in_batches() if running else nullcontext():
        opened = _opened(folder, running=running)
        with opened:
            yield opened


@contextmanager
def _in_batches() -> Iterator[None]:
    """Have Dagster store at once what it tells at once, unless the environment says how much."""
    before = os.environ.get(_BATCH)
    os.environ[_BATCH] = before or _MOST_EVENTS
    try:
        yield
    finally:
        if before is None:
            del os.environ[_BATCH]


@contextmanager
def recorded() -> Iterator[DagsterInstance | None]:
    """Open the instance to look things up; None where there is none yet.

    Raises:
        DagsterInstanceError: its settings or records cannot be used.
    """
    if not (dagster_home() / FILE).is_file():
        yield None
        return
    with instance() as opened:
        yield opened


def _opened(folder: Path, *, running: bool) -> DagsterInstance:
    """Open it, one process at a time: at the first opening Dagster makes its tables without a lock."""
    try:
        with FileLock(folder / ".opening.lock", timeout=_SECONDS):
            if not (folder / FILE).exists():
                write_durably(folder / FILE, _SETTINGS)
            if not keeps_records_elsewhere(folder):
                _make_records(folder, running=running)
            if not running:
                return DagsterInstance.get()
            return DagsterInstance.local_temp(str(folder), overrides={**_NOT_CAPTURING, **_records(folder)})
    except Timeout:
        raise DagsterInstanceError(
            f"another process has been opening Dagster's records in {folder} for {_SECONDS:.0f} s; end it, "
            "and run again"
        ) from None
    except (OSError, SQLAlchemyError, sqlite3.Error):
        raise
    except (yaml.YAMLError, DagsterError) as error:
        told = " ".join(str(error).split())[:_LONGEST]
        raise DagsterInstanceError(
            f"{folder / FILE} cannot be used: {told}; mend it, or move it away to have it made anew"
        ) from error
    except Exception as error:
        # What migrates the records has errors of its own, where another version of Dagster made them.
        raise DagsterInstanceError(
            f"Dagster's records in {folder} cannot be opened ({_first_line(error)}); if another version of "
            "Dagster made them, install that one, or run: dagster instance migrate"
        ) from error


def _make_records(folder: Path, *, running: bool) -> None:
    # Late, since Dagster's storages are imported with it.
    from graphrag_dagster.orchestration.dagster_private import whole_files

    # A run asks nothing of schedules.
    schedules = () if running else (whole_files.SCHEDULES,)
    whole_files.make_whole(folder, whole_files.RUNS, whole_files.INDEX, *schedules)


def _records(folder: Path) -> dict[str, Any]:
    """Where the records of a run are, unless the settings say where."""
    return {} if keeps_records_elsewhere(folder) else kept_connections(str(folder))


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Name the place and the way out where Dagster cannot read or write down what happens."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, DagsterInvalidInvocationError) as error:
        why = _first_line(getattr(error, "orig", None) or error)
        damaged = [str(file) for name in _FILES if _is_damaged(file := folder / name)]
        if isinstance(error, DagsterInvalidInvocationError):
            if not damaged:
                raise
            why = "a table of Dagster's is missing"
        if damaged:
            raise DagsterInstanceError(
                f"Dagster's records are damaged: {' and '.join(damaged)} ({why}); restore a back-up, or move "
                "what is damaged away and run again. Only the history of runs is lost, no table"
            ) from error
        raise DagsterInstanceError(
            f"Dagster's records in {folder} cannot be written or read ({why}); make room or mend their "
            "rights, and run again"
        ) from error


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

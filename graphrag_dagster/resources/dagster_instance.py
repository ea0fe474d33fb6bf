"""The persistent Dagster instance, created on first use. Errors are one line with the fix."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import yaml
from dagster import DagsterError, DagsterInstance
from filelock import FileLock, Timeout
from sqlalchemy.exc import SQLAlchemyError

from graphrag_dagster.errors import CorpusError, GraphragError
from graphrag_dagster.kernel.common.atomic_files import write_durably
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.storage.home import dagster_home

_SETTINGS_FILE = "dagster.yaml"
_SETTINGS = "telemetry:\n  enabled: false\nnux:\n  enabled: false\n"
_FILES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
#: Folder in which Dagster creates its files, until they are whole.
_MAKING = ".making"
_SECONDS = 120.0
_LONGEST = 400


class DagsterInstanceError(GraphragError):
    """Dagster's settings or records are unusable."""


@contextmanager
def instance(*, running: bool = False) -> Iterator[DagsterInstance]:
    """Open the instance. The UI on the same home shows its runs.

    Args:
        running: for a run in this process: do not capture the output of its steps for the UI.

    Raises:
        DagsterInstanceError: its settings or records are unusable, on opening or in the block.
        OSError: its folder cannot be written.
    """
    folder = dagster_home()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["DAGSTER_HOME"] = str(folder)
    with _named_errors(folder), _open_locked(folder, running=running) as opened:
        yield opened


@contextmanager
def recorded_instance() -> Iterator[DagsterInstance | None]:
    """Open the instance for look-ups; None if it does not exist yet.

    Raises:
        DagsterInstanceError: its settings or records are unusable.
    """
    if not (dagster_home() / _SETTINGS_FILE).is_file():
        yield None
        return
    with instance() as opened:
        yield opened


@contextmanager
def marked_as_running(corpus: str) -> Iterator[None]:
    """Have :func:`check_idle` refuse the corpus during the block; a killed process lets go of it."""
    mark = _marks() / f"{stable_id(corpus)}-{uuid4().hex}"
    mark.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(mark):
        yield
        with suppress(OSError):
            mark.unlink()


def check_idle(corpus: str) -> None:
    """Check that no command is running a job for a corpus, whose records and tables would go under it.

    Raises:
        CorpusError: one is.
    """
    for mark in _marks().glob(f"{stable_id(corpus)}-*"):
        try:
            with FileLock(mark, timeout=0):
                mark.unlink(missing_ok=True)
        except Timeout:
            raise CorpusError(
                f"a run of corpus {corpus!r} is under way in another process; let it end, or stop it, and "
                "then delete"
            ) from None


def _marks() -> Path:
    return dagster_home() / ".running"


def _open_locked(folder: Path, *, running: bool) -> DagsterInstance:
    """Open the instance in one process at a time, because Dagster creates its tables without a lock."""
    try:
        with FileLock(folder / ".opening.lock", timeout=_SECONDS):
            if not (folder / _SETTINGS_FILE).exists():
                write_durably(folder / _SETTINGS_FILE, _SETTINGS)
            if not _keeps_records_elsewhere(folder):
                _make_records(folder)
                files = [file for file in map(folder.joinpath, _FILES) if file.is_file()]
                # SQLite takes an empty file for a database without tables.
                if empty := [file for file in files if not file.stat().st_size]:
                    raise _damage_error(empty, "nothing is in it")
            return _open(folder, running=running)
    except Timeout:
        raise DagsterInstanceError(
            f"another process has been opening Dagster's records in {folder} for {_SECONDS:.0f} s; stop it, "
            "and run again"
        ) from None
    except (DagsterInstanceError, OSError, SQLAlchemyError, sqlite3.Error):
        raise
    except (yaml.YAMLError, DagsterError) as error:
        message = " ".join(str(error).split())[:_LONGEST]
        raise DagsterInstanceError(
            f"{folder / _SETTINGS_FILE} is invalid: {message}; fix it, or move it away to have it recreated"
        ) from error
    except Exception as error:
        # Migrating records of another Dagster version raises other errors.
        raise DagsterInstanceError(
            f"Dagster's records in {folder} cannot be opened ({_first_line(error)}); if another version of "
            "Dagster made them, install that one, or run: dagster instance migrate"
        ) from error


def _open(folder: Path, *, running: bool) -> DagsterInstance:
    if not running:
        return DagsterInstance.get()
    # Capturing the output of steps takes processes, which a Ctrl-C in the terminal ends with a traceback.
    with DagsterInstance.ephemeral() as uncaptured:
        manager = type(uncaptured.compute_log_manager)
    settings = {"compute_logs": {"module": manager.__module__, "class": manager.__name__}}
    return DagsterInstance.local_temp(str(folder), settings)


def _make_records(folder: Path) -> None:
    """Have Dagster create its files aside, because what a kill leaves of them is of no use."""
    making, history = folder / _MAKING, folder / "history"
    if not history.exists():
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        write_durably(making / _SETTINGS_FILE, _SETTINGS)
        with DagsterInstance.local_temp(str(making)) as made:
            # Dagster completes its index on the first read.
            made.get_asset_keys(limit=1)
        if not (folder / "schedules").exists():
            (making / "schedules").rename(folder / "schedules")
        (making / "history").rename(history)
    shutil.rmtree(making, ignore_errors=True)


def _keeps_records_elsewhere(folder: Path) -> bool:
    """Whether the settings configure another storage for its records than the folder."""
    settings = yaml.safe_load((folder / _SETTINGS_FILE).read_text(encoding="utf-8"))
    return isinstance(settings, dict) and any("storage" in name for name in settings)


@contextmanager
def _named_errors(folder: Path) -> Iterator[None]:
    """Name the location and the fix if Dagster cannot read or write its records."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        why = _first_line(getattr(error, "orig", None) or error)
        damaged = [file for name in _FILES if _is_damaged(file := folder / name)]
        if "no such table: event_logs" in why and not damaged:
            raise DagsterInstanceError(
                f"the records of this run were deleted from {folder} while it was under way; run again"
            ) from error
        if damaged:
            raise _damage_error(damaged, why) from error
        raise DagsterInstanceError(
            f"Dagster's records in {folder} cannot be written or read ({why}); free disk space or fix their "
            "permissions, and run again"
        ) from error


def _damage_error(files: list[Path], why: str) -> DagsterInstanceError:
    return DagsterInstanceError(
        f"Dagster's records are damaged: {' and '.join(map(str, files))} ({why}); restore a backup, or move "
        "the damaged files away and run again. Only the history of runs is lost, no table"
    )


def _is_damaged(file: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("pragma quick_check(1)").fetchone() != ("ok",))
    except (sqlite3.OperationalError, OSError):
        # It does not exist, or is not readable.
        return False
    except sqlite3.DatabaseError:
        return True


def _first_line(error: object) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]

"""The LLM cache in a file: SQLite in WAL mode, safe for many processes of one machine."""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from graphrag_dagster.kernel.models.cache.cache_schema import TABLES, VERSION, CacheFileError, check_format

T = TypeVar("T")

_BUSY_MS = 60_000
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SqliteBackend:
    """See :class:`.Backend`.

    Args:
        path: the file; made with its folder where absent.

    Raises:
        CacheFileError: the file cannot be opened, is no such database, or is of another format.
    """

    remote = False
    now = "((julianday('now') - 2440587.5) * 86400.0)"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shown = str(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.connection = sqlite3.connect(path, timeout=_BUSY_MS / 1000, check_same_thread=False)
            self.connection.isolation_level = None
            self._prepare()
        except (sqlite3.DatabaseError, OSError) as error:
            raise CacheFileError(
                f"{path} cannot be used as the LLM cache: {error}; move it away or fix its permissions"
            ) from error

    def transaction(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what ``work`` returns: all of it is done, or nothing."""
        # Taken at the beginning: a reader that turned writer could be refused.
        self.connection.execute("begin immediate")
        try:
            made = work(self.connection)
            self.connection.execute("commit")
        except BaseException:
            # On a disk that is full SQLite has rolled back by itself.
            if self.connection.in_transaction:
                self.connection.execute("rollback")
            raise
        return made

    def dead_before(self, seconds: float) -> str:
        """Expression of SQL: who was not seen since is dead."""
        return f"{self.now} - {seconds}"

    def shrink(self) -> None:
        """Give back the room of what was deleted, so that no trace of it is left in the files.

        Raises:
            CacheFileError: another process reads the file for so long that traces are left.
        """
        self.connection.execute("vacuum")
        if self.connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]:
            raise CacheFileError(
                f"the deleted rows are gone from {self.path}, but traces remain in {self.path}-wal while "
                "another process reads it; prune again when that process is done"
            )

    def size(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Raise errors of a full disk or a damaged file as such."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            # An error of the module itself bears no code of the database.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in _NO_ROOM:
                raise CacheFileError(
                    f"{self.path} cannot be written ({error}); cached replies are kept. Free disk space, and "
                    "run again"
                ) from error
            if code in _DAMAGE:
                raise CacheFileError(
                    f"{self.path} is damaged ({error}); restore a backup, or recover it with sqlite3's "
                    ".recover, or move it away and run again, which pays for replies again"
                ) from error
            raise

    def _switch_to_wal(self) -> None:
        """Switch to WAL; while another process does so SQLite refuses at once, whatever its time-out."""
        until = time.monotonic() + _BUSY_MS / 1000
        while True:
            try:
                self.connection.execute("pragma journal_mode = wal")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(random.uniform(0.005, 0.05))  # noqa: S311 - a pause is no secret.
            else:
                return

    def _prepare(self) -> None:
        run = self.connection.execute
        run(f"pragma busy_timeout = {_BUSY_MS}")
        self._switch_to_wal()
        # What is written a killed process does not lose; only a power cut can take the last replies.
        run("pragma synchronous = normal")
        run("pragma secure_delete = on")
        with self.named_errors():
            self.transaction(self._make_tables)

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("pragma user_version").fetchone()[0]
        filled = connection.execute("select 1 from sqlite_master").fetchone() is not None
        check_format(self.shown, version or None, made_by_others=filled)
        for statement in TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"pragma user_version = {VERSION}")

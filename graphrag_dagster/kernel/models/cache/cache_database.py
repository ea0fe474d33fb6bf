"""The LLM cache file: SQLite in WAL mode, safe for many processes."""

import asyncio
import atexit
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.models.chat.concurrent_calls import call_loop

#: The only format that is read and written, as ``pragma user_version``.
_VERSION = 4
_BUSY_MS = 60_000
#: Seconds within which what calls have to write is written together.
_TOGETHER = 0.01
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SCHEMA = """
create table replies (
    key blob primary key, task text not null, model text not null, text text not null,
    finish_reason text not null, note text, input_tokens integer not null,
    cached_input_tokens integer not null, output_tokens integer not null, seconds real not null,
    created real not null
) without rowid;
create table vectors (
    key blob primary key, model text not null, vector blob not null, tokens real not null,
    created real not null
) without rowid;
create table uses (
    key blob not null, corpus text not null, asset text not null, run_id text not null,
    last_used real not null, primary key (key, corpus, asset)
) without rowid;
create table finished (
    corpus text not null, asset text not null, run_id text not null, begun real not null,
    primary key (corpus, asset)
) without rowid;
create table usage (
    run_id text not null, corpus text not null, asset text not null, task text not null,
    model text not null, begun real not null, calls integer not null, cached integer not null,
    retries integer not null, failed integer not null, input_tokens integer not null,
    cached_input_tokens integer not null, output_tokens integer not null, saved_tokens integer not null,
    usd real not null, unpriced integer not null, seconds real not null,
    timeouts integer not null default 0, repeated integer not null default 0,
    primary key (corpus, run_id, asset, task, model)
) without rowid;
create table capabilities (
    url text not null, model text not null, capabilities text not null, at real not null,
    primary key (url, model)
) without rowid;
create table batches (
    id text primary key, url text not null, variable text not null, model text not null,
    corpus text not null, asset text not null, run_id text not null, capabilities text not null,
    status text not null, requests integer not null, done integer not null, created real not null,
    closed real, problem text, told integer not null default 0
) without rowid;
create table batch_lines (
    key blob primary key, batch text not null, task text not null, answer text, error text,
    failures integer not null default 0, taken text
) without rowid;
create table paces (
    url text not null, model text not null, seconds_per_token real not null, primary key (url, model)
) without rowid;
create table indexings (
    corpus text primary key, engines text not null, bytes integer not null, seconds real not null
) without rowid;
create table unread_prompts (
    key blob not null, corpus text not null, asset text not null, task text not null, model text not null,
    sent integer not null, arrived integer not null, at real not null, primary key (key, corpus, asset)
) without rowid;
create index uses_by_corpus on uses (corpus, asset);
create index batch_lines_by_batch on batch_lines (batch);
"""

#: An operation on the connection inside a transaction.
Write = Callable[[sqlite3.Connection], object]


class CacheFileError(GraphragError):
    """The LLM cache file cannot be used."""


class Database:
    """One connection a process, used by its threads in turn.

    Args:
        path: the file; made with its folder where absent.

    Raises:
        CacheFileError: the file cannot be opened, is no such database, or is of another format.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._waiting: list[Write] = []
        self._about: set[bytes] = set()
        self._since = 0.0
        self._failed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=_BUSY_MS / 1000, check_same_thread=False)
            self._connection.isolation_level = None
            self._prepare()
        except (sqlite3.DatabaseError, OSError) as error:
            raise CacheFileError(
                f"{path} cannot be used as the LLM cache: {error}; move it away or fix its permissions"
            ) from error

    @contextmanager
    def reading(self, about: bytes | None = None) -> Iterator[sqlite3.Connection]:
        """Read what was written, also what waits to be; ``about``: only what stands under this key.

        Raises:
            CacheFileError: the file is damaged.
        """
        with self._lock, self._named_errors():
            if about is None or about in self._about:
                self._write_waiting()
            yield self._connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Write in one transaction: all of it, or nothing.

        Raises:
            CacheFileError: the file is damaged, or the disk is full, or fails.
        """
        with self._lock, self._named_errors():
            # Taken at the beginning: a reader that turned writer could be refused.
            self._connection.execute("begin immediate")
            try:
                for write in self._waiting:
                    write(self._connection)
                yield self._connection
                self._connection.execute("commit")
                self._waiting.clear()
                self._about.clear()
                self._failed = False
            except BaseException:
                # On a disk that is full SQLite has rolled back by itself.
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    def write_soon(self, write: Write, about: bytes | None = None) -> None:
        """Write in one transaction with what else the calls that are under way have to write.

        Each transaction writes whole pages, and many replies come at almost the same time. Whoever is not on
        the loop of the calls has it written at once.

        Args:
            write: done within a hundredth of a second, and before anything else is read or written.
            about: what it writes stands under this key.

        Raises:
            CacheFileError: the file is damaged, or the disk is full, or fails; perhaps at an earlier one.
        """
        calls = call_loop()
        with self._lock:
            if self._connection.in_transaction:
                write(self._connection)
                return
            self._waiting.append(write)
            if about is not None:
                self._about.add(about)
            if calls is not None and not self._failed:
                self._write_in_time(calls)
                return
            try:
                self._write_waiting()
            except BaseException:
                self._waiting.pop()
                raise

    def _write_in_time(self, calls: asyncio.AbstractEventLoop) -> None:
        now = time.monotonic()
        if len(self._waiting) == 1:
            self._since = now
            calls.call_later(_TOGETHER, self.settle)
        # A busy loop comes late to what it is to do at a time.
        elif now - self._since > _TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Write what waits; where that fails, who writes or reads next is told."""
        with self._lock:
            try:
                self._write_waiting()
            except (CacheFileError, sqlite3.DatabaseError):
                self._failed = True

    def _write_waiting(self) -> None:
        if self._waiting and not self._connection.in_transaction:
            with self.writing():
                pass

    def shrink(self) -> None:
        """Give back the room of what was deleted, so that no trace of it is left in the files.

        Raises:
            CacheFileError: another process reads the file for so long that traces are left.
        """
        with self._lock, self._named_errors():
            self._connection.execute("vacuum")
            busy = self._connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
        if busy:
            raise CacheFileError(
                f"the deleted rows are gone from {self.path}, but traces remain in {self.path}-wal while "
                "another process reads it; prune again when that process is done"
            )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self.settle()
            self._waiting.clear()
            self._connection.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
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
                self._connection.execute("pragma journal_mode = wal")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(random.uniform(0.005, 0.05))  # noqa: S311 - a pause is no secret.
            else:
                return

    def _prepare(self) -> None:
        run = self._connection.execute
        run(f"pragma busy_timeout = {_BUSY_MS}")
        self._switch_to_wal()
        # What is written a killed process does not lose; only a power cut can take the last replies.
        run("pragma synchronous = normal")
        run("pragma secure_delete = on")
        with self.writing() as connection:
            version = connection.execute("pragma user_version").fetchone()[0]
            if version not in {0, _VERSION}:
                raise CacheFileError(
                    f"{self.path} has format {version}, and this version of graphrag-dagster reads format "
                    f"{_VERSION} only; install the version that wrote it, or move the file away"
                )
            if version == 0 and connection.execute("select 1 from sqlite_master").fetchone():
                raise CacheFileError(
                    f"{self.path} is a database of another program; move it away, or set another file"
                )
            if version == _VERSION:
                return
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {_VERSION}")


#: By process too: a forked one must not use the connection that it inherits.
_open: dict[tuple[int, Path], Database] = {}
_opening = threading.Lock()


@atexit.register
def settle_all() -> None:
    """Write what waits, in all files of this process, as before it ends."""
    for (process, _), database in list(_open.items()):
        if process == os.getpid():
            database.settle()


def database_at(path: Path) -> Database:
    """Return the process's connection to a file."""
    with _opening:
        mine = (os.getpid(), path)
        known = _open.get(mine)
        # A file that was deleted meanwhile is begun anew.
        if known is None or not path.exists():
            if known is not None:
                known.close()
            known = _open[mine] = Database(path)
        return known

"""The LLM cache: a SQLite file, or a schema of a Postgres database; safe for many processes."""

import asyncio
import atexit
import os
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from graphrag_dagster.kernel.models.cache.cache_schema import Backend, CacheFileError, Write
from graphrag_dagster.kernel.models.cache.leases import Leases, Presence
from graphrag_dagster.kernel.models.cache.sqlite_backend import SqliteBackend
from graphrag_dagster.kernel.models.chat.concurrent_calls import call_loop
from graphrag_dagster.kernel.storage.home import cache_place, is_postgres

T = TypeVar("T")

#: Seconds within which what calls have to write is written together.
_TOGETHER = 0.01


class Database:
    """One connection a process, used by its threads in turn.

    Args:
        place: a file, made with its folder where absent; or ``postgresql://…``.

    Attributes:
        holder: the name under which this process shares the cache with others.
        presence: tells them that it is there.
        leases: what it asks for, so that they wait for it.

    Raises:
        CacheFileError: it cannot be opened, is no such database, or is of another format.
    """

    def __init__(self, place: Path | str) -> None:
        self.place = str(place)
        self.holder = uuid.uuid4().hex
        self._lock = threading.RLock()
        #: Held for a moment only, so that an event loop never waits for a transaction of another thread.
        self._queue = threading.Lock()
        self._waiting: list[Write] = []
        self._about: set[bytes] = set()
        self._since = 0.0
        self._failed = False
        self._flushing = False
        self._writing: int | None = None
        self.presence = Presence(self)
        self.backend = _backend(self.place, self.holder)
        self.leases = Leases(self)

    @contextmanager
    def reading(self, about: Collection[bytes] | None = None) -> Iterator[Any]:
        """Read what was written, also what waits to be; ``about``: only what stands under these keys.

        Raises:
            CacheFileError: the database is damaged, or away for too long.
        """
        with self._lock, self.backend.named_errors():
            if about is None or not self._about.isdisjoint(about):
                self._write_waiting()
            yield self.backend.connection

    def write(self, work: Callable[[Any], T]) -> T:
        """Return what ``work`` returns, done in one transaction: all of it, or nothing.

        Args:
            work: may be done anew, where the connection to the database was lost meanwhile.

        Raises:
            CacheFileError: the database is damaged or full, or fails, or is away for too long.
        """
        return cast("T", self._transaction(work))

    def _transaction(self, work: Callable[[Any], T] | None) -> T | None:
        with self._lock, self.backend.named_errors():
            with self._queue:
                waiting = tuple(self._waiting)
            self._writing = threading.get_ident()
            try:
                made = self.backend.transaction(waiting, work)
            finally:
                self._writing = None
            with self._queue:
                del self._waiting[: len(waiting)]
                if not self._waiting:
                    self._about.clear()
                self._failed = False
            return made

    def write_soon(self, write: Write, about: bytes | None = None) -> None:
        """Write in one transaction with what else the calls that are under way have to write.

        Each transaction writes whole pages, and many replies come at almost the same time. Whoever is not on
        the loop of the calls has it written at once.

        Args:
            write: done within a hundredth of a second, and before anything else is read or written.
            about: what it writes stands under this key.

        Raises:
            CacheFileError: the database is damaged or full, or fails; perhaps at an earlier one.
        """
        if self._writing == threading.get_ident():
            write(self.backend.connection)
            return
        calls = call_loop()
        with self._queue:
            self._waiting.append(write)
            if about is not None:
                self._about.add(about)
            first, failed = len(self._waiting) == 1, self._failed
        if calls is not None and not failed:
            self._write_in_time(calls, first=first)
            return
        try:
            self._write_waiting()
        except BaseException:
            with self._lock, self._queue:
                self._waiting.remove(write)
            raise

    def _write_in_time(self, calls: asyncio.AbstractEventLoop, *, first: bool) -> None:
        now = time.monotonic()
        if first:
            self._since = now
            calls.call_later(_TOGETHER, self._flush, calls)
        # A busy loop comes late to what it is to do at a time.
        elif now - self._since > _TOGETHER:
            self._flush(calls)

    def _flush(self, calls: asyncio.AbstractEventLoop) -> None:
        if not self.backend.remote:
            self.settle()
            return
        with self._queue:
            if self._flushing or not self._waiting:
                return
            self._flushing = True
        try:
            calls.run_in_executor(None, self._flush_all)
        except RuntimeError:
            # The process ends, and has no more threads; it writes what waits itself.
            self._flushing = False

    def _flush_all(self) -> None:
        """Write what waits, and what comes to wait meanwhile."""
        while True:
            self.settle()
            with self._queue:
                if self._failed or not self._waiting:
                    self._flushing = False
                    return

    def settle(self) -> None:
        """Write what waits; where that fails, who writes or reads next is told."""
        try:
            self._write_waiting()
        except Exception:
            self._failed = True

    def _write_waiting(self) -> None:
        with self._lock:
            if self._waiting and self._writing is None:
                self._transaction(None)

    def shrink(self) -> None:
        """Give back the room of what was deleted, so that no trace of it is left in the tables.

        Raises:
            CacheFileError: another process uses the database for so long that traces are left.
        """
        with self._lock, self.backend.named_errors():
            self.backend.shrink()

    def end(self) -> None:
        """Write what waits, and give up what is held, as before the process ends."""
        self.settle()
        if not self._failed:
            with suppress(CacheFileError):
                self.presence.end()

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self.end()
            self._waiting.clear()
            self.backend.close()


def _backend(place: str, holder: str) -> Backend:
    if not is_postgres(place):
        return SqliteBackend(Path(place))
    from graphrag_dagster.kernel.models.cache.postgres_backend import PostgresBackend

    return PostgresBackend(place, holder)


#: By process too: a forked one must not use the connection that it inherits.
_open: dict[tuple[int, str], Database] = {}
_opening = threading.Lock()


@atexit.register
def end_all() -> None:
    """Write what waits, in all caches of this process, as before it ends."""
    for (process, _), database in list(_open.items()):
        if process == os.getpid():
            database.end()


def database_at(place: Path | str) -> Database:
    """Return the process's connection to a cache."""
    with _opening:
        mine = (os.getpid(), str(place))
        known = _open.get(mine)
        # A file that was deleted meanwhile is begun anew.
        if known is None or (not known.backend.remote and not Path(place).exists()):
            if known is not None:
                known.close()
            known = _open[mine] = Database(place)
        return known


def own_database() -> Database:
    """Return the process's connection to the cache of this home."""
    return database_at(cache_place())


def own_database_if_made() -> Database | None:
    """Return the process's connection to the cache of this home; None where its file is not there."""
    place = cache_place()
    return database_at(place) if is_postgres(place) or Path(place).is_file() else None

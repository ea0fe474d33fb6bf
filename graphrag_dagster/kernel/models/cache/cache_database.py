"""The LLM cache: a SQLite file, or a schema of a Postgres database; safe for many processes."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from graphrag_dagster.kernel.models.cache.cache_schema import Backend, CacheFileError, Write
from graphrag_dagster.kernel.models.cache.leases import Leases, Presence
from graphrag_dagster.kernel.models.cache.sqlite_backend import SqliteBackend
from graphrag_dagster.kernel.models.chat.concurrent_calls import call_loop
from graphrag_dagster.kernel.storage.home import cache_place, is_postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphrag_dagster.kernel.models.model_costs import Amount

T = TypeVar("T")


class Database:
    """One connection a process, used by its threads in turn.

    Args:
        place: a file, made with its folder where absent; or ``postgresql://…``.

    Attributes:
        holder: the name under which this process shares the cache with others.
        presence: tells them that it is there.
        leases: what it asks for, so that they wait for it.
        in_flight: what calls of this process may cost at worst, by corpus and run.
        turns: held, by corpus and run, while room for such a call is looked for.

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
        self._failed = False
        self.presence = Presence(self)
        self.backend = _backend(self.place, self.holder)
        self.leases = Leases(self)
        self.in_flight: dict[tuple[str, str], dict[int, Amount]] = {}
        self.turns: dict[tuple[str, str], asyncio.Lock] = {}

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Read what was written, also what waits to be.

        Raises:
            CacheFileError: the database is damaged, or away for too long.
        """
        with self._lock, self.backend.named_errors():
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

    async def ask(self, work: Callable[[], T]) -> T:
        """Return what ``work``, which asks this database, returns; a remote one is asked in a thread.

        Who is cancelled hears of it once the work is over, so that what it took can be given back.
        """
        if not self.backend.remote:
            return work()
        asked = asyncio.get_running_loop().run_in_executor(None, work)
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            await asyncio.wait([asked])
            raise

    def _transaction(self, work: Callable[[Any], T] | None) -> T | None:
        with self._lock, self.backend.named_errors():
            with self._queue:
                waiting, self._waiting = self._waiting, []
            try:
                made = self.backend.transaction(waiting, work)
            except BaseException:
                with self._queue:
                    self._waiting[:0] = waiting
                raise
            self._failed = False
            return made

    def write_soon(self, write: Write) -> None:
        """Write in the next turn of the loop of the calls, in one transaction with what else waits.

        Whoever is not on that loop has it written at once.

        Args:
            write: done before anything else is read or written.

        Raises:
            CacheFileError: the database is damaged or full, or fails; perhaps at an earlier one.
        """
        calls = call_loop()
        with self._queue:
            self._waiting.append(write)
            first = len(self._waiting) == 1
        if calls is not None and not self._failed:
            if first:
                calls.call_soon(self._flush, calls)
            return
        try:
            self._write_waiting()
        except BaseException:
            with self._lock, self._queue:
                self._waiting.remove(write)
            raise

    def _flush(self, calls: asyncio.AbstractEventLoop) -> None:
        if not self.backend.remote:
            self.settle()
            return
        # Where the process ends there are no more threads: it writes what waits itself.
        with suppress(RuntimeError):
            calls.run_in_executor(None, self.settle)

    def settle(self) -> None:
        """Write what waits; where that fails, who writes or reads next is told."""
        try:
            self._write_waiting()
        except Exception:
            self._failed = True

    def _write_waiting(self) -> None:
        with self._lock:
            if self._waiting:
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

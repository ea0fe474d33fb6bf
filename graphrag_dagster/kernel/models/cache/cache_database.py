"""The LLM cache: a SQLite file, or a schema of a Postgres database; safe for many processes."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphrag_dagster.kernel.models.cache.cache_schema import Backend, CacheFileError
from graphrag_dagster.kernel.models.cache.leases import Leases
from graphrag_dagster.kernel.models.cache.sqlite_backend import SqliteBackend
from graphrag_dagster.kernel.storage.home import cache_place, is_postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from graphrag_dagster.kernel.models.model_costs import ModelUse

T = TypeVar("T")


class Database:
    """One connection a process, used by its threads in turn.

    Args:
        place: a file, made with its folder where absent; or ``postgresql://…``.

    Attributes:
        leases: what this process asks for, so that others wait for it.
        in_flight: what calls of this process may cost at worst, by corpus and run.
        reserving: held, by corpus and run, while room for such a call is looked for.

    Raises:
        CacheFileError: it cannot be opened, is no such database, or is of another format.
    """

    def __init__(self, place: Path | str) -> None:
        self.place = str(place)
        self._lock = threading.RLock()
        self.backend: Backend
        if is_postgres(self.place):
            from graphrag_dagster.kernel.models.cache.postgres_backend import PostgresBackend

            self.backend = PostgresBackend(self.place)
        else:
            self.backend = SqliteBackend(Path(self.place))
        self.leases = Leases(self)
        self.in_flight: defaultdict[tuple[str, str], list[ModelUse]] = defaultdict(list)
        self.reserving: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._writer = ThreadPoolExecutor(1, "cache-writer")
        self._under_way: deque[Future[object]] = deque()
        self._waiting = threading.Lock()

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Read what was written, also by :meth:`write_soon`; nothing else is asked of this database within.

        Raises:
            CacheFileError: the database is damaged, or away for too long.
        """
        self._wait_for_writes()
        with self._lock, self.backend.named_errors():
            yield self.backend.connection

    def write(self, work: Callable[[Any], T]) -> T:
        """Return what ``work`` returns, done in one transaction: all of it, or nothing.

        Args:
            work: may be done anew, where the connection to the database was lost meanwhile.

        Raises:
            CacheFileError: the database is damaged or full, or fails, or is away for too long.
        """
        self._wait_for_writes()
        return self.transaction(work)

    def transaction(self, work: Callable[[Any], T]) -> T:
        """As :meth:`write`, for one who is not to be told what went wrong with earlier writes."""
        with self._lock, self.backend.named_errors():
            return self.backend.transaction(work)

    def write_soon(self, work: Callable[[Any], object]) -> None:
        """Write into a file at once, into a remote database in a thread: no event loop may wait for it.

        Raises:
            CacheFileError: as :meth:`write`; where it is written in a thread, whoever reads or writes next
                is told.
        """
        if self.backend.remote:
            # Where the process ends there are no more threads.
            with suppress(RuntimeError):
                self._under_way.append(self._writer.submit(self.transaction, work))
                return
        self.transaction(work)

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

    def _wait_for_writes(self) -> None:
        # Held, so that whoever comes meanwhile waits for them too.
        with self._waiting:
            writes = [self._under_way.popleft() for _ in range(len(self._under_way))]
            wait(writes)
        for write in writes:
            write.result()

    def shrink(self) -> None:
        """Give back the room of what was deleted, so that no trace of it is left in the tables.

        Raises:
            CacheFileError: another process uses the database for so long that traces are left.
        """
        with self._lock, self.backend.named_errors():
            self.backend.shrink()

    def end(self) -> None:
        """Finish what is being written, and give up what is held, as before the process ends."""
        with suppress(CacheFileError):
            self._wait_for_writes()
            self.leases.end()

    def close(self) -> None:
        """Close the connection."""
        self.end()
        self._writer.shutdown()
        with self._lock:
            self.backend.close()


#: By process too: a forked one must not use the connection that it inherits.
_open: dict[tuple[int, str], Database] = {}
_opening = threading.Lock()


@atexit.register
def end_all() -> None:
    """Finish what is being written, in all caches of this process, as before it ends."""
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

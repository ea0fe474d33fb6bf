"""Leases: of the processes that share an LLM cache one asks for a reply, the others wait for it.

A lease stands in the database before the call is sent, and goes with the reply, or when the call has failed.
Its holder renews it meanwhile; one that was not renewed for long is free.
"""

from __future__ import annotations

import asyncio
import random
import threading
import uuid
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from graphrag_dagster.kernel.models.cache.cache_schema import rows_of_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphrag_dagster.kernel.models.cache.cache_database import Database

#: Seconds after which a lease that was not renewed is free; how often it is renewed meanwhile; and after how
#: long what a process has left is cleared away.
LIFE = 20.0
_BEATS = 5
_CLEARED = 3600.0
#: Seconds between two looks at what others ask for, or whether a database is back: more each time.
_SOON, _LATE, _LONGER = 0.02, 1.0, 1.5
#: What may be there of a key.
_THERE = tuple(f"select key from {table} where key in ({{keys}})" for table in ("replies", "vectors"))
_jitter = random.SystemRandom()


class Leases:
    """The leases of this process in one LLM cache; within the process, whoever asks for one has it.

    Args:
        database: the cache.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._holder = uuid.uuid4().hex
        #: How many calls hold a key.
        self._held: Counter[bytes] = Counter()
        self._counting = threading.Lock()
        self._ended = threading.Event()
        # A thread: a loop that is busy for long must not pass for dead.
        self._renewing = threading.Thread(target=self._renew, name="cache-leases", daemon=True)

    async def take(self, key: bytes) -> bool:
        """Take the lease of a key as soon as no other process has it; False: there is something under it now.

        Who gets it gives it back with :meth:`leave`.

        Raises:
            CacheFileError: the database cannot be used.
        """
        pauses = pauses_of_waiting()
        while True:
            mine, there = await self._ask([key])
            if mine or there:
                return bool(mine)
            await asyncio.sleep(next(pauses))

    async def take_some(self, keys: Sequence[bytes]) -> set[bytes]:
        """Take the leases of those keys that no other process has, and under which there is nothing."""
        return (await self._ask(keys))[0] if keys else set()

    def hold_on(self, key: bytes) -> None:
        """Hold a key a little longer that was held a moment ago; given back with :meth:`leave`."""
        self._count(key, 1)

    def leave(self, key: bytes) -> None:
        """Give a lease back, once the caller has judged the reply and perhaps has asked again."""
        # Nothing is awaited until the reply is remembered; another way to one begins in the next turn.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self.leave_now, (key,))

    def leave_now(self, keys: Iterable[bytes]) -> None:
        """Give leases back."""
        free = [key for key in keys if self._count(key, -1) == 0]
        if free:
            self._database.write_soon(partial(self._delete, free))

    def _count(self, key: bytes, change: int) -> int:
        # Who embeds gives back in a thread of its own.
        with self._counting:
            self._held[key] += change
            if not self._held[key]:
                del self._held[key]
            return self._held[key]

    def _delete(self, keys: Iterable[bytes], connection: Any) -> None:
        connection.executemany(
            "delete from held_keys where key = ? and holder = ?",
            # Others of this process may have asked for them before this was written.
            [(key, self._holder) for key in keys if key not in self._held],
        )

    async def _ask(self, keys: Sequence[bytes]) -> tuple[set[bytes], set[bytes]]:
        """The keys that are taken now, and those under which there is something."""
        with self._counting:
            if self._renewing.ident is None:
                self._renewing.start()
        # Counted before they are there, so that whoever gives one back meanwhile leaves it.
        for key in keys:
            self._count(key, 1)
        mine, there = set[bytes](), set[bytes]()
        try:
            mine, there = await self._database.ask(
                lambda: self._database.write(lambda connection: self._take(connection, keys))
            )
        finally:
            self.leave_now(key for key in keys if key not in mine)
        return mine, there

    def _take(self, connection: Any, keys: Sequence[bytes]) -> tuple[set[bytes], set[bytes]]:
        now, free = self._database.backend.now, self._database.backend.dead_before(LIFE)
        there = {key for query in _THERE for (key,) in rows_of_keys(connection, query, keys)}
        connection.executemany(
            f"insert into held_keys values (?, ?, {now}) on conflict (key) do update set "
            f"holder = excluded.holder, renewed = excluded.renewed where held_keys.renewed < {free}",
            [(key, self._holder) for key in keys if key not in there],
        )
        query = f"select key from held_keys where holder = '{self._holder}' and key in ({{keys}})"
        mine = {key for (key,) in rows_of_keys(connection, query, keys)}
        return mine - there, there

    def _renew(self) -> None:
        now, cleared = self._database.backend.now, self._database.backend.dead_before(_CLEARED)
        self._write(f"delete from held_keys where holder <> ? and renewed < {cleared}")
        while not self._ended.wait(LIFE / _BEATS):
            if self._held:
                self._write(f"update held_keys set renewed = {now} where holder = ?")

    def _write(self, statement: str) -> None:
        # Who calls a model is told of what fails; here it is tried again, unless the cache was closed.
        with suppress(Exception):
            self._database.transaction(lambda connection: connection.execute(statement, (self._holder,)))

    def end(self) -> None:
        """Take none any more: what this process holds is free at once."""
        if self._renewing.is_alive() and not self._ended.is_set():
            self._ended.set()
            self._write("delete from held_keys where holder = ?")


def pauses_of_waiting() -> Iterator[float]:
    """Yield the seconds between two looks at what others ask for, or whether a database is back."""
    pause = _SOON
    while True:
        yield pause * _jitter.uniform(0.7, 1.0)
        pause = min(pause * _LONGER, _LATE)

"""The LLM cache in a schema of a Postgres database, for many machines.

Whoever writes holds one lock of the database, so there is one writer at a time, as in SQLite: what is decided
on what was read holds, and no two transactions wait for each other. A connection that breaks is made anew,
and what was under way is done again; the serial number of the last transaction, which each writes along, says
whether it had come through.
"""

from __future__ import annotations

import logging
import re
import time
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.models.cache.cache_schema import SHARING, TABLES, VERSION, CacheFileError, Write
from graphrag_dagster.kernel.models.cache.leases import pauses_of_waiting

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.types.numeric import IntLoader
except ImportError:
    raise SettingsError(
        "a cache in Postgres needs the extra postgres: pip install 'graphrag-dagster[postgres]'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

T = TypeVar("T")
# What it says of a connection that breaks: it is made anew.
logging.getLogger("psycopg").setLevel(logging.ERROR)

SCHEMA = "graphrag_dagster_cache"
#: Seconds that a database which was there before may be away.
PATIENCE = 60.0
#: A network that is silent is told from a database that thinks.
_CONNECTING: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 40_000,
}
#: Seconds for which one that was away for so long is not tried again.
_GIVEN_UP = 5.0
#: Milliseconds that deleted rows are waited for which others read.
_LOCK_MS = 60_000
#: Beginnings of the codes of errors with which the server ends a connection.
_ENDED = ("08", "57P", "25P03")
_LOCK = f"select pg_advisory_xact_lock(hashtext('{SCHEMA}'))"
_TYPES = (
    # Sorted as SQLite does; a column may be named like its type.
    (r"\btext(?= not null| primary|,|\n)", 'text collate "C"'),
    (r"\bblob\b", "bytea"),
    (r"\breal\b", "double precision"),
    (r"\binteger\b", "bigint"),
    (r"\) without rowid", ")"),
)


@cache
def _translated(sql: str) -> str:
    return re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", sql.replace("%", "%%").replace("?", "%s"))


class _Statements:
    """Runs statements as a connection of SQLite does."""

    def __init__(self, run: Callable[[Callable[[psycopg.Connection], Any]], Any]) -> None:
        self._run = run

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        """Run a statement with ``?`` or ``:name`` for its parameters."""
        query: Any = _translated(sql)
        return self._run(lambda connection: connection.execute(query, parameters))

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> Any:
        """Run a statement for each of the rows."""
        query, given = _translated(sql), list(rows)

        def run(connection: Any) -> Any:
            cursor = connection.cursor()
            cursor.executemany(query, given)
            return cursor

        return self._run(run)


class PostgresBackend:
    """See :class:`.Backend`.

    Args:
        url: ``postgresql://user@host:port/database``; a password may be in ``PGPASSWORD`` or ``~/.pgpass``.
        holder: name of who opens it.

    Raises:
        CacheFileError: the database cannot be reached, or its schema is of another format.
    """

    remote = True
    now = "extract(epoch from clock_timestamp())::double precision"

    def __init__(self, url: str, holder: str) -> None:
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error:
            raise CacheFileError(
                "the address of the LLM cache cannot be understood; write postgresql://user@host:port/database"
            ) from None
        self._url, self._holder, self._serial = url, holder, 0
        self._given = {name: parts[name] for name in _CONNECTING if name in parts}
        self._secret = str(parts.get("password") or "")
        host = f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}"
        self.shown = f"postgresql://{parts.get('user', '')}@{host}/{parts.get('dbname', '')}"
        self.connection = _Statements(self._run)
        self._in_transaction = False
        self._away_since: float | None = None
        #: Until when nothing is tried, and why.
        self._gone = (0.0, "")
        try:
            self._raw = self._connected()
            self._prepare()
        except psycopg.Error as error:
            raise CacheFileError(
                f"{self.shown} cannot be used as the LLM cache: {self._told(error)}; start the database, or "
                "correct GRAPHRAG_DAGSTER_CACHE and PGPASSWORD"
            ) from None

    def transaction(self, writes: Sequence[Write], work: Callable[[Any], T] | None) -> T | None:
        """Do all of it, or nothing; where the connection breaks, do it anew unless it had come through."""
        self._serial += 1
        made: list[T] = []
        pauses = pauses_of_waiting()
        tried = False
        while True:
            try:
                self._in_transaction = True
                if not (tried and self._came_through()):
                    made.clear()
                    self._once(writes, work, made)
                self._away_since = None
                return made[-1] if made else None
            except psycopg.Error as error:
                lost = self._lost(error)
                self._undo()
                if not lost:
                    raise
                tried = True
                self._wait(error, next(pauses))
            except BaseException:
                self._undo()
                raise
            finally:
                self._in_transaction = False

    def dead_before(self, seconds: float) -> str:
        """Expression of SQL: who was not seen since is dead; nobody is seen while the database is away."""
        return (
            f"case when clock_timestamp() - pg_postmaster_start_time() > interval '{seconds} seconds' "
            f"then {self.now} - {seconds} else 0 end"
        )

    def shrink(self) -> None:
        """Write the tables that hold texts anew, without what was deleted.

        Raises:
            CacheFileError: other connections use a table for too long.
        """
        self.connection.execute(f"set lock_timeout = {_LOCK_MS}")
        try:
            for table in ("replies", "vectors", "batch_lines", "uses"):
                self.connection.execute(f"vacuum full {table}")
        except psycopg.errors.LockNotAvailable:
            raise CacheFileError(
                f"the deleted rows are gone from {self.shown}, but traces remain on its disk while others "
                "use the tables; prune again when they are done"
            ) from None
        finally:
            self.connection.execute("set lock_timeout = 0")

    def size(self) -> int:
        """Bytes of the schema."""
        query = (
            "select coalesce(sum(pg_total_relation_size(oid)), 0) from pg_class "
            f"where relkind = 'r' and relnamespace = '{SCHEMA}'::regnamespace"
        )
        return int(self.connection.execute(query).fetchone()[0])

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Raise errors of the database without what they quote of rows and addresses."""
        try:
            yield
        except psycopg.Error as error:
            raise CacheFileError(
                f"{self.shown} failed: {self._told(error)}; cached replies are kept. Mend the database, and "
                "run again"
            ) from None

    def _connected(self) -> psycopg.Connection:
        raw = psycopg.connect(self._url, autocommit=True, **{**_CONNECTING, **self._given})
        # No column is one: these are sums of whole numbers.
        raw.adapters.register_loader("numeric", IntLoader)
        raw.execute(f"set search_path to {SCHEMA}")
        # A machine that vanished must not keep the others from writing.
        raw.execute("set idle_in_transaction_session_timeout = '30s'")
        return raw

    def _run(self, action: Callable[[psycopg.Connection], T]) -> T:
        if self._in_transaction:
            return action(self._raw)
        pauses = pauses_of_waiting()
        while True:
            try:
                made = action(self._open())
            except psycopg.Error as error:
                if not self._lost(error):
                    raise
                self._wait(error, next(pauses))
            else:
                self._away_since = None
                return made

    def _wait(self, error: psycopg.Error, seconds: float) -> None:
        """Pause before the next try.

        Raises:
            CacheFileError: the database has been away for too long.
        """
        now = time.monotonic()
        self._away_since = self._away_since or now
        away = now - self._away_since
        if away > PATIENCE:
            # Of all the calls that are under way only the first is to wait for so long.
            self._gone = (now + _GIVEN_UP, f"has been away for {away:.0f} s ({self._told(error)})")
            self._check_gone()
        time.sleep(seconds)

    def _check_gone(self) -> None:
        until, why = self._gone
        if time.monotonic() < until:
            raise CacheFileError(
                f"{self.shown} {why}; what was paid for before is cached. Start the database, and run again"
            ) from None

    def _open(self) -> psycopg.Connection:
        if self._raw.closed:
            self._check_gone()
            self._raw = self._connected()
        return self._raw

    def _once(self, writes: Sequence[Write], work: Callable[[Any], T] | None, made: list[T]) -> None:
        raw = self._open()
        # Sent in one go, answers are not waited for in between.
        with raw.pipeline():
            raw.execute("begin")
            raw.execute(_LOCK)
            self.connection.execute(
                f"insert into holders values (?, {self.now}, ?) on conflict (holder) do update set "
                "seen = excluded.seen, serial = excluded.serial",
                (self._holder, self._serial),
            )
            for write in writes:
                write(self.connection)
            if work is None:
                raw.execute("commit")
        if work is not None:
            made.append(work(self.connection))
            raw.execute("commit")

    def _came_through(self) -> bool:
        """Whether the transaction of this serial number was written, of which no answer came."""
        query = "select 1 from holders where holder = %s and serial = %s"
        # One that is still under way there, for nobody, is waited for.
        with self._open().transaction():
            self._raw.execute(_LOCK)
            return self._raw.execute(query, (self._holder, self._serial)).fetchone() is not None

    def _lost(self, error: psycopg.Error) -> bool:
        if (error.sqlstate or "").startswith(_ENDED):
            self._raw.close()
        return self._raw.closed

    def _undo(self) -> None:
        if not self._raw.closed:
            try:
                self._raw.execute("rollback")
            except psycopg.Error:
                self._raw.close()

    def _told(self, error: psycopg.Error) -> str:
        """The message alone: details quote rows, and some messages the address."""
        text = error.diag.message_primary or str(error).strip().split("\n")[0]
        text = text.replace(self._url, self.shown)
        return text.replace(self._secret, "…") if self._secret else text

    def _prepare(self) -> None:
        run = self._raw.execute
        with self._raw.transaction():
            run(_LOCK)
            there = run("select to_regnamespace(%s) is not null", (SCHEMA,)).fetchone()
            marked = run("select to_regclass(%s) is not null", (f"{SCHEMA}.format",)).fetchone()
            if marked == (True,):
                self._check_version(run("select version from format").fetchone())
                return
            if (
                there == (True,)
                and run(
                    "select 1 from pg_class where relnamespace = to_regnamespace(%s)", (SCHEMA,)
                ).fetchone()
            ):
                raise CacheFileError(
                    f"the schema {SCHEMA} of {self.shown} is of another program; use another database"
                )
            if there != (True,):
                run(f"create schema {SCHEMA}")
            tables = TABLES + SHARING
            for pattern, name in _TYPES:
                tables = re.sub(pattern, name, tables)
            for statement in filter(str.strip, tables.split(";")):
                self._raw.execute(statement.encode())
            run("create table format (version bigint not null)")
            run("insert into format values (%s)", (VERSION,))

    def _check_version(self, row: tuple[Any, ...] | None) -> None:
        if row != (VERSION,):
            raise CacheFileError(
                f"the schema {SCHEMA} of {self.shown} has format {row[0] if row else 'none'}, and this "
                f"version of graphrag-dagster reads format {VERSION} only; install the version that made it "
                "on all machines, or use another database"
            )

"""The LLM cache in a schema of a Postgres database, for many machines.

Whoever writes holds one lock of the database, so there is one writer at a time, as in SQLite: what is decided
on what was read holds, and no two transactions wait for each other. A connection that breaks is made anew,
and what was under way is done again; the number of the last transaction, which each connection writes along,
says whether it had come through. (``pg_xact_status`` does not: a server that is killed gives numbers again.)
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.models.cache.cache_schema import TABLES, VERSION, CacheFileError, check_format
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
#: Milliseconds that deleted rows are waited for which others read.
_LOCK_MS = 60_000
#: Beginnings of the codes of errors with which the server ends a connection.
_ENDED = ("08", "57P", "25P03")
_LOCK = f"pg_advisory_xact_lock(hashtext('{SCHEMA}'))"
_WRITERS = "create table if not exists writers (writer text primary key, serial bigint, at timestamptz)"
#: Takes the lock, too.
_BEGUN = (
    f"insert into writers select %s, %s, now() from {_LOCK} "
    "on conflict (writer) do update set serial = excluded.serial, at = excluded.at"
)
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

    Raises:
        CacheFileError: the database cannot be reached, or its schema is of another format.
    """

    remote = True
    now = "extract(epoch from clock_timestamp())::double precision"

    def __init__(self, url: str) -> None:
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error:
            raise CacheFileError(
                "the address of the LLM cache cannot be understood; write postgresql://user@host:port/database"
            ) from None
        self._url, self._writer, self._serial = url, uuid.uuid4().hex, 0
        self._given = {name: parts[name] for name in _CONNECTING if name in parts}
        self._secret = str(parts.get("password") or "")
        host = f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}"
        self.shown = f"postgresql://{parts.get('user', '')}@{host}/{parts.get('dbname', '')}"
        self.connection = _Statements(self._patiently)
        self._away_since: float | None = None
        try:
            self._raw = self._connected()
            self._prepare()
        except psycopg.Error as error:
            raise CacheFileError(
                f"{self.shown} cannot be used as the LLM cache: {self._why(error)}; start the database, or "
                "correct GRAPHRAG_DAGSTER_CACHE and PGPASSWORD"
            ) from None

    def transaction(self, work: Callable[[Any], T]) -> T:
        """Return what ``work`` returns: all of it is done, or nothing.

        Where the connection breaks, it is done anew, unless the transaction had come through.
        """
        made: list[T] = []
        self._serial += 1

        def once(raw: psycopg.Connection) -> T:
            if not (made and self._came_through(raw)):
                made.clear()
                with raw.transaction():
                    raw.execute(_BEGUN, (self._writer, self._serial))
                    made.append(work(_Statements(lambda action: action(raw))))
            return made[0]

        return self._patiently(once)

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
                f"{self.shown} failed: {self._why(error)}; cached replies are kept. Mend the database, and "
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

    def _patiently(self, action: Callable[[psycopg.Connection], T]) -> T:
        """Return what an action returns, which is done anew where the connection breaks.

        Raises:
            CacheFileError: the database has been away for too long.
        """
        pauses = pauses_of_waiting()
        while True:
            try:
                if self._raw.closed:
                    self._raw = self._connected()
                made = action(self._raw)
            except psycopg.Error as error:
                if (error.sqlstate or "").startswith(_ENDED):
                    self._raw.close()
                if not self._raw.closed:
                    raise
                self._check_patience(error)
                time.sleep(next(pauses))
            else:
                self._away_since = None
                return made

    def _check_patience(self, error: psycopg.Error) -> None:
        # Of all the calls that are under way only the first waits for so long.
        self._away_since = self._away_since or time.monotonic()
        away = time.monotonic() - self._away_since
        if away > PATIENCE:
            raise CacheFileError(
                f"{self.shown} has been away for {away:.0f} s ({self._why(error)}); what was paid for is "
                "cached. Start the database, and run again"
            ) from None

    def _came_through(self, raw: psycopg.Connection) -> bool:
        """Whether the last transaction was written, of which no answer came."""
        query = "select serial from writers where writer = %s"
        # One that is still under way there, for nobody, is waited for.
        with raw.transaction():
            raw.execute(f"select {_LOCK}")
            return bool(_one(raw.execute(query, (self._writer,))) == self._serial)

    def _why(self, error: psycopg.Error) -> str:
        """The message alone: details quote rows, and some messages the address."""
        text = error.diag.message_primary or str(error).strip().split("\n")[0]
        text = text.replace(self._url, self.shown)
        return text.replace(self._secret, "…") if self._secret else text

    def _prepare(self) -> None:
        with self._raw.transaction():
            run = self._raw.execute
            run(f"select {_LOCK}")
            schema = _one(run("select to_regnamespace(%s)::oid", (SCHEMA,)))
            tables = {
                name for (name,) in run("select relname from pg_class where relnamespace = %s", (schema,))
            }
            version = _one(run("select version from format")) if "format" in tables else None
            check_format(f"the schema {SCHEMA} of {self.shown}", version, made_by_others=bool(tables))
            if schema is None:
                run(f"create schema {SCHEMA}")
            for statement in filter(str.strip, _TABLES.split(";")):
                run(statement.encode())
            run(_WRITERS)
            run("delete from writers where at < now() - interval '1 day'")
            if version is None:
                run("create table format (version bigint not null)")
                run("insert into format values (%s)", (VERSION,))


def _one(found: psycopg.Cursor) -> Any:
    """The only value of the only row."""
    row = found.fetchone()
    return row[0] if row else None


def _in_types_of_postgres(tables: str) -> str:
    for pattern, name in _TYPES:
        tables = re.sub(pattern, name, tables)
    return tables


_TABLES = _in_types_of_postgres(TABLES)

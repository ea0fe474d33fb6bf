"""Tables of the LLM cache, and what a database has to offer to hold them: SQLite or Postgres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from graphrag_dagster.errors import GraphragError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

T = TypeVar("T")

#: The only format that is read and written.
VERSION = 4
TABLES = """
create table if not exists replies (
    key blob primary key, task text not null, model text not null, text text not null,
    finish_reason text not null, note text, input_tokens integer not null,
    cached_input_tokens integer not null, output_tokens integer not null, seconds real not null,
    created real not null
) without rowid;
create table if not exists vectors (
    key blob primary key, model text not null, vector blob not null, tokens real not null,
    created real not null
) without rowid;
create table if not exists uses (
    key blob not null, corpus text not null, asset text not null, run_id text not null,
    last_used real not null, primary key (key, corpus, asset)
) without rowid;
create table if not exists finished (
    corpus text not null, asset text not null, run_id text not null, begun real not null,
    primary key (corpus, asset)
) without rowid;
create table if not exists usage (
    run_id text not null, corpus text not null, asset text not null, task text not null,
    model text not null, begun real not null, calls integer not null, cached integer not null,
    retries integer not null, failed integer not null, input_tokens integer not null,
    cached_input_tokens integer not null, output_tokens integer not null, saved_tokens integer not null,
    usd real not null, unpriced integer not null, seconds real not null,
    timeouts integer not null default 0, repeated integer not null default 0,
    primary key (corpus, run_id, asset, task, model)
) without rowid;
create table if not exists capabilities (
    url text not null, model text not null, capabilities text not null, at real not null,
    primary key (url, model)
) without rowid;
create table if not exists batches (
    id text primary key, url text not null, variable text not null, model text not null,
    corpus text not null, asset text not null, run_id text not null, capabilities text not null,
    status text not null, requests integer not null, done integer not null, created real not null,
    closed real, problem text, told integer not null default 0
) without rowid;
create table if not exists batch_lines (
    key blob primary key, batch text not null, task text not null, answer text, error text,
    failures integer not null default 0, taken text
) without rowid;
create table if not exists held_keys (
    key blob primary key, holder text not null, renewed real not null
) without rowid;
create index if not exists uses_by_corpus on uses (corpus, asset);
create index if not exists batch_lines_by_batch on batch_lines (batch);
"""


class CacheFileError(GraphragError):
    """The LLM cache cannot be used."""


def check_format(shown: str, version: int | None, *, made_by_others: bool) -> None:
    """Make sure that a database holds an LLM cache of this format, or nothing.

    Args:
        shown: how messages name it.
        version: the format that it says it has, None where it says none.
        made_by_others: it has tables.

    Raises:
        CacheFileError: it is another program's, or of another format.
    """
    if version is None and made_by_others:
        raise CacheFileError(f"{shown} is of another program; move it away, or use another database")
    if version not in {None, VERSION}:
        raise CacheFileError(
            f"{shown} has format {version}, and this version of graphrag-dagster reads format {VERSION} "
            "only; install the version that made it, or move it away"
        )


#: Keys in one statement: databases take so many parameters, and no more.
_AT_ONCE = 500


def rows_of_keys(connection: Any, query: str, keys: Sequence[bytes]) -> Iterator[Any]:
    """Yield what a query tells of keys, of some at a time.

    Args:
        connection: of the database.
        query: with ``{keys}`` where the placeholders of the keys stand.
        keys: all there are.
    """
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        yield from connection.execute(query.format(keys=",".join("?" * len(some))), some)


class Backend(Protocol):
    """A database that holds the cache; its connection runs the SQL that SQLite and Postgres both know.

    Attributes:
        shown: what messages call it, without a password.
        remote: asking it takes so long that no event loop may wait for it.
        now: its clock as an expression of SQL, in seconds since 1970.
    """

    shown: str
    remote: bool
    now: str
    connection: Any

    def transaction(self, work: Callable[[Any], T]) -> T:
        """Return what ``work`` returns: all of it is done, or nothing; no other process writes meanwhile."""

    def dead_before(self, seconds: float) -> str:
        """Expression of SQL: who was not seen since is dead, having so many seconds to be seen again."""

    def named_errors(self) -> AbstractContextManager[None]:
        """Raise errors of the database as :class:`CacheFileError` that names the mend."""

    def shrink(self) -> None:
        """Give back the room of what was deleted."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None:
        """Close the connection."""

"""A streaming client for graph servers that speak Bolt, such as Neo4j (extra ``neo4j``).

The driver waits without end for a server that falls silent, so every wait here has a timeout, after which the
connection is closed.
"""

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import Timer
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from graphrag_dagster.errors import EndpointDown, EndpointError, EngineError, GraphragError, QueryError
from graphrag_dagster.kernel.settings.section import ServerSettings

if TYPE_CHECKING:
    from neo4j import Record, Result, Session

_T = TypeVar("_T")
#: Rows fetched at a time.
_ROWS = 500
_LONGEST_MESSAGE = 1500
_SECONDS_TO_CLOSE = 2.0
_TIMED_OUT = "Neo.ClientError.Transaction.TransactionTimedOut"


@dataclass(frozen=True, slots=True)
class BoltServer:
    """A server with login and timeouts.

    Attributes:
        uri: such as ``bolt://localhost:7687``.
        database: its name; None for the server's default.
        user: None for no login.
        password: of the user.
        connect_seconds: connection timeout.
        silent_seconds: timeout for the next rows.
    """

    uri: str
    database: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    connect_seconds: float = 10.0
    silent_seconds: float = 60.0

    @property
    def place(self) -> str:
        """Host and port, for error messages."""
        return urlsplit(self.uri).netloc.rpartition("@")[2]


class BoltGraph:
    """A connection to a graph server, as a context manager.

    Args:
        server: the server.

    Raises:
        EngineError: the extra ``neo4j`` is not installed.
        EndpointError: the address is unusable.
    """

    def __init__(self, server: BoltServer) -> None:
        if find_spec("neo4j") is None:
            raise EngineError(
                "a graph server needs the driver of the extra neo4j; run: pip install "
                "'graphrag-dagster[neo4j]'"
            )
        from neo4j import GraphDatabase

        self._server = server
        try:
            self._driver = GraphDatabase.driver(
                server.uri,
                auth=(server.user, server.password or "") if server.user is not None else None,
                connection_timeout=server.connect_seconds,
                connection_acquisition_timeout=server.connect_seconds,
                telemetry_disabled=True,
                user_agent="graphrag_dagster",
            )
        except Exception as error:
            raise self._error(error) from None

    def __enter__(self) -> "BoltGraph":
        return self

    def __exit__(self, *_: object) -> None:
        self._driver.close()

    def stream(
        self, query: str, parameters: Mapping[str, Any] | None = None, *, seconds: float | None = None
    ) -> Generator[Mapping[str, Any], None, None]:
        """Yield the rows of a read-only query, by column, fetched lazily.

        A node or relation becomes a mapping of its properties, with ``label``; a path one of ``nodes`` and
        ``relationships``.

        Args:
            query: in the server's Cypher; it is not checked here.
            parameters: values of its ``$names``.
            seconds: time limit from its start to its last row; None for no limit while rows arrive.

        Raises:
            QueryError: the server rejects it, or it exceeds the time limit.
            EndpointDown: the server cannot be reached, closes the connection or falls silent.
            EndpointError: the server rejects the login.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._session("READ") as session:

            def begin() -> "Result":
                return session.begin_transaction(timeout=seconds).run(query, dict(parameters or {}))

            result = self._wait_for(begin, deadline)
            while batch := self._wait_for(lambda: result.fetch(_ROWS), deadline):
                for record in batch:
                    yield _row(record)

    def write(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Mapping[str, Any]]:
        """Run a query that writes, in its own transaction; raises like :meth:`stream`.

        If it returns, the changes are committed. If it raises, they are not, unless the connection was lost
        after the commit.

        Args:
            query: in the server's Cypher.
            parameters: values of its ``$names``, such as the rows of an ``UNWIND``.

        Returns:
            its rows, as in :meth:`stream`.
        """
        with self._session("WRITE") as session:

            def commit() -> "list[Record]":
                with session.begin_transaction() as transaction:
                    rows = list(transaction.run(query, dict(parameters or {})))
                    transaction.commit()
                return rows

            return [_row(record) for record in self._wait_for(commit, None)]

    @contextmanager
    def _session(self, mode: str) -> "Iterator[Session]":
        session = self._driver.session(
            database=self._server.database, default_access_mode=mode, fetch_size=_ROWS
        )
        try:
            yield session
        finally:
            with self._closed_after(_SECONDS_TO_CLOSE), suppress(Exception):
                session.close()

    @contextmanager
    def _closed_after(self, seconds: float) -> Iterator[None]:
        """Close the connection if the block lasts longer, which ends whatever waits for the server."""
        timer = Timer(seconds, self._driver.close)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _wait_for(self, work: Callable[[], _T], deadline: float | None) -> _T:
        """Wait for the server within the silence timeout and the deadline."""
        silent, now = self._server.silent_seconds, time.monotonic()
        until = now + silent if deadline is None else min(now + silent, deadline)
        try:
            with self._closed_after(max(until - now, 0)):
                return work()
        except Exception as error:
            if time.monotonic() < until:
                raise self._error(error) from None
        if until == deadline:
            raise QueryError("the query took too long and was stopped; ask for less")
        raise EndpointDown(
            f"the graph server {self._server.place} sent nothing for {silent:g} s; try again later"
        )

    def _error(self, error: Exception) -> GraphragError:
        from neo4j import exceptions

        address = self._server.place
        text = str(error)
        if self._server.password:
            text = text.replace(self._server.password, "***")
        text = " ".join(text.split())[:_LONGEST_MESSAGE]
        match error:
            case exceptions.AuthError():
                return EndpointError(
                    f"the graph server {address} rejects the login: check user and password in the "
                    "environment variables that user_variable and password_variable name"
                )
            case exceptions.Neo4jError() if error.code == _TIMED_OUT:
                return QueryError("the query took too long and was stopped; ask for less")
            case exceptions.Neo4jError():
                return QueryError(f"the query failed: {text}")
            case exceptions.DriverError() | OSError():
                return EndpointDown(
                    f"the graph server {address} cannot be reached, or closed the connection: {text}"
                )
        return EndpointError(f"the graph server {address} cannot be used: {text}")


def _row(record: "Record") -> Mapping[str, Any]:
    return {name: _plain(record[name]) for name in record.keys()}  # noqa: SIM118 - a record yields values.


def _plain(value: Any) -> Any:
    """Return a value that can be represented in JSON."""
    from neo4j.graph import Node, Path, Relationship

    match value:
        case Node():
            return {"label": ":".join(sorted(value.labels)), **{k: _plain(v) for k, v in value.items()}}
        case Relationship():
            return {"label": value.type, **{k: _plain(v) for k, v in value.items()}}
        case Path():
            return {"nodes": _plain(list(value.nodes)), "relationships": _plain(list(value.relationships))}
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {str(name): _plain(item) for name, item in value.items()}
    return str(value)


def server_of(settings: ServerSettings) -> BoltServer:
    """Return the graph server of the settings, with the credentials from the environment."""
    return BoltServer(
        settings.uri or "",
        settings.database,
        os.environ.get(settings.user_variable) or None,
        os.environ.get(settings.password_variable) or None,
    )

"""A streaming client for graph servers that speak Bolt, such as Neo4j (extra ``neo4j``).

The driver has no timeout for a silent server, so every wait here has one. Cancelling it closes the
connection.
"""

import os
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anyio import fail_after
from anyio.from_thread import BlockingPortal, start_blocking_portal

from graphrag_dagster.errors import EndpointDown, EndpointError, EngineError, GraphragError, QueryError
from graphrag_dagster.kernel.settings.section import ServerSettings

if TYPE_CHECKING:
    from neo4j import AsyncDriver, AsyncSession, Record

#: Rows fetched at a time.
_ROWS = 500
_LONGEST_TOLD = 1500
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
        EndpointError: on entry, if the address is unusable.
    """

    def __init__(self, server: BoltServer) -> None:
        if find_spec("neo4j") is None:
            raise EngineError(
                "a graph server needs the driver of the extra neo4j; run: pip install "
                "'graphrag-dagster[neo4j]'"
            )
        self._server = server
        self._stack = ExitStack()

    def __enter__(self) -> "BoltGraph":
        from neo4j import AsyncGraphDatabase

        server = self._server
        self._portal: BlockingPortal = self._stack.enter_context(start_blocking_portal())

        async def driver() -> "AsyncDriver":
            return AsyncGraphDatabase.driver(
                server.uri,
                auth=(server.user, server.password or "") if server.user is not None else None,
                connection_timeout=server.connect_seconds,
                connection_acquisition_timeout=server.connect_seconds,
                max_transaction_retry_time=0,
                max_connection_pool_size=1,
                telemetry_disabled=True,
                user_agent="graphrag_dagster",
            )

        try:
            self._driver = self._portal.call(driver)
        except BaseException as error:
            self._stack.close()
            raise self._error(error) from None
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):
            self._portal.call(self._close, self._driver)
        self._stack.close()

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
            EndpointError: the server rejects the login, or the address is unusable.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        session = self._session("READ")
        try:
            result = self._wait_for(self._begin, deadline, session, query, dict(parameters or {}), seconds)
            while batch := self._wait_for(result.fetch, deadline, _ROWS):
                for record in batch:
                    yield _row(record)
        finally:
            with suppress(Exception):
                self._portal.call(self._close, session)

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
        session = self._session("WRITE")
        try:
            rows = self._wait_for(self._write, None, session, query, dict(parameters or {}))
            return [_row(record) for record in rows]
        finally:
            with suppress(Exception):
                self._portal.call(self._close, session)

    def _session(self, mode: str) -> "AsyncSession":
        return self._portal.call(
            lambda: self._driver.session(
                database=self._server.database, default_access_mode=mode, fetch_size=_ROWS
            )
        )

    @staticmethod
    async def _begin(
        session: "AsyncSession", query: str, parameters: dict[str, Any], seconds: float | None
    ) -> Any:
        transaction = await session.begin_transaction(timeout=seconds)
        return await transaction.run(query, parameters)

    @staticmethod
    async def _write(session: "AsyncSession", query: str, parameters: dict[str, Any]) -> "list[Record]":
        transaction = await session.begin_transaction()
        rows = [record async for record in await transaction.run(query, parameters)]
        await transaction.commit()
        return rows

    @staticmethod
    async def _close(closing: Any) -> None:
        with fail_after(_SECONDS_TO_CLOSE):
            await closing.close()

    def _wait_for(self, work: Any, deadline: float | None, *arguments: Any) -> Any:
        """Wait for the server within the silence timeout and the deadline."""
        silent = self._server.silent_seconds
        timeout = silent if deadline is None else min(silent, deadline - time.monotonic())

        async def limited() -> Any:
            with fail_after(max(timeout, 0)):
                return await work(*arguments)

        try:
            return self._portal.call(limited)
        except TimeoutError:
            if timeout < silent:
                raise QueryError("the query took too long and was stopped; ask for less") from None
            raise EndpointDown(
                f"the graph server {self._server.place} sent nothing for {silent:g} s; try again later"
            ) from None
        except Exception as error:
            raise self._error(error) from None

    def _error(self, error: BaseException) -> GraphragError:
        from neo4j import exceptions

        address = self._server.place
        text = self._plain(str(error))
        match error:
            case GraphragError():
                return error
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

    def _plain(self, text: str) -> str:
        line = " ".join(text.split())[:_LONGEST_TOLD]
        return line.replace(self._server.password, "***") if self._server.password else line


def _row(record: "Record") -> Mapping[str, Any]:
    return {name: _plain(record[name]) for name in record.keys()}  # noqa: SIM118


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

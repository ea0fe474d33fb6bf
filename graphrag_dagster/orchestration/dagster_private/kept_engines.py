"""Connections to the SQLite files of Dagster's records that stay open."""

from typing import Any

from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from sqlalchemy import Engine, create_engine, event, text


class Engines:
    """One engine for each file, by the address of the file."""

    def __init__(self) -> None:
        self._made: dict[str, Engine] = {}

    def of(self, address: str) -> Engine:
        """The engine of an address."""
        if (engine := self._made.get(address)) is None:
            engine = create_engine(address, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS})
            event.listen(engine, "connect", _without_waiting)
            # Another thread may have been faster; both are good, and one is kept.
            engine = self._made.setdefault(address, engine)
        return engine

    def dispose(self) -> None:
        """Let go of all files."""
        while self._made:
            self._made.popitem()[1].dispose()


def is_made(engine: Engine) -> bool:
    """Whether Dagster has begun a file. Its own look reads 90 files of its schema's history."""
    with engine.connect() as connection:
        return engine.dialect.has_table(connection, "alembic_version") and bool(
            connection.execute(text("select count(*) from alembic_version")).scalar_one()
        )


def _without_waiting(connection: Any, _: object) -> None:
    # With a write-ahead log, which Dagster's files have, a file stays whole all the same; at worst the last
    # events before a power cut are missing.
    connection.execute("pragma synchronous = normal")

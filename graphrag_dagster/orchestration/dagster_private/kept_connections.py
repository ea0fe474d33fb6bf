"""Dagster's own SQLite records, in the same files, with their connections kept from one event to the next.

Dagster opens a file, compiles its statement, waits for the disk and closes the file again for each of the
hundreds of events of a run, which takes longer than the step that they tell of.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock, local
from typing import Any

from dagster import EventLogEntry
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.runs import SqliteRunStorage
from dagster._core.storage.schedules import SqliteScheduleStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS, create_db_conn_string
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine, event, text

from graphrag_dagster.orchestration.dagster_private.alike import begun_alike

_INDEX = "index"


class _Engines:
    """One engine for each file, by the address of the file."""

    def __init__(self) -> None:
        self._made: dict[str, Engine] = {}

    def of(self, address: str) -> Engine:
        if (engine := self._made.get(address)) is None:
            engine = create_engine(address, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS})
            event.listen(engine, "connect", _without_waiting)
            # Another thread may have been faster; both are good, and one is kept.
            engine = self._made.setdefault(address, engine)
        return engine

    def dispose(self) -> None:
        while self._made:
            self._made.popitem()[1].dispose()


def _is_made(engine: Engine) -> bool:
    """Whether Dagster has begun a file. Its own look reads 90 files of its schema's history."""
    with engine.connect() as connection:
        return engine.dialect.has_table(connection, "alembic_version") and bool(
            connection.execute(text("select count(*) from alembic_version")).scalar_one()
        )


def _without_waiting(connection: Any, _: object) -> None:
    # With a write-ahead log, which Dagster's files have, a file stays whole all the same; at worst the last
    # events before a power cut are missing.
    connection.execute("pragma synchronous = normal")


class _Held(local):
    """Connections of a thread that stores several events, by the name of their file."""

    def __init__(self) -> None:
        self.connections: dict[str, Connection] = {}


class _Events(SqliteEventLogStorage):
    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines = _Engines()
        self._tables: set[str] = set()
        self._partitions: set[tuple[str, str]] = set()
        self._held = _Held()
        # Events that are stored together hold two files at once.
        self._lock = RLock()
        super().__init__(base_dir, inst_data)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        if (held := self._held.connections.get(shard)) is not None:
            yield held
            return
        engine = self._engines.of(self.conn_string_for_shard(shard))
        with self._lock:
            if shard not in self._initialized_dbs:
                index = self._engines.of(self.conn_string_for_shard(_INDEX))
                if not _is_made(engine) and not begun_alike(engine, index):
                    self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.begin() as connection:
                yield connection

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store events in one transaction for each file, as those that tell what a run will make."""
        shards = (*sorted({event.run_id for event in events}), _INDEX)
        with ExitStack() as stack:
            for shard in shards:
                self._held.connections[shard] = stack.enter_context(self._connect(shard))
                stack.callback(self._held.connections.pop, shard)
            super().store_event_batch(events)

    def has_table(self, table_name: str) -> bool:
        if table_name not in self._tables:
            engine = self._engines.of(self.conn_string_for_shard(_INDEX))
            with engine.connect() as connection:
                if not engine.dialect.has_table(connection, table_name):
                    return False
            self._tables.add(table_name)
        return True

    def has_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> bool:
        # Asked ten times for each step of a run, whose partition stays as long as the run.
        asked = (partitions_def_name, partition_key)
        if asked not in self._partitions and super().has_dynamic_partition(*asked):
            self._partitions.add(asked)
        return asked in self._partitions

    def delete_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> None:
        super().delete_dynamic_partition(partitions_def_name, partition_key)
        self._partitions.discard((partitions_def_name, partition_key))

    def dispose(self) -> None:
        super().dispose()
        self._engines.dispose()


class _Runs(SqliteRunStorage):
    def __init__(self, conn_string: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines = _Engines()
        super().__init__(conn_string, inst_data)

    @classmethod
    def from_local(cls, base_dir: str, inst_data: ConfigurableClassData | None = None) -> "_Runs":
        if Path(base_dir, "runs.db").is_file():
            made = cls(create_db_conn_string(base_dir, "runs"), inst_data)
            if _is_made(made._engines.of(made._conn_string)):
                return made
            made.dispose()
        return super().from_local(base_dir, inst_data)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        with self._engines.of(self._conn_string).begin() as connection:
            yield connection

    def dispose(self) -> None:
        super().dispose()
        self._engines.dispose()


class KeptConnections(DagsterSqliteStorage):
    """What Dagster keeps where its settings name nothing else, by connections that stay open."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        # Dagster's own beginning would open all the files in its own way first.
        super(DagsterSqliteStorage, self).__init__()  # type: ignore[no-untyped-call]
        self.base_dir = base_dir
        self._inst_data = inst_data
        history = Path(base_dir) / "history"
        self._run_storage = _Runs.from_local(str(history))
        self._event_log_storage = _Events(str(history / "runs"))
        # A run asks nothing of schedules: who first does makes the file.
        schedules = create_db_conn_string(str(Path(base_dir) / "schedules"), "schedules")
        self._schedule_storage = SqliteScheduleStorage(schedules)

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Any
    ) -> "KeptConnections":
        """Make it as the settings of an instance say."""
        return cls(inst_data=inst_data, **config_value)

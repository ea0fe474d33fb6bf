"""Dagster's own SQLite records, in the same files, with their connections kept from one event to the next.

Dagster opens a file, compiles its statement, waits for the disk and closes the file again for each of the
hundreds of events of a run, which takes longer than the step that they tell of. Here those of a step are
stored together, when it ends, when anybody reads what is stored, or a moment after the first of them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock, Timer, local
from typing import Any

from dagster import (
    AssetKey,
    AssetRecordsFilter,
    DagsterEventType,
    EventLogEntry,
    EventLogRecord,
    EventRecordsResult,
)
from dagster._core.event_api import EventLogCursor
from dagster._core.events import ASSET_CHECK_EVENTS, ASSET_EVENTS, EVENT_TYPE_TO_PIPELINE_RUN_STATUS
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.base import AssetRecord
from dagster._core.storage.event_log.schema import AssetKeyTable, SqlEventLogStorageTable
from dagster._core.storage.runs import SqliteRunStorage
from dagster._core.storage.schedules import SqliteScheduleStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS, create_db_conn_string
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine, event, text

from graphrag_dagster.orchestration.dagster_private.alike import begun_alike

_INDEX = "index"
#: Seconds for which an event waits for others at most, so that who looks on sees it all the same.
_LATEST = 0.25
_ENDS = {DagsterEventType.STEP_SUCCESS, DagsterEventType.STEP_FAILURE, DagsterEventType.STEP_UP_FOR_RETRY}
_Partition = tuple[AssetKey, str]


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
        self._waiting: list[EventLogEntry] = []
        self._alarm: Timer | None = None
        self._failure: Exception | None = None
        self._columns: set[str] = set()
        # What every step asks for of the steps before it.
        self._made: dict[_Partition, EventLogRecord] = {}
        self._records: dict[AssetKey, AssetRecord] = {}
        super().__init__(base_dir, inst_data)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        if (held := self._held.connections.get(shard)) is not None:
            yield held
            return
        self._store_waiting()
        with self._connected(shard) as connection:
            yield connection

    @contextmanager
    def _connected(self, shard: str) -> Iterator[Connection]:
        engine = self._engines.of(self.conn_string_for_shard(shard))
        with self._lock:
            if shard not in self._initialized_dbs:
                index = self._engines.of(self.conn_string_for_shard(_INDEX))
                if not _is_made(engine) and not begun_alike(engine, index):
                    self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.begin() as connection:
                yield connection

    def store_event(self, event: EventLogEntry) -> None:
        """Store an event, soon; what went wrong with one before is raised now."""
        with self._lock:
            self._waiting.append(event)
            told = event.dagster_event
            if self._failure or (told and (told.event_type in _ENDS or told.is_job_event)):
                self._store_waiting()
            elif self._alarm is None:
                self._alarm = Timer(_LATEST, self._store_late)
                self._alarm.daemon = True
                self._alarm.start()

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store events in one transaction for each file, as those that tell what a run will make."""
        with self._lock:
            self._store_waiting()
            self._store(events)

    def _store_late(self) -> None:
        with self._lock:
            self._alarm = None
            try:
                self._store_waiting()
            # Whatever it is, who stores the next event is to hear of it.
            except Exception as error:
                self._failure = error

    def _store_waiting(self) -> None:
        with self._lock:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            waiting, self._waiting = self._waiting, []
            if waiting:
                self._store(waiting)

    def _store(self, events: Sequence[EventLogEntry]) -> None:
        rows = [self._event_to_row(event) for event in events]
        of_runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            of_runs[row["run_id"]].append(row)
        mirrored = [both for both in zip(events, rows, strict=True) if _is_mirrored(both[0])]
        with ExitStack() as stack:
            for shard in (*sorted(of_runs), *([_INDEX] if mirrored else [])):
                self._held.connections[shard] = stack.enter_context(self._connected(shard))
                stack.callback(self._held.connections.pop, shard)
            for run_id, of_run in of_runs.items():
                self._held.connections[run_id].execute(SqlEventLogStorageTable.insert(), of_run)
            if mirrored:
                self._mirror(*zip(*mirrored, strict=True))

    def _mirror(self, events: Sequence[EventLogEntry], rows: Sequence[dict[str, Any]]) -> None:
        """Store in the index what is looked for across runs, and what follows from it."""
        index = self._held.connections[_INDEX]
        told = SqlEventLogStorageTable.insert().returning(
            SqlEventLogStorageTable.c.id, sort_by_parameter_order=True
        )
        ids = index.execute(told, list(rows)).scalars().all()
        numbered = list(zip(events, ids, strict=True))
        if of_assets := [both for both in numbered if both[0].dagster_event_type in ASSET_EVENTS]:
            self._store_asset_event_tags(index, *zip(*of_assets, strict=True))
        for one, number in numbered:
            if one.dagster_event_type in ASSET_EVENTS:
                self._store_asset_event(index, one, number)
                self._remember(one, number)
            elif one.dagster_event_type in ASSET_CHECK_EVENTS:
                self.store_asset_check_event(one, number)

    def _store_asset_event(self, conn: Connection, event: EventLogEntry, event_id: int) -> None:
        """Bring the row of an asset up to date; Dagster's own way begins with one that there mostly is."""
        told = event.dagster_event
        values = self._get_asset_entry_values(
            event, event_id, self._has_asset_key_index_cols_on_connection(conn)
        )
        if told and told.asset_key and values:
            ours = AssetKeyTable.c.asset_key == told.asset_key.to_string()
            if conn.execute(AssetKeyTable.update().values(**values).where(ours)).rowcount:
                return
        super()._store_asset_event(conn, event, event_id)

    def _remember(self, event: EventLogEntry, number: int) -> None:
        told = event.dagster_event
        if told and told.asset_key:
            self._records.pop(told.asset_key, None)
            if told.is_step_materialization and told.partition:
                self._made[told.asset_key, told.partition] = EventLogRecord(number, event)

    def _made_here(self, asset_key: AssetKey, partitions: Sequence[str] | None) -> EventLogRecord | None:
        """What this process has told last of the one partition of an asset that is asked for."""
        self._store_waiting()
        return self._made.get((asset_key, partitions[0])) if partitions and len(partitions) == 1 else None

    def fetch_materializations(
        self,
        records_filter: AssetKey | AssetRecordsFilter,
        limit: int,
        cursor: str | None = None,
        ascending: bool = False,
    ) -> EventRecordsResult:
        # Asked for each check that is told of.
        if isinstance(records_filter, AssetRecordsFilter) and limit == 1 and not cursor and not ascending:
            of = AssetRecordsFilter(records_filter.asset_key, records_filter.asset_partitions)
            made = self._made_here(of.asset_key, of.asset_partitions)
            if made and records_filter == of:
                place = EventLogCursor.from_storage_id(made.storage_id)
                return EventRecordsResult([made], str(place), has_more=True)
        return super().fetch_materializations(records_filter, limit, cursor, ascending)

    def get_latest_tags_by_partition(
        self,
        asset_key: AssetKey,
        event_type: DagsterEventType,
        tag_keys: Sequence[str],
        asset_partitions: Sequence[str] | None = None,
        before_cursor: int | None = None,
        after_cursor: int | None = None,
    ) -> Mapping[str, Mapping[str, str]]:
        # Asked for each table that a step is made of.
        made = self._made_here(asset_key, asset_partitions)
        if (
            made
            and made.event_log_entry.dagster_event_type == event_type
            and before_cursor is after_cursor is None
        ):
            tags = self._tags_for_asset_event(made.event_log_entry)
            found = {key: tags[key] for key in tag_keys if key in tags}
            return {made.partition_key: found} if found and made.partition_key else {}
        return super().get_latest_tags_by_partition(
            asset_key, event_type, tag_keys, asset_partitions, before_cursor, after_cursor
        )

    def get_asset_records(self, asset_keys: Sequence[AssetKey] | None = None) -> Sequence[AssetRecord]:
        if asset_keys is None:
            return super().get_asset_records()
        self._store_waiting()
        if unknown := [key for key in asset_keys if key not in self._records]:
            found = super().get_asset_records(unknown)
            self._records |= {one.asset_entry.asset_key: one for one in found}
        return [self._records[key] for key in asset_keys if key in self._records]

    def wipe_asset(self, asset_key: AssetKey) -> None:
        super().wipe_asset(asset_key)
        self._records.clear()
        self._made.clear()

    def has_table(self, table_name: str) -> bool:
        if table_name not in self._tables:
            engine = self._engines.of(self.conn_string_for_shard(_INDEX))
            with engine.connect() as connection:
                if not engine.dialect.has_table(connection, table_name):
                    return False
            self._tables.add(table_name)
        return True

    def _has_asset_key_col_on_connection(self, conn: Connection, column_name: str) -> bool:
        if column_name not in self._columns and super()._has_asset_key_col_on_connection(conn, column_name):
            self._columns.add(column_name)
        return column_name in self._columns

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
        try:
            self._store_waiting()
        finally:
            super().dispose()
            self._engines.dispose()


def _is_mirrored(event: EventLogEntry) -> bool:
    kinds = (ASSET_EVENTS, ASSET_CHECK_EVENTS, EVENT_TYPE_TO_PIPELINE_RUN_STATUS)
    return event.is_dagster_event and any(event.dagster_event_type in kind for kind in kinds)


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

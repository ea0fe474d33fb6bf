"""Events of a run in Dagster's own SQLite files, those of a step stored together.

They are stored when the step ends, when anybody reads what is stored, or a moment after the first of them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
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
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection

from graphrag_dagster.orchestration.dagster_private.alike import begun_alike
from graphrag_dagster.orchestration.dagster_private.kept_engines import Engines, is_made

_INDEX = "index"
#: Seconds for which an event waits for others at most, so that who looks on sees it all the same.
_LATEST = 0.25
_ENDS = {DagsterEventType.STEP_SUCCESS, DagsterEventType.STEP_FAILURE, DagsterEventType.STEP_UP_FOR_RETRY}
_Partition = tuple[AssetKey, str]


class _Held(local):
    """Connections of a thread that stores several events, by the name of their file."""

    def __init__(self) -> None:
        self.connections: dict[str, Connection] = {}


class EventsTogether(SqliteEventLogStorage):
    """Dagster's event log; what this process has told itself is not looked up again."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines = Engines()
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
                if not is_made(engine) and not begun_alike(engine, index):
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
        """Return materialisations; the last of a partition, asked for with each check, from memory."""
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
        """Return tags of materialisations; those of one partition, which each step asks for, from memory."""
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
        """Return what is known of assets, as it was when this process last stored or asked for it."""
        if asset_keys is None:
            return super().get_asset_records()
        self._store_waiting()
        if unknown := [key for key in asset_keys if key not in self._records]:
            found = super().get_asset_records(unknown)
            self._records |= {one.asset_entry.asset_key: one for one in found}
        return [self._records[key] for key in asset_keys if key in self._records]

    def wipe_asset(self, asset_key: AssetKey) -> None:
        """Forget an asset."""
        super().wipe_asset(asset_key)
        self._records.clear()
        self._made.clear()

    def has_table(self, table_name: str) -> bool:
        """Whether there is a table; asked once for each that there is."""
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
        """Whether there is a partition; asked once for each that there is."""
        # Asked ten times for each step of a run, whose partition stays as long as the run.
        asked = (partitions_def_name, partition_key)
        if asked not in self._partitions and super().has_dynamic_partition(*asked):
            self._partitions.add(asked)
        return asked in self._partitions

    def delete_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> None:
        """Delete a partition."""
        super().delete_dynamic_partition(partitions_def_name, partition_key)
        self._partitions.discard((partitions_def_name, partition_key))

    def dispose(self) -> None:
        """Store what waits, and let go of all files."""
        try:
            self._store_waiting()
        finally:
            super().dispose()
            self._engines.dispose()


def _is_mirrored(event: EventLogEntry) -> bool:
    kinds = (ASSET_EVENTS, ASSET_CHECK_EVENTS, EVENT_TYPE_TO_PIPELINE_RUN_STATUS)
    return event.is_dagster_event and any(event.dagster_event_type in kind for kind in kinds)

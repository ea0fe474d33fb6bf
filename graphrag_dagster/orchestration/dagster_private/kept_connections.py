"""Dagster's own SQLite records, in the same files, with their connections kept from one event to the next.

Dagster opens a file, compiles its statement, waits for the disk and closes the file again for each of the
hundreds of events of a run, which takes longer than the step that they tell of.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dagster._core.storage.runs import SqliteRunStorage
from dagster._core.storage.schedules import SqliteScheduleStorage
from dagster._core.storage.sqlite import create_db_conn_string
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection

from graphrag_dagster.orchestration.dagster_private.events_together import EventsTogether
from graphrag_dagster.orchestration.dagster_private.kept_engines import Engines, is_made


class _Runs(SqliteRunStorage):
    def __init__(self, conn_string: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines = Engines()
        super().__init__(conn_string, inst_data)

    @classmethod
    def from_local(cls, base_dir: str, inst_data: ConfigurableClassData | None = None) -> "_Runs":
        if Path(base_dir, "runs.db").is_file():
            made = cls(create_db_conn_string(base_dir, "runs"), inst_data)
            if is_made(made._engines.of(made._conn_string)):
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
        self._event_log_storage = EventsTogether(str(history / "runs"))
        # A run asks nothing of schedules: who first does makes the file.
        schedules = create_db_conn_string(str(Path(base_dir) / "schedules"), "schedules")
        self._schedule_storage = SqliteScheduleStorage(schedules)

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Any
    ) -> "KeptConnections":
        """Make it as the settings of an instance say."""
        return cls(inst_data=inst_data, **config_value)

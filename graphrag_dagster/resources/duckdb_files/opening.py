"""DuckDB files opened and closed often: the DuckDB instance stays, the file is attached and detached.

An instance of its own for each opening takes ten times as long, and a run opens its file a hundred times.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb

from graphrag_dagster.resources.duckdb_files.duckdb_messages import OPEN_OTHERWISE

CONFIG: dict[str, Any] = {"python_enable_replacements": False}
#: The oldest format of DuckDB's in which the statistics of a column take 64 bytes, not 3 kB: a file of sixty
#: tables is opened five times as fast. Any DuckDB from 1.2 on opens it, and leaves it so.
_STORAGE = "v1.2.0"
_ALIAS = "opened"


@dataclass(frozen=True, slots=True)
class Opened:
    """An open file: a connection whose current database it is, and what lets go of both."""

    connection: duckdb.DuckDBPyConnection
    close: Callable[[], object]


def open_alone(file: Path, *, read_only: bool, config: dict[str, Any]) -> Opened:
    """Open a file with an instance and a configuration of its own.

    Raises:
        duckdb.Error: it cannot be opened.
    """
    made = {} if read_only or file.exists() else {"storage_compatibility_version": _STORAGE}
    connection = duckdb.connect(str(file), read_only=read_only, config={**CONFIG, **made, **config})
    return Opened(connection, connection.close)


def open_often(file: Path, *, read_only: bool) -> Opened:
    """Open a file; as long as this process opens no other, all openings share an instance.

    Raises:
        duckdb.Error: it cannot be opened, for instance because it is open to be read and is to be written.
    """
    return _kept.open(file, read_only=read_only) or open_alone(file, read_only=read_only, config={})


def attaching(file: Path, alias: str, *, read_only: bool) -> str:
    """The statement that attaches a DuckDB file to a connection, and makes it where it is not there."""
    place, name = str(file).replace("'", "''"), alias.replace('"', '""')
    # Of a file that is there the format stays: a newer one cannot be lowered.
    made = "" if file.exists() else f" (storage_version '{_STORAGE}')"
    return f"""attach '{place}' as "{name}"{" (read_only)" if read_only else made}"""


class _Instance:
    """An instance for one file, which is attached while it has users."""

    def __init__(self, file: Path) -> None:
        # What does not fit into memory is put where an instance of the file would put it.
        config = {**CONFIG, "temp_directory": f"{file}.tmp"}
        self._connection = duckdb.connect(":memory:", config=config)
        self._read_only = False
        self.file = file
        self.users = 0

    def attach(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        if not self.users:
            self._connection.execute(attaching(self.file, _ALIAS, read_only=read_only))
            self._read_only = read_only
        elif read_only != self._read_only:
            raise duckdb.ConnectionException(OPEN_OTHERWISE)
        connection = self._connection.cursor()
        connection.execute(f"use {_ALIAS}")
        self.users += 1
        return connection

    def detach(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.close()
        self.users -= 1
        if not self.users:
            self._connection.execute(f"detach {_ALIAS}")

    def close(self) -> None:
        self._connection.close()


class _Kept:
    """The instance that is kept, which is that of the file that was opened last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._instance: _Instance | None = None

    def open(self, file: Path, *, read_only: bool) -> Opened | None:
        """Open a file; None while the instance is in use for another."""
        with self._lock:
            kept = self._instance
            if kept is None or kept.file != file:
                if kept is not None and kept.users:
                    return None
                self._drop(kept)
                kept = self._instance = _Instance(file)
            try:
                connection = kept.attach(read_only=read_only)
            except duckdb.Error:
                if not kept.users:
                    self._drop(kept)
                raise
        return Opened(connection, lambda: self._close(kept, connection))

    def _close(self, kept: _Instance, connection: duckdb.DuckDBPyConnection) -> None:
        with self._lock:
            try:
                kept.detach(connection)
            except duckdb.Error:
                # An instance that cannot even let go of a file is of no more use: after some errors none is.
                self._drop(kept)

    def _drop(self, kept: _Instance | None) -> None:
        if kept is not None:
            with suppress(duckdb.Error):
                kept.close()
        if self._instance is kept:
            self._instance = None


_kept = _Kept()


def _begin_anew() -> None:
    """Leave the parent's instance alone: its threads are not in the child."""
    global _kept
    _kept = _Kept()


os.register_at_fork(after_in_child=_begin_anew)

"""DuckDB files: fast opening and closing, results as frames, and parsing of error messages.

The messages are those of :data:`RELEASES`; other releases may word them differently. Openings share one
DuckDB instance: a separate one takes ten times as long, and a run opens its file a hundred times.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock, Timer
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.errors import DamagedError, WarehouseError

#: The releases whose messages are parsed here, without the patch version.
RELEASES = ("1.5", "2.0")

#: A file is already open in this process with another configuration.
OPEN_OTHERWISE = (
    "Connection Error: Can't open a connection to same database file with a different configuration than "
    "existing connections"
)
# Matched at the start: the rest of a message may contain a path, and so any word. The prefix with the kind of
# error differs between releases, and some have none.
_KIND = r"(?:[A-Z][A-Za-z ]{1,30} Error: )?"
_BUSY = re.compile(
    rf"{_KIND}(?:Could not set lock on file|Can't open a connection to same database file with a different "
    "configuration|Unique file handle conflict:)"
)
_HOLDER = re.compile(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")
# Blocks have checksums, so damage is detected before their bytes are interpreted.
_DAMAGE = re.compile(
    rf"{_KIND}(?:Corrupt database file|Could not read enough bytes from file)|Serialization Error: "
)
_NO_TABLE = re.compile(r'Table with name "?(?P<name>[^\s"]+)"? does not exist')
_NO_COLUMN = re.compile(r'(?:Referenced column|does not have a column named) "(?P<name>[^"]+)"')
_LINE = re.compile(r"^LINE (?P<number>\d+):", re.MULTILINE)


def is_busy(error: duckdb.Error) -> bool:
    """Whether a file cannot be opened only because it is open already, in this process or another."""
    return bool(_BUSY.match(str(error)))


def holder_of(error: duckdb.Error) -> str:
    """The holder of a busy file, as far as DuckDB knows."""
    match = _HOLDER.search(str(error))
    return f"process {match['pid']} ({match['program']})" if match else "another process"


def is_damage(text: str) -> bool:
    """Whether an error message says that a block cannot be read."""
    return bool(_DAMAGE.match(text))


def missing_table(text: str) -> str | None:
    """Name of the missing table that a query refers to."""
    match = _NO_TABLE.search(text)
    return match["name"] if match else None


def missing_column(text: str) -> str | None:
    """Name of the missing column that a query refers to."""
    match = _NO_COLUMN.search(text)
    return match["name"] if match else None


def line_of(text: str) -> int:
    """The line of a query that an error refers to; 1 if unknown."""
    match = _LINE.search(text)
    return int(match["number"]) if match else 1


@contextmanager
def damage_errors(file: Path, mend: str) -> Iterator[None]:
    """Report damage found in the block by the name of the file, not of its part.

    Args:
        file: the file that the block reads.
        mend: how to fix it.

    Raises:
        DamagedError: part of the file cannot be read.
    """
    try:
        yield
    except duckdb.Error as error:
        if not is_damage(str(error)):
            raise
        raise DamagedError(f"{file} is damaged ({str(error).splitlines()[0]}); {mend}") from error


#: Rows fetched at a time. DuckDB allocates memory for as many: a gigabyte for a million vectors.
_AT_ONCE = 16_384


def frame_of(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: Sequence[object] | Mapping[str, object] | None = None,
) -> pl.DataFrame:
    """Return the rows of a trusted query, in their order.

    Raises:
        WarehouseError: the query returns no rows, like a statement.
        duckdb.Error: the query fails.
    """
    # As a relation: from the result of `execute`, DuckDB 2 copies the rows, with a warning.
    rows = connection.sql(query, params=parameters or None)
    frame = None if rows is None else pl.from_arrow(rows.to_arrow_table(_AT_ONCE))
    if not isinstance(frame, pl.DataFrame):
        raise WarehouseError("a query returned no result")
    return frame


def first_row(result: duckdb.DuckDBPyConnection) -> tuple[Any, ...] | None:
    """Return the first row of a small result, or None.

    Fetches all rows: DuckDB 2 cannot evaluate a relation on a connection with a pending result.

    Raises:
        duckdb.Error: the query fails.
    """
    return next(iter(result.fetchall()), None)


CONFIG: dict[str, Any] = {"python_enable_replacements": False}
#: Commits go straight to the file, not to a log first: for writing a whole file.
UNLOGGED: dict[str, Any] = {"checkpoint_threshold": "0KB"}
# FSST compression of texts takes half of the writing time and saves a sixth of the size. DuckDB ignores the
# setting in a configuration.
_WRITE_FAST = "set global disabled_compression_methods = 'fsst'"
#: The oldest DuckDB format in which the statistics of a column take 64 bytes instead of 3 kB, so that a file
#: of sixty tables opens five times as fast. DuckDB 1.2 or newer opens it without upgrading it.
_STORAGE = "v1.2.0"
_ALIAS = "opened"
#: What DuckDB may keep in memory while the file is unused.
_SPARE = "32MB"
#: Seconds for which a file lingers open after its last use.
_LINGERS = 0.25


@dataclass(frozen=True, slots=True)
class Opened:
    """An open file: a connection with it as the current database, and a function that closes both."""

    connection: duckdb.DuckDBPyConnection
    close: Callable[[], object]


def writing_instance(config: dict[str, Any], file: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Connect to an instance configured for writing, in memory or of a file.

    Raises:
        duckdb.Error: the file cannot be opened.
    """
    connection = duckdb.connect(":memory:" if file is None else str(file), config={**CONFIG, **config})
    connection.execute(_WRITE_FAST)
    return connection


def open_alone(file: Path, *, read_only: bool, config: dict[str, Any]) -> Opened:
    """Open a file in a separate instance with its own configuration.

    Raises:
        duckdb.Error: it cannot be opened.
    """
    _cache.release(file)
    if read_only:
        connection = duckdb.connect(str(file), read_only=True, config={**CONFIG, **config})
    else:
        new_file_config = {} if file.exists() else {"storage_compatibility_version": _STORAGE}
        connection = writing_instance({**new_file_config, **config}, file)
    return Opened(connection, connection.close)


def identity(file: Path) -> tuple[int, int] | None:
    """Return device and inode, which distinguish a file from another of its name; None if it does not
    exist.
    """
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def open_shared(file: Path, *, read_only: bool) -> Opened:
    """Open a file. As long as this process opens no other file, all openings share an instance.

    Args:
        file: the file.
        read_only: whether to open it for reading only.

    Raises:
        duckdb.Error: it cannot be opened, for instance for writing while it is open for reading.
    """
    return _cache.open(file, read_only=read_only) or open_alone(file, read_only=read_only, config={})


@contextmanager
def keep_open() -> Iterator[None]:
    """Within the block, keep files of :func:`open_shared` open for a moment, for the next opening.

    Other processes get such a file a quarter of a second after its last use, or when the block ends.
    """
    cache = _cache
    cache.lingering += 1
    try:
        yield
    finally:
        cache.lingering -= 1
        cache.release()


def free_memory(file: Path) -> None:
    """Free what DuckDB keeps in memory of a file of :func:`open_shared`, unless another thread uses it.

    For whoever has it open, before a query that needs much memory.
    """
    _cache.free(file)


def attach(connection: duckdb.DuckDBPyConnection, file: Path, alias: str, *, read_only: bool) -> None:
    """Attach a file to a connection; create it if it does not exist.

    Raises:
        duckdb.Error: it cannot be opened.
    """
    _cache.release(file)
    connection.execute(_attaching(file, alias, read_only=read_only))


def _attaching(file: Path, alias: str, *, read_only: bool) -> str:
    path, name = str(file).replace("'", "''"), alias.replace('"', '""')
    # An existing file keeps its format: it cannot be downgraded.
    options = "" if file.exists() else f" (storage_version '{_STORAGE}')"
    return f"""attach '{path}' as "{name}"{" (read_only)" if read_only else options}"""


class _Instance:
    """An instance for one file, which is attached while it has users, and possibly a moment longer."""

    def __init__(self, file: Path) -> None:
        # Spill to the same folder as an instance of the file itself.
        self._connection = writing_instance({"temp_directory": f"{file}.tmp"})
        self._memory = str(self._connection.query("select current_setting('memory_limit')").fetchall()[0][0])
        self._attached: tuple[int, int] | None = None
        self._read_only = False
        self.file = file
        self.users = 0

    def attach(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        # The attached file can be used if it is still the one of this name and open in the right mode.
        serves = self._attached == identity(self.file) and (read_only or not self._read_only)
        if self._attached and not self.users and not serves:
            self.detach()
        if not self._attached:
            # Read before opening, because another file may replace it meanwhile.
            before = identity(self.file)
            self._connection.execute(_attaching(self.file, _ALIAS, read_only=read_only))
            self._attached, self._read_only = before or identity(self.file), read_only
        elif self._read_only and not read_only:
            raise duckdb.ConnectionException(OPEN_OTHERWISE)
        connection = self._connection.cursor()
        connection.execute(f"use {_ALIAS}")
        self.users += 1
        return connection

    def leave(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.close()
        self.users -= 1
        if not self.users:
            self.free()

    def free(self) -> None:
        """Free the memory that DuckDB keeps for later queries: hundreds of MB after large tables."""
        with suppress(duckdb.OutOfMemoryException):
            self._connection.execute(f"set memory_limit = '{_SPARE}'")
        self._connection.execute(f"set memory_limit = '{self._memory}'")

    def detach(self) -> None:
        if self._attached:
            self._attached = None
            self._connection.execute(f"detach {_ALIAS}")

    def close(self) -> None:
        self._connection.close()


class _InstanceCache:
    """Caches the instance of the most recently opened file."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._instance: _Instance | None = None
        self._timer: Timer | None = None
        #: Number of active :func:`keep_open` blocks.
        self.lingering = 0

    def open(self, file: Path, *, read_only: bool) -> Opened | None:
        """Open a file; None while the instance is in use for another."""
        with self._lock:
            instance = self._instance
            if instance is None or instance.file != file:
                if instance is not None and instance.users:
                    return None
                self._drop(instance)
                instance = self._instance = _Instance(file)
            try:
                connection = instance.attach(read_only=read_only)
            except duckdb.Error:
                if not instance.users:
                    self._drop(instance)
                raise
        return Opened(connection, lambda: self._close(instance, connection))

    def free(self, file: Path) -> None:
        """Free the memory kept for a file that has one user, who calls this between two queries."""
        with self._lock:
            instance = self._instance
            if instance is not None and instance.file == file and instance.users == 1:
                instance.free()

    def release(self, file: Path | None = None) -> None:
        """Detach a file, default any, that is unused."""
        with self._lock:
            instance = self._instance
            if instance is not None and not instance.users and file in {None, instance.file}:
                self._detach(instance)

    def _close(self, instance: _Instance, connection: duckdb.DuckDBPyConnection) -> None:
        with self._lock:
            try:
                instance.leave(connection)
            except duckdb.Error:
                # After some errors an instance is unusable.
                self._drop(instance)
            if self._timer:
                self._timer.cancel()
            if not instance.users and self.lingering:
                self._timer = Timer(_LINGERS, self.release)
                self._timer.daemon = True
                self._timer.start()
            elif not instance.users:
                self._detach(instance)

    def _detach(self, instance: _Instance) -> None:
        try:
            instance.detach()
        except duckdb.Error:
            # An instance that cannot even detach a file is unusable.
            self._drop(instance)

    def _drop(self, instance: _Instance | None) -> None:
        if instance is not None:
            with suppress(duckdb.Error):
                instance.close()
        if self._instance is instance:
            self._instance = None


_cache = _InstanceCache()


def _reset_after_fork() -> None:
    """Abandon the parent's instance after a fork: its threads do not exist in the child."""
    global _cache
    _cache = _InstanceCache()


os.register_at_fork(after_in_child=_reset_after_fork)

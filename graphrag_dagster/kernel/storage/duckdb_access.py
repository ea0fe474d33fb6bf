"""DuckDB files: fast opening and closing, results as frames, and errors parsed from their texts.

The texts are those of :data:`RELEASES`; another release may word them otherwise. Files share one
instance: one for each opening takes ten times as long, and a run opens its file a hundred times.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock, Timer
from time import monotonic
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.errors import DamagedError, WarehouseError

#: The releases whose texts these are, whatever the last part of their number.
RELEASES = ("1.5", "2.0")

#: A file is open in this process, and is to be opened otherwise.
OPEN_OTHERWISE = (
    "Connection Error: Can't open a connection to same database file with a different configuration than "
    "existing connections"
)
# Beginnings: further on a text may hold a path, and a path any word. The kind of error before them differs
# between releases, and in some there is none.
_KIND = r"(?:[A-Z][A-Za-z ]{1,30} Error: )?"
_BUSY = re.compile(
    rf"{_KIND}(?:Could not set lock on file|Can't open a connection to same database file with a different "
    "configuration|Unique file handle conflict:)"
)
_HOLDER = re.compile(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")
# Blocks bear a checksum, so that damage is found before anything is made of their bytes.
_DAMAGE = re.compile(
    rf"{_KIND}(?:Corrupt database file|Could not read enough bytes from file)|Serialization Error: "
)
_NO_TABLE = re.compile(r'Table with name "?(?P<name>[^\s"]+)"? does not exist')
_NO_COLUMN = re.compile(r'(?:Referenced column|does not have a column named) "(?P<name>[^"]+)"')
_LINE = re.compile(r"^LINE (?P<number>\d+):", re.MULTILINE)


def is_busy(error: duckdb.Error) -> bool:
    """Whether a file cannot be opened only because someone has it open, in this process or another."""
    return bool(_BUSY.match(str(error)))


def holder_of(error: duckdb.Error) -> str:
    """Holder of a busy file, as far as DuckDB knows."""
    found = _HOLDER.search(str(error))
    return f"process {found['pid']} ({found['program']})" if found else "another process"


def is_damage(text: str) -> bool:
    """Whether the text of an error says that a block cannot be read."""
    return bool(_DAMAGE.match(text))


def missing_table(text: str) -> str | None:
    """Name of the table that a query asks for and that there is not."""
    found = _NO_TABLE.search(text)
    return found["name"] if found else None


def missing_column(text: str) -> str | None:
    """Name of the column that a query asks for and that its tables do not have."""
    found = _NO_COLUMN.search(text)
    return found["name"] if found else None


def line_of(text: str) -> int:
    """The line of a query that an error is about; the first where none is told."""
    found = _LINE.search(text)
    return int(found["number"]) if found else 1


@contextmanager
def damage_told(file: Path, mend: str) -> Iterator[None]:
    """Name a file in place of the block of it that cannot be read.

    Args:
        file: what is read in the block of code.
        mend: the way out.

    Raises:
        DamagedError: a part of the file cannot be read.
    """
    try:
        yield
    except duckdb.Error as error:
        if not is_damage(str(error)):
            raise
        raise DamagedError(f"{file} is damaged ({str(error).splitlines()[0]}); {mend}") from error


#: Rows that are fetched at once. DuckDB reserves room for as many, a gigabyte for a million vectors.
_AT_ONCE = 16_384


def frame_of(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: Sequence[object] | Mapping[str, object] | None = None,
) -> pl.DataFrame:
    """Return the rows of a trusted query, in their order.

    Raises:
        WarehouseError: the query gives none, as a statement does.
        duckdb.Error: it cannot be answered.
    """
    # As a relation: of what `execute` returns, DuckDB 2 copies the rows, and warns of it.
    rows = connection.sql(query, params=parameters or None)
    frame = None if rows is None else pl.from_arrow(rows.to_arrow_table(_AT_ONCE))
    if not isinstance(frame, pl.DataFrame):
        raise WarehouseError("a query returned no result")
    return frame


def first_row(result: duckdb.DuckDBPyConnection) -> tuple[Any, ...] | None:
    """Return the first of the few rows of a query that was sent; None where there is none.

    All are fetched: DuckDB 2 answers no relation over a connection that has a result with rows left.

    Raises:
        duckdb.Error: it cannot be answered.
    """
    return next(iter(result.fetchall()), None)


CONFIG: dict[str, Any] = {"python_enable_replacements": False}
#: What is committed goes into a file at once, not into a log first: for who writes a whole file.
UNLOGGED: dict[str, Any] = {"checkpoint_threshold": "0KB"}
# To compress texts by FSST takes half of the time in which a file is written, and saves a sixth of its size.
# DuckDB loses the setting where it is part of a configuration.
_WRITE_FAST = "set global disabled_compression_methods = 'fsst'"
#: The oldest format of DuckDB's in which the statistics of a column take 64 bytes, not 3 kB: a file of sixty
#: tables is opened five times as fast. Any DuckDB from 1.2 on opens it, and leaves it so.
_STORAGE = "v1.2.0"
_ALIAS = "opened"
#: What DuckDB may keep in memory while nobody uses a file.
_SPARE = "32MB"
#: Seconds for which a file stays open after its last use, where it does.
_LINGERS = 0.25


#: What is done with a file before anybody uses it, once for as long as it stays open.
Preparing = Callable[[duckdb.DuckDBPyConnection], object]


@dataclass(frozen=True, slots=True)
class Opened:
    """An open file: a connection whose current database it is, and what lets go of both."""

    connection: duckdb.DuckDBPyConnection
    close: Callable[[], object]


def _as_it_is(_: duckdb.DuckDBPyConnection) -> None:
    """Do nothing with a file."""


def writing_instance(config: dict[str, Any], file: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Connect to an instance that files are to be written with, of a file or of none.

    Raises:
        duckdb.Error: the file cannot be opened.
    """
    connection = duckdb.connect(":memory:" if file is None else str(file), config={**CONFIG, **config})
    connection.execute(_WRITE_FAST)
    return connection


def open_alone(
    file: Path, *, read_only: bool, config: dict[str, Any], prepare: Preparing = _as_it_is
) -> Opened:
    """Open a file with an instance and a configuration of its own.

    Raises:
        duckdb.Error: it cannot be opened.
        Exception: what ``prepare`` raises; the file is closed then.
    """
    _cache.let_go(file)
    if read_only:
        connection = duckdb.connect(str(file), read_only=True, config={**CONFIG, **config})
    else:
        made = {} if file.exists() else {"storage_compatibility_version": _STORAGE}
        connection = writing_instance({**made, **config}, file)
    try:
        prepare(connection)
    except BaseException:
        connection.close()
        raise
    return Opened(connection, connection.close)


def identity(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from another of its name; None where there is none."""
    try:
        told = file.stat()
    except FileNotFoundError:
        return None
    return told.st_dev, told.st_ino


def changed_at(file: Path) -> int | None:
    """Return the nanosecond in which a file, or what stands in its place, was changed last; None: none."""
    try:
        return file.stat().st_ctime_ns
    except FileNotFoundError:
        return None


def open_often(file: Path, *, read_only: bool, prepare: Preparing = _as_it_is) -> Opened:
    """Open a file; as long as this process opens no other, all openings share an instance.

    Args:
        file: the file.
        read_only: whether it is opened to be read alone.
        prepare: done once for as long as the file stays open, to which no other process writes by then.

    Raises:
        duckdb.Error: it cannot be opened, for instance because it is open to be read and is to be written.
        Exception: what ``prepare`` raises; the file is closed then.
    """
    return _cache.open(file, read_only=read_only, prepare=prepare) or open_alone(
        file, read_only=read_only, config={}, prepare=prepare
    )


@contextmanager
def staying_open() -> Iterator[None]:
    """Leave files that are opened often in the block open for a moment, for who opens them next.

    Whoever else wants such a file has it a quarter of a second after its last use, or when the block ends.
    """
    cache = _cache
    cache.lingering += 1
    try:
        yield
    finally:
        cache.lingering -= 1
        cache.let_go()


def attach(connection: duckdb.DuckDBPyConnection, file: Path, alias: str, *, read_only: bool) -> None:
    """Attach a file to a connection, and make it where it is not there.

    Raises:
        duckdb.Error: it cannot be opened.
    """
    _cache.let_go(file)
    connection.execute(_attaching(file, alias, read_only=read_only))


def _attaching(file: Path, alias: str, *, read_only: bool) -> str:
    place, name = str(file).replace("'", "''"), alias.replace('"', '""')
    # Of a file that is there the format stays: a newer one cannot be lowered.
    made = "" if file.exists() else f" (storage_version '{_STORAGE}')"
    return f"""attach '{place}' as "{name}"{" (read_only)" if read_only else made}"""


class _Instance:
    """An instance for one file, which is attached while it has users, and perhaps a moment longer."""

    def __init__(self, file: Path) -> None:
        # What does not fit into memory is put where an instance of the file would put it.
        self._connection = writing_instance({"temp_directory": f"{file}.tmp"})
        self._memory = str(self._connection.query("select current_setting('memory_limit')").fetchall()[0][0])
        self._attached: tuple[int, int] | None = None
        self._read_only = False
        self.file = file
        self.users = 0

    def attach(self, *, read_only: bool, prepare: Preparing) -> duckdb.DuckDBPyConnection:
        # What is attached serves as long as it is the file of this name, and open for what is wanted.
        serves = self._attached == identity(self.file) and (read_only or not self._read_only)
        if self._attached and not self.users and not serves:
            self.detach()
        if not self._attached:
            # Asked before: another may take its place while it is opened.
            before = identity(self.file)
            self._connection.execute(_attaching(self.file, _ALIAS, read_only=read_only))
            self._attached, self._read_only = before or identity(self.file), read_only
            try:
                with self._cursor() as connection:
                    prepare(connection)
            except BaseException:
                self.detach()
                raise
        elif self._read_only and not read_only:
            raise duckdb.ConnectionException(OPEN_OTHERWISE)
        connection = self._cursor()
        self.users += 1
        return connection

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        connection = self._connection.cursor()
        connection.execute(f"use {_ALIAS}")
        return connection

    def leave(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.close()
        self.users -= 1
        if not self.users:
            # DuckDB keeps memory for what comes next: after large tables hundreds of MB, which this frees.
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
    """The instance that is kept, which is that of the file that was opened last."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._instance: _Instance | None = None
        self._alarm: Timer | None = None
        self._stays_until = 0.0
        #: How many blocks there are in which a file stays open for a moment.
        self.lingering = 0

    def open(self, file: Path, *, read_only: bool, prepare: Preparing) -> Opened | None:
        """Open a file; None while the instance is in use for another."""
        with self._lock:
            instance = self._instance
            if instance is None or instance.file != file:
                if instance is not None and instance.users:
                    return None
                self._drop(instance)
                instance = self._instance = _Instance(file)
            try:
                connection = instance.attach(read_only=read_only, prepare=prepare)
            except duckdb.Error:
                if not instance.users:
                    self._drop(instance)
                raise
        return Opened(connection, lambda: self._close(instance, connection))

    def let_go(self, file: Path | None = None) -> None:
        """Let go of a file, or of any, that nobody uses."""
        with self._lock:
            instance = self._instance
            if instance is not None and not instance.users and file in {None, instance.file}:
                self._detach(instance)

    def _close(self, instance: _Instance, connection: duckdb.DuckDBPyConnection) -> None:
        with self._lock:
            try:
                instance.leave(connection)
            except duckdb.Error:
                # After some errors an instance is of no more use.
                self._drop(instance)
            if not instance.users and self.lingering:
                self._stays_until = monotonic() + _LINGERS
                # One alarm for many closings: to begin a thread takes longer than to open what lingers.
                if self._alarm is None:
                    self._set_alarm(_LINGERS)
            elif not instance.users:
                self._detach(instance)

    def _set_alarm(self, seconds: float) -> None:
        self._alarm = Timer(seconds, self._ring)
        self._alarm.daemon = True
        self._alarm.start()

    def _ring(self) -> None:
        with self._lock:
            self._alarm = None
            if (more := self._stays_until - monotonic()) > 0:
                self._set_alarm(more)
            else:
                self.let_go()

    def _detach(self, instance: _Instance) -> None:
        try:
            instance.detach()
        except duckdb.Error:
            # An instance that cannot even let go of a file is of no more use.
            self._drop(instance)

    def _drop(self, instance: _Instance | None) -> None:
        if instance is not None:
            with suppress(duckdb.Error):
                instance.close()
        if self._instance is instance:
            self._instance = None


_cache = _InstanceCache()


def _begin_anew() -> None:
    """Leave the parent's instance alone: its threads are not in the child."""
    global _cache
    _cache = _InstanceCache()


os.register_at_fork(after_in_child=_begin_anew)

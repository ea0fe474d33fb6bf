"""Published snapshots, opened to be read by SQL and kept open between requests."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.lineage.lineage_steps import LineageRows
from graphrag_dagster.kernel.storage.duckdb_access import CONFIG, attach, damage_errors, frame_of
from graphrag_dagster.kernel.storage.published import Published, published, reading, snapshots
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse, qualified
from graphrag_dagster.kernel.tables import VECTOR, Table


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a corpus.

    Attributes:
        version: hash of its content.
        published: when it became current, UTC in ISO 8601.
        run_id: the run that made it; null where it is not known.
        documents: how many there are.
        entities: how many there are.
        reports: how many there are.
        bytes: size of its file.
        current: it is the one that is read.
    """

    version: str
    published: str
    run_id: str | None
    documents: int
    entities: int
    reports: int
    bytes: int
    current: bool


def list_snapshots(warehouse: Warehouse, corpus: str) -> list[Snapshot]:
    """Return the snapshots of a corpus that are kept, the one published last first.

    Raises:
        WarehouseError: what names the current one is damaged.
    """
    current = published(warehouse, corpus)
    return [snapshot_of(one, current) for one in snapshots(warehouse, corpus)]


def snapshot_of(one: Published, current: Published | None) -> Snapshot:
    """Return what is told of a snapshot."""
    return Snapshot(
        version=one.version,
        published=one.published,
        run_id=one.manifest.get("run_id"),
        documents=one.rows("corpus.documents"),
        entities=one.rows("graph.entities"),
        reports=one.rows("reports.community_reports"),
        bytes=one.file.stat().st_size if one.file.is_file() else 0,
        current=current is not None and one.version == current.version,
    )


@dataclass(frozen=True, slots=True)
class OpenSnapshot:
    """The tables of a snapshot, each to be put into a ``from`` by its declaration: ``shown[ENTITIES]``.

    A table that the snapshot lacks has no rows.

    Attributes:
        reader: over the connection.
        published: what is open.
        sources: what was found out of the tables so far.
    """

    reader: Reader
    published: Published
    sources: dict[Table, str] = field(default_factory=dict)

    def __getitem__(self, table: Table) -> str:
        source = self.sources.get(table)
        if source is None:
            source = self.sources[table] = source_of(self.reader.connection, table)
        return source

    @property
    def lineage(self) -> LineageRows:
        """The tables as lineage walks over them."""
        return LineageRows(self.reader)

    def has(self, table: Table) -> bool:
        """Return whether the snapshot has the table."""
        return self.reader.has(table)

    def rows(self, sql: str, **parameters: object) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries.

        Args:
            sql: over tables of this snapshot, at least one.
            parameters: its ``$names``.
        """
        found = self._run(sql, parameters)
        names = [name for name, *_ in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    @contextmanager
    def temporary_frames(self, **frames: pl.DataFrame) -> Iterator[None]:
        """Let queries in the block read frames by their names."""
        # A list as a parameter takes DuckDB as long as a table of a million rows.
        for name, frame in frames.items():
            self.reader.connection.register(name, frame.to_arrow())
        try:
            yield
        finally:
            for name in frames:
                self.reader.connection.unregister(name)

    def row(self, sql: str, **parameters: object) -> dict[str, Any] | None:
        """Return the first row of a query, None where there is none."""
        return next(iter(self.rows(sql, **parameters)), None)

    def totals(self, sql: str, **parameters: object) -> dict[str, Any]:
        """Return the one row of a query without groups."""
        (row,) = self.rows(sql, **parameters)
        return row

    def frame(self, sql: str, **parameters: object) -> pl.DataFrame:
        """Return the rows of a query as a frame."""
        return frame_of(self.reader.connection, sql, {"corpus": self.reader.corpus, **parameters})

    def batches(self, sql: str, size: int, **parameters: object) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query, so many at a time."""
        found = self._run(sql, parameters)
        while rows := found.fetchmany(size):
            yield rows

    def _run(self, sql: str, parameters: Mapping[str, object]) -> duckdb.DuckDBPyConnection:
        return self.reader.connection.execute(sql, {"corpus": self.reader.corpus, **parameters})


def source_of(connection: duckdb.DuckDBPyConnection, table: Table, database: str | None = None) -> str:
    """Return what a ``from`` needs to read a corpus's rows of a table; ``$corpus`` is to be its name.

    Args:
        connection: with the file open.
        table: which may be missing.
        database: the attached database that it is in.

    Raises:
        WarehouseError: it lacks a column.
    """
    try:
        described = connection.execute(f"describe {qualified(table, database)}").fetchall()
    except duckdb.CatalogException:
        described = []
    present = {name for name, *_ in described}
    columns = [column for column in table.columns if column.type != VECTOR]
    if not present:
        nothing = ", ".join(f'null::{column.type} as "{column.name}"' for column in columns)
        return f"(select {nothing} where $corpus is null)"
    if missing := [column.name for column in columns if column.name not in present]:
        raise WarehouseError(
            f"{table.full_name} has no column {missing[0]!r}; run 'graphrag-dagster index' for its corpus"
        )
    names = ", ".join(f'"{column.name}"' for column in columns)
    return f"(select {names} from {qualified(table, database)} where corpus = $corpus)"


@contextmanager
def open_snapshot(warehouse: Warehouse, corpus: str) -> Iterator[OpenSnapshot]:
    """Open the current snapshot of a corpus.

    Raises:
        WarehouseError: nothing of it has been published.
        DamagedError: what was published cannot be read, then or in the block.
    """
    if published(warehouse, corpus) is None:
        raise unpublished_error(corpus)
    with reading(warehouse, corpus) as (reader, found):
        if found is None:
            raise unpublished_error(corpus)
        yield OpenSnapshot(reader, found)


@contextmanager
def open_two(found: Mapping[str, Published], corpus: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open snapshots as databases of one connection, by their names.

    Raises:
        WarehouseError: one is gone.
        DamagedError: one cannot be read in the block.
    """
    with ExitStack() as stack:
        connection = stack.enter_context(duckdb.connect(":memory:", config=CONFIG))
        for name, one in found.items():
            try:
                attach(connection, one.file, name, read_only=True)
            except duckdb.Error as error:
                raise WarehouseError(
                    f"snapshot {one.version} of corpus {corpus!r} can no longer be read; choose another"
                ) from error
            stack.enter_context(damage_errors(one.file, "choose another snapshot"))
        yield connection


def unpublished_error(corpus: str) -> WarehouseError:
    """Return what is told of a corpus of which nothing was published."""
    return WarehouseError(
        f"corpus {corpus!r} has not been indexed yet; run 'graphrag-dagster index {corpus}'"
    )


#: What a snapshot that is kept may hold in memory of its file.
_MEMORY = "1GB"


@dataclass(slots=True)
class _CachedSnapshot:
    """An open snapshot, and how many look at it."""

    shown: OpenSnapshot
    stack: ExitStack
    users: int = 0
    left: bool = False


@dataclass(slots=True)
class SnapshotCache:
    """The snapshots that were looked at last; several threads may look at once.

    One is closed when another of its corpus has been published, as soon as nobody looks at it any more.

    Attributes:
        most: how many are kept.
    """

    most: int = 4
    _open: dict[str, _CachedSnapshot] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    #: By corpus, so that one that is slow to open holds up no other.
    _opening: dict[str, Lock] = field(default_factory=dict)

    @contextmanager
    def open(self, warehouse: Warehouse, corpus: str) -> Iterator[OpenSnapshot]:
        """Open the current snapshot of a corpus, or the one that is open; errors as of :func:`.opened`."""
        cached = self._take(warehouse, corpus)
        snapshot = cached.shown
        try:
            with (
                damage_errors(snapshot.published.file, f"run 'graphrag-dagster index {corpus}'"),
                snapshot.reader.connection.cursor() as connection,
            ):
                yield OpenSnapshot(Reader(connection, corpus), snapshot.published, snapshot.sources)
        finally:
            self._give_back(cached)

    def close(self) -> None:
        """Close what nobody looks at."""
        with self._lock:
            for corpus in list(self._open):
                self._leave(corpus)

    def _take(self, warehouse: Warehouse, corpus: str) -> _CachedSnapshot:
        found = published(warehouse, corpus)
        file = found.file if found else None
        with self._lock:
            opening = self._opening.setdefault(corpus, Lock())
        with opening:
            with self._lock:
                cached = self._open.get(corpus)
                if cached is not None and self._is_current(cached, file):
                    return self._use(corpus, cached)
            fresh = self._open_current(warehouse, corpus)
            with self._lock:
                if corpus in self._open:
                    self._leave(corpus)
                return self._use(corpus, fresh)

    def _use(self, corpus: str, cached: _CachedSnapshot) -> _CachedSnapshot:
        # The one used last stands last.
        self._open.pop(corpus, None)
        self._open[corpus] = cached
        cached.users += 1
        for name in list(self._open)[: -self.most]:
            self._leave(name)
        return cached

    @staticmethod
    def _is_current(cached: _CachedSnapshot, file: Path | None) -> bool:
        return cached.shown.published.file == file and file is not None and file.is_file()

    @staticmethod
    def _open_current(warehouse: Warehouse, corpus: str) -> _CachedSnapshot:
        with ExitStack() as stack:
            shown = stack.enter_context(open_snapshot(warehouse, corpus))
            shown.reader.connection.execute(f"set memory_limit = '{_MEMORY}'")
            if not shown.published.large:
                # Dividing the work of a small table takes longer than the work.
                shown.reader.connection.execute("set threads = 1")
            return _CachedSnapshot(shown, stack.pop_all())

    def _leave(self, corpus: str) -> None:
        cached = self._open.pop(corpus)
        cached.left = True
        if not cached.users:
            cached.stack.close()

    def _give_back(self, cached: _CachedSnapshot) -> None:
        with self._lock:
            cached.users -= 1
            if cached.left and not cached.users:
                cached.stack.close()

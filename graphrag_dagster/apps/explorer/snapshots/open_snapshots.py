"""Snapshots that stay open from one look to the next: opening one takes as long as many a look."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from graphrag_dagster.apps.explorer.snapshots.opened import OpenSnapshot, opened
from graphrag_dagster.kernel.storage.duckdb_files.duckdb_messages import damage_told
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse

#: What a snapshot that is kept may hold in memory of its file.
_MEMORY = "1GB"


@dataclass(slots=True)
class _Kept:
    """An open snapshot, and how many look at it."""

    shown: OpenSnapshot
    stack: ExitStack
    users: int = 0
    left: bool = False


@dataclass(slots=True)
class KeptSnapshots:
    """The snapshots that were looked at last; several threads may look at once.

    One is closed when another of its corpus has been published, as soon as nobody looks at it any more.

    Attributes:
        most: how many are kept.
    """

    most: int = 4
    _open: dict[str, _Kept] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def opened(self, warehouse: Warehouse, corpus: str) -> Iterator[OpenSnapshot]:
        """Open the current snapshot of a corpus, or the one that is open; errors as of :func:`.opened`."""
        kept = self._taken(warehouse, corpus)
        snapshot = kept.shown
        try:
            with (
                damage_told(snapshot.published.file, f"run 'graphrag-dagster index {corpus}'"),
                snapshot.reader.connection.cursor() as connection,
            ):
                yield OpenSnapshot(Reader(connection, corpus), snapshot.published, snapshot.sources)
        finally:
            self._given_back(kept)

    def close(self) -> None:
        """Close what nobody looks at."""
        with self._lock:
            for corpus in list(self._open):
                self._leave(corpus)

    def _taken(self, warehouse: Warehouse, corpus: str) -> _Kept:
        found = published(warehouse, corpus)
        file = found.file if found else None
        with self._lock:
            kept = self._open.get(corpus)
            if kept is not None and not self._is_current(kept, file):
                self._leave(corpus)
                kept = None
            if kept is None:
                kept = self._opened_now(warehouse, corpus)
            # The one used last stands last.
            self._open.pop(corpus, None)
            self._open[corpus] = kept
            kept.users += 1
            for name in list(self._open)[: -self.most]:
                self._leave(name)
        return kept

    @staticmethod
    def _is_current(kept: _Kept, file: Path | None) -> bool:
        return kept.shown.published.file == file and file is not None and file.is_file()

    @staticmethod
    def _opened_now(warehouse: Warehouse, corpus: str) -> _Kept:
        with ExitStack() as stack:
            shown = stack.enter_context(opened(warehouse, corpus))
            shown.reader.connection.execute(f"set memory_limit = '{_MEMORY}'")
            if not shown.published.large:
                # Dividing the work of a small table takes longer than the work.
                shown.reader.connection.execute("set threads = 1")
            return _Kept(shown, stack.pop_all())

    def _leave(self, corpus: str) -> None:
        kept = self._open.pop(corpus)
        kept.left = True
        if not kept.users:
            kept.stack.close()

    def _given_back(self, kept: _Kept) -> None:
        with self._lock:
            kept.users -= 1
            if kept.left and not kept.users:
                kept.stack.close()

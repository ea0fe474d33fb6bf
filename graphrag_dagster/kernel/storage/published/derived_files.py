"""Files derived from snapshots on first use; they are stored beside the snapshots and deleted with them."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import duckdb
import polars as pl
from filelock import FileLock, Timeout

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import load_target, systems
from graphrag_dagster.kernel.common.atomic_files import delete, delete_written
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.storage.index_cache import FORMAT as SEARCHED_FORMAT
from graphrag_dagster.kernel.storage.published.snapshot_manifest import (
    DERIVED,
    Published,
    folder_of,
    reading,
    snapshots,
)
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.table_declaration import Table

_LOCK = ".lock"
_UNFINISHED = re.compile(r"\.[0-9a-f]+\.tmp")
#: Longest wait for a file that another process is making.
_LONGEST_WAIT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class DerivedFile:
    """A kind of files or folders derived from snapshots.

    Attributes:
        folder: their folder beside the snapshots.
        ending: file name ending, changed with every new format.
        called: what error messages call them.
    """

    folder: str
    ending: str
    called: str

    def place(self, snapshot: Published, variant: str = "") -> Path:
        """Return the path of a derived file; snapshots that differ only in their answers share it.

        Args:
            snapshot: the snapshot.
            variant: letters and digits that identify other inputs.
        """
        return snapshot.file.parent / self.folder / f"{snapshot.index}-{variant}{self.ending}"

    def make(
        self,
        warehouse: Warehouse,
        corpus: str,
        snapshot: Published,
        place: Path,
        write: Callable[[Path], None],
    ) -> None:
        """Create a derived file if it is missing: atomically, and in one process at a time.

        Args:
            warehouse: the warehouse.
            corpus: the corpus.
            snapshot: the snapshot.
            place: see :meth:`place`.
            write: writes it to the given path.

        Raises:
            WarehouseError: it cannot be made, or another process takes too long to make it.
        """
        folder = snapshot.file.parent / self.folder
        try:
            folder.mkdir(exist_ok=True)
            with FileLock(folder / _LOCK, timeout=_LONGEST_WAIT_SECONDS):
                delete_written(folder, _UNFINISHED)
                if not place.exists():
                    making = folder / f".{uuid4().hex}.tmp"
                    making.mkdir()
                    try:
                        write(making / place.name)
                        (making / place.name).replace(place)
                    finally:
                        delete(making)
        except Timeout as error:
            raise WarehouseError(
                f"another process is making {self.called} {place}; waited {_LONGEST_WAIT_SECONDS:.0f} s. Try "
                "again when it is done"
            ) from error
        except (OSError, duckdb.Error) as error:
            raise WarehouseError(
                f"{self.called} {place} cannot be made ({str(error).splitlines()[0]})"
            ) from error
        # Its snapshot may have been deleted meanwhile; open readers keep working.
        self.delete_outdated(warehouse, corpus)

    def delete_outdated(self, warehouse: Warehouse, corpus: str) -> None:
        """Delete what belongs to deleted snapshots, and leftovers of killed processes.

        Raises:
            OSError: something cannot be deleted.
        """
        folder = folder_of(warehouse, corpus) / self.folder
        if not folder.is_dir():
            return
        indexes = {snapshot.index for snapshot in snapshots(warehouse, corpus)}
        for path in folder.glob("[!.]*"):
            outdated = path.name.partition("-")[0] not in indexes or not path.name.endswith(self.ending)
            if outdated and DERIVED.fullmatch(path.name):
                # Renamed first, so that it disappears at once, however long deleting it takes.
                with suppress(FileNotFoundError):
                    delete(path.replace(path.with_name(f".{uuid4().hex}.tmp")))
        # Whoever is making one now cleans up itself.
        with suppress(Timeout), FileLock(folder / _LOCK, timeout=0):
            delete_written(folder, _UNFINISHED)


#: The question index, and the changes between snapshots.
SEARCHED_BY = DerivedFile("searched", f"-{SEARCHED_FORMAT}", "the question index")
CHANGES = DerivedFile("changes", ".json", "the changes")


def all_derived_files() -> Sequence[DerivedFile]:
    """Return all kinds of derived files, including those of systems."""
    of_systems = (load_target(system.derived) for system in systems().values() if system.derived)
    return (*of_systems, SEARCHED_BY, CHANGES)


def delete_outdated_files(warehouse: Warehouse, corpus: str) -> None:
    """Delete what was derived from deleted snapshots; see :meth:`DerivedFile.delete_outdated`."""
    for kind in all_derived_files():
        kind.delete_outdated(warehouse, corpus)


#: Packages that affect what is derived from the same tables.
_MAKERS = ("bm25s", "graphrag-dagster", "PyStemmer", "tiktoken")
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class SnapshotShelf:
    """A :class:`~graphrag_dagster.kernel.storage.index_cache.Shelf` beside a snapshot, deleted with it.

    Attributes:
        warehouse: the warehouse.
        corpus: the corpus.
        snapshot: the snapshot that its files are derived from.
    """

    warehouse: Warehouse
    corpus: str
    snapshot: Published

    def folder(self, name: str, write: Callable[[Path], None]) -> Path | None:
        """Return the folder of a derived file; None if it cannot be written."""
        path = SEARCHED_BY.place(self.snapshot, f"{name}{_makers()}")

        def fill(making: Path) -> None:
            making.mkdir()
            write(making)

        if not path.is_dir():
            try:
                SEARCHED_BY.make(self.warehouse, self.corpus, self.snapshot, path, fill)
            except WarehouseError:
                return None
        # It may have been deleted with its snapshot meanwhile.
        return path if path.is_dir() else None

    def read(self, tables: Sequence[Table]) -> dict[Table, pl.DataFrame]:
        """Return some tables of the snapshot; see :meth:`.Shelf.read`."""
        with reading(self.warehouse, self.corpus) as (reader, current):
            if current is None or current.index != self.snapshot.index:
                raise WarehouseError(f"{self.snapshot.file} was replaced while it was read; ask again")
            found = {table: reader.read_if_present(table) for table in tables}
        return {table: table.empty() if frame is None else frame for table, frame in found.items()}


@cache
def _makers() -> str:
    return stable_id(*(f"{name} {version(name)}" for name in _MAKERS))[:_DIGITS]

"""Files derived from snapshots on first use; they are stored beside the snapshots and deleted with them."""

import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import duckdb
from filelock import FileLock, Timeout

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import loaded, systems
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.retrieval.index_cache import FORMAT as SEARCHED_FORMAT
from graphrag_dagster.kernel.storage.published.snapshot_manifest import Published, snapshots
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_LOCK = ".lock"
#: How long what another process makes is waited for.
_LONGEST_WAIT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class DerivedFile:
    """A kind of files or folders that are made of snapshots.

    Attributes:
        folder: beside the snapshots that they lie in.
        ending: of their names; changes with their form.
        called: what one is called in errors.
    """

    folder: str
    ending: str
    called: str

    def place(self, snapshot: Published, variant: str = "") -> Path:
        """Its path; snapshots that differ only in their answers share one.

        Args:
            snapshot: that it is made of.
            variant: what else decides it: letters and digits.
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
        """Make what is not there yet, whole or not at all, by one process at a time.

        Args:
            warehouse: where the tables are.
            corpus: the corpus.
            snapshot: that it is made of.
            place: see :meth:`place`.
            write: writes it where it is told to.

        Raises:
            WarehouseError: it cannot be made, or another process takes too long to make it.
        """
        folder = snapshot.file.parent
        try:
            (folder / self.folder).mkdir(exist_ok=True)
            with self._lock(folder, _LONGEST_WAIT_SECONDS):
                self._remove_unfinished(folder)
                if not place.exists():
                    with self._making(place) as making:
                        write(making)
                        making.replace(place)
        except Timeout as error:
            raise WarehouseError(
                f"another process is making {self.called} {place}; waited {_LONGEST_WAIT_SECONDS:.0f} s. Try "
                "again when it is done"
            ) from error
        except (OSError, duckdb.Error) as error:
            raise WarehouseError(
                f"{self.called} {place} cannot be made ({str(error).splitlines()[0]})"
            ) from error
        # Its snapshot may have gone while it was made; whoever opened it still reads it.
        kept = snapshots(warehouse, corpus)
        if all(one.index != snapshot.index for one in kept):
            self.keep(folder, kept)

    def keep(self, folder: Path, kept: Collection[Published]) -> None:
        """Delete what is of snapshots that are gone, and what a killed process left.

        Args:
            folder: of the snapshots of a corpus.
            kept: the snapshots that stay.

        Raises:
            OSError: something cannot be deleted.
        """
        if not (folder / self.folder).is_dir():
            return
        indexes = {one.index for one in kept}
        for place in (folder / self.folder).glob("[!.]*"):
            if place.name.partition("-")[0] not in indexes or not place.name.endswith(self.ending):
                _remove(place)
        try:
            with self._lock(folder, 0):
                self._remove_unfinished(folder)
        except Timeout:
            # Who makes one now clears up behind it, and deletes one of a snapshot that is gone.
            return

    def _lock(self, folder: Path, seconds: float) -> FileLock:
        return FileLock(folder / self.folder / _LOCK, timeout=seconds)

    @contextmanager
    def _making(self, place: Path) -> Iterator[Path]:
        folder = place.parent / f".{uuid4().hex}.tmp"
        folder.mkdir()
        try:
            yield folder / place.name
        finally:
            shutil.rmtree(folder)

    def _remove_unfinished(self, folder: Path) -> None:
        for left in (folder / self.folder).glob(".*.tmp"):
            shutil.rmtree(left)


def _remove(place: Path) -> None:
    if not place.is_dir():
        place.unlink(missing_ok=True)
        return
    # At once for who looks for it, however long it takes to delete what is in it.
    gone = place.with_name(f".{uuid4().hex}.tmp")
    place.replace(gone)
    shutil.rmtree(gone)


#: What questions need, and what changed.
SEARCHED_BY = DerivedFile("searched", f"-{SEARCHED_FORMAT}", "the question index")
CHANGES = DerivedFile("changes", ".json", "the changes")


def all_derived_files() -> Sequence[DerivedFile]:
    """Return all kinds, those of systems included."""
    of_systems = (loaded(system.derived) for system in systems().values() if system.derived)
    return (*of_systems, SEARCHED_BY, CHANGES)


def cache_derived_files(folder: Path, kept: Collection[Published]) -> None:
    """Delete everything that was made of snapshots that are gone; see :meth:`DerivedFile.keep`."""
    for one in all_derived_files():
        one.keep(folder, kept)


#: Packages that decide what is made of the same tables.
_MAKERS = ("bm25s", "graphrag-dagster", "PyStemmer", "tiktoken")
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class SnapshotShelf:
    """A :class:`~graphrag_dagster.kernel.retrieval.index_cache.Shelf` beside a snapshot, with which it is
    deleted.

    Attributes:
        warehouse: where the tables are.
        corpus: the corpus.
        snapshot: that things are made of.
    """

    warehouse: Warehouse
    corpus: str
    snapshot: Published

    def folder(self, name: str, write: Callable[[Path], None]) -> Path | None:
        """Return the folder of a thing; None where nothing can be written there."""
        place = SEARCHED_BY.place(self.snapshot, f"{name}{_makers()}")

        def fill(making: Path) -> None:
            making.mkdir()
            write(making)

        if not place.is_dir():
            try:
                SEARCHED_BY.make(self.warehouse, self.corpus, self.snapshot, place, fill)
            except WarehouseError:
                return None
        # It went with its snapshot while it was made.
        return place if place.is_dir() else None


@cache
def _makers() -> str:
    return stable_id(*(f"{name} {version(name)}" for name in _MAKERS))[:_DIGITS]

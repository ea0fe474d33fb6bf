"""Deletes everything made from a corpus, except its folder and Dagster's records."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from graphrag_dagster.errors import ForeignError, GraphragError, HeldError, WarehouseError
from graphrag_dagster.kernel.common.atomic_files import delete, delete_written
from graphrag_dagster.kernel.models.cache.cache_database import own_database_if_made
from graphrag_dagster.kernel.models.cache.cache_maintenance import CacheMaintenance, Pruned
from graphrag_dagster.kernel.models.cache.usage_account import UsageLog
from graphrag_dagster.kernel.pipeline.erasure import REPORT, note_file, report_folder
from graphrag_dagster.kernel.storage.compaction import leftovers
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import published_here
from graphrag_dagster.kernel.storage.published.shared_publishing import SharedPublisher
from graphrag_dagster.kernel.storage.published.snapshot_manifest import DERIVED, WRITTEN, folder_of
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.core_tables import UNIT_LEDGER


@dataclass(frozen=True, slots=True)
class Deleted:
    """The deleted files and folders, the deleted cache entries, the URL of deleted shared snapshots, and the
    folders that stay because something else is in them.
    """

    paths: tuple[Path, ...]
    memory: Pruned
    shared: str | None = None
    kept: tuple[Path, ...] = ()


def derived_paths(warehouse: Warehouse, corpus: str) -> list[Path]:
    """Return the existing files and folders made from a corpus, the working file first."""
    file = warehouse.file(corpus)
    paths = [
        file,
        _log_of(file),
        report_folder(warehouse, corpus),
        folder_of(warehouse, corpus),
        note_file(warehouse, corpus),
    ]
    return [*(path for path in paths if path.exists()), *leftovers(file.resolve())]


def delete_derived(warehouse: Warehouse, corpus: str) -> Deleted:
    """Delete everything made from a corpus, its usage accounts, and cached replies that no other corpus uses.

    If the process is killed, it can be called again.

    Raises:
        ForeignError: another program wrote a file where the working file would be.
        HeldError: another process holds the working file.
        ObjectStoreError: the snapshots that machines share cannot be deleted; nothing was.
        WarehouseError: something cannot be deleted.
        CacheFileError: another process reads the cache file for too long.
    """
    shared = SharedPublisher.of(warehouse, corpus)
    there = shared.url if shared and shared.delete() else None
    return replace(_delete_here(warehouse, corpus), shared=there)


def _delete_here(warehouse: Warehouse, corpus: str) -> Deleted:
    paths = derived_paths(warehouse, corpus)
    file = warehouse.file(corpus)
    try:
        if file in paths:
            _unlink_locked(warehouse, corpus, file)
        _delete_snapshots(folder_of(warehouse, corpus))
        delete_written(report_folder(warehouse, corpus), REPORT)
        for path in (*leftovers(file.resolve()), note_file(warehouse, corpus), _log_of(file)):
            delete(path)
    except OSError as error:
        raise WarehouseError(
            f"{error.filename} cannot be deleted: {error.strerror}; stop the programs that use it, and "
            "delete again"
        ) from error
    pruned = Pruned(0, 0, 0)
    if (cache := own_database_if_made()) is not None:
        pruned = CacheMaintenance(cache).prune(corpus, everything=True)
    kept = tuple(path for path in paths if path.exists())
    return Deleted(tuple(path for path in paths if path not in kept), pruned, kept=kept)


def _delete_snapshots(folder: Path) -> None:
    for derived in folder.glob("*"):
        if derived.is_dir() and not derived.is_symlink():
            delete_written(derived, DERIVED)
    delete_written(folder, WRITTEN)


def _log_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.wal")


def _unlink_locked(warehouse: Warehouse, corpus: str, file: Path) -> None:
    """Delete the file while holding its lock; a file that is not a DuckDB file cannot be in use."""
    try:
        with warehouse.connect(corpus):
            file.resolve().unlink()
    except (ForeignError, HeldError):
        raise
    except WarehouseError:
        file.unlink()
    with suppress(FileNotFoundError):
        file.unlink()


def withdraw(corpora: CorpusStore, warehouse: Warehouse, corpus: str) -> bool:
    """Undo the registration of a folder as a corpus, if nothing was extracted from it or paid for it.

    The folder stays, and so do the records of the failed run.

    Returns:
        whether it is undone.
    """
    # Errors here must not hide why indexing failed.
    with suppress(GraphragError, OSError):
        if _has_something(warehouse, corpus):
            return False
        _delete_here(warehouse, corpus)
        corpora.forget(corpus)
        return True
    return False


def _has_something(warehouse: Warehouse, corpus: str) -> bool:
    if published_here(warehouse, corpus) is not None:
        return True
    cache = own_database_if_made()
    if cache is not None and UsageLog(cache).table(corpus)["output_tokens"].sum():
        return True
    if not warehouse.file(corpus).is_file():
        return False
    # A file that cannot be opened is no leftover of this run: the error keeps it.
    with warehouse.reading(corpus) as reader:
        return reader.has(UNIT_LEDGER) and not reader.is_empty(UNIT_LEDGER)

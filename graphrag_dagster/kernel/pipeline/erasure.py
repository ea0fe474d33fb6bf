"""Erasure: data that came only from deleted documents is removed from the corpus's files by the next run.

The run itself rebuilds the index tables. This module handles everything else that may contain words of a
deleted or edited document: results of other jobs on the older index, cached replies, freed blocks of the
working file, older snapshots, and the report. It depends only on files on disk, so that the
next run completes one that was killed:

1. Before the documents table is replaced, :func:`note_deleted` writes the ids of deleted documents to a file.
2. :func:`erase`, before publishing, and 3. :func:`clear_older_snapshots`, after it, use that file and the
   contents of the existing snapshots. The file is deleted last.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import stages_made, users_of_stages
from graphrag_dagster.kernel.common.atomic_files import delete, delete_written, write_durably
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.cache_maintenance import CacheMaintenance, Pruned
from graphrag_dagster.kernel.storage.compaction import Compacted, compact
from graphrag_dagster.kernel.storage.duckdb_access import CONFIG, frame_of
from graphrag_dagster.kernel.storage.file_format import our_tables
from graphrag_dagster.kernel.storage.published.derived_files import delete_outdated_files
from graphrag_dagster.kernel.storage.published.shared_publishing import SharedPublisher
from graphrag_dagster.kernel.storage.published.snapshot_contents import IDENTIFYING, document_identities
from graphrag_dagster.kernel.storage.published.snapshot_manifest import (
    DATA,
    MANIFEST,
    VERSION,
    folder_of,
)
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.import_tables import IMPORTED_FILES
from graphrag_dagster.kernel.text.text_similarity import normalise

#: Names of the files of a report; whatever else is in its folder stays.
REPORT = re.compile(
    r"report\.html|(graph|gleanings|measures|win_rates|windows|(costs|paths|quality)_.+)\.png"
    r"|\.[0-9a-f]{32}\.tmp"
)
_TEXTS = (
    "select exists(from corpus.documents where contains(lower(text || ' ' || title), $name))",
    "select exists(from resolution.aliases where contains(lower(surface), $name) or lower(title) = $name)",
    "select exists(from graph.entities where lower(title) = $name)",
)


def names_in_texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the names in decisions on entity resolution, by their normalised form.

    Args:
        settings: a corpus's settings, as in a manifest.
    """
    resolution = settings.get("resolution") or {}
    decisions = [decision for verdict in ("same", "different") for decision in resolution.get(verdict) or ()]
    return {normalise(name): name for decision in decisions for name in decision.get("names") or ()}


def snapshots_with_undone_names(
    warehouse: Warehouse, corpus: str, files: Iterable[Path], said: Set[str]
) -> list[Path]:
    """Return the snapshots that contain a name which only a withdrawn decision introduced.

    Args:
        warehouse: the warehouse; the texts of the working file are searched.
        corpus: the corpus.
        files: manifests of the snapshots.
        said: normalised names in the present decisions.
    """
    undone = {
        file: {key: name for key, name in _names_of_manifest(file).items() if key not in said}
        for file in files
    }
    names = {key: name for by_key in undone.values() for key, name in by_key.items()}
    if not names:
        return []
    with warehouse.reading(corpus) as reader:
        gone = {key for key, name in names.items() if not _occurs(reader.connection, name)}
    return [file for file, by_key in undone.items() if gone.intersection(by_key)]


def _names_of_manifest(file: Path) -> dict[str, str]:
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        return names_in_texts(manifest.get("settings") or {})
    except (OSError, ValueError, TypeError, AttributeError):
        # An unreadable snapshot is handled as one that may contain deleted documents.
        return {}


def _occurs(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    for query in _TEXTS:
        try:
            row = connection.execute(query, {"name": " ".join(name.split()).lower()}).fetchone()
        except duckdb.CatalogException:
            continue
        if row and row[0]:
            return True
    return False


_SELECT = "select {} from corpus.documents".format(", ".join(f'"{name}"' for name in IDENTIFYING))
_SELECT_FILES = "select status, sha256 from imports.files"


@dataclass(frozen=True, slots=True)
class Erased:
    """Result of an erasure: numbers of deleted documents, tables and cache entries, and file sizes."""

    documents: int
    dropped: tuple[str, ...]
    memory: Pruned
    file: Compacted

    def metadata(self) -> dict[str, object]:
        """Return it as asset metadata."""
        return {
            "documents_gone": self.documents,
            "tables_dropped": ", ".join(self.dropped) or "none",
            "replies_forgotten": self.memory.replies,
            "vectors_forgotten": self.memory.vectors,
            "bytes_before": self.file.before,
            "bytes_after": self.file.after,
        }


def note_deleted(warehouse: Warehouse, corpus: str, documents: pl.DataFrame) -> None:
    """Durably record which documents of the working file are missing from those that will replace them.

    Args:
        warehouse: the warehouse.
        corpus: the corpus.
        documents: rows of ``corpus.documents`` to be written.
    """
    before = warehouse.read_if_present(tables.DOCUMENTS, corpus, IDENTIFYING)
    if before is not None:
        _note(warehouse, corpus, document_identities(before) - document_identities(documents))


def noting_deleted_graphs(warehouse: Warehouse, corpus: str) -> Callable[[pl.DataFrame], None]:
    """Return what durably records, given rows of ``imports.files`` to be written, which graph files, or data
    from servers, that the working file is made from now are missing from them.

    A graph file is treated like a document: an edit may have removed something.
    """
    before = _graphs(warehouse.read_if_present(IMPORTED_FILES, corpus))
    return lambda files: _note(warehouse, corpus, before - _graphs(files))


def _note(warehouse: Warehouse, corpus: str, gone: set[str]) -> None:
    noted = _noted_deletions(warehouse, corpus)
    if gone - noted:
        write_durably(note_file(warehouse, corpus), json.dumps({"gone": sorted(gone | noted)}))


def deleted_documents(warehouse: Warehouse, corpus: str, newest: str | None = None) -> set[str]:
    """Return identities of documents (id and metadata) of older states that are missing from the current one.

    Older states are the existing snapshots and the record of :func:`note_deleted`. An unreadable snapshot
    counts as one such document.

    Args:
        warehouse: the warehouse.
        corpus: the corpus.
        newest: version of the snapshot just made from the working file, which is not an older state.
    """
    known = _known(warehouse, corpus)
    if known is None:
        return set()
    gone = _noted_deletions(warehouse, corpus) - known
    for file in _snapshots(warehouse, corpus):
        if file.stem == newest:
            continue
        contents = _documents_of_snapshot(file)
        gone |= {f"unreadable: {file.name}"} if contents is None else contents - known
    return gone


def erase(warehouse: Warehouse, corpus: str, memory: Database, said: Set[str] | None = None) -> Erased | None:
    """Erase everything that may come from deleted documents, if there are any. Call when the index is
    rebuilt.

    Tables of questions, answers, evaluation and studies were made from the older index as a whole: what of
    them speaks of a document cannot be told from what does not, so all of them go, as if never made. So do
    the replies that made them, and tables in our schemas that nothing declares any more.

    Args:
        warehouse: the warehouse.
        corpus: the corpus.
        memory: the LLM cache.
        said: normalised names in the present decisions; None to skip the search for names.

    Returns:
        what was erased; None if no document was deleted and no decision with a name was withdrawn.

    Raises:
        WarehouseError: another process holds the file, or it cannot be rewritten.
        CacheFileError: another process reads the cache file for too long.
    """
    gone = deleted_documents(warehouse, corpus)
    if not gone:
        # A name that only a decision contained can only be left in freed blocks.
        undone = _with_undone_names(warehouse, corpus, said)
        return Erased(0, (), Pruned(0, 0, 0), compact(warehouse, corpus)) if undone else None
    dropped = _drop_made_from_index(warehouse, corpus)
    with ThreadPoolExecutor(1, "prune") as executor:
        pruning = executor.submit(CacheMaintenance(memory).prune, corpus, assets=users_of_stages("index"))
        compacted = compact(warehouse, corpus)
    return Erased(len(gone), tuple(dropped), pruning.result(), compacted)


def clear_older_snapshots(
    warehouse: Warehouse, corpus: str, keep_version: str, said: Set[str] | None = None
) -> list[str]:
    """Delete the report and older snapshots that may contain deleted documents, after a newer one is
    published.

    These are the snapshots with such documents and all later ones, because their answers may still quote
    them, and snapshots with names that only withdrawn decisions introduced. A reader that has one open keeps
    reading it; its disk space is freed when it is closed.

    Returns:
        the versions of the deleted snapshots.

    Raises:
        WarehouseError: a file cannot be deleted.
        ObjectStoreError: a copy that machines share cannot be deleted.
    """
    note = note_file(warehouse, corpus)
    # The evidence that a snapshot must be deleted is removed last, so that a run after a kill finds it.
    data = (".duckdb.wal", ".duckdb.tmp", ".duckdb")
    undone = [file for file in _with_undone_names(warehouse, corpus, said) if file.stem != keep_version]
    for file in undone:
        for ending in (*data, ".json"):
            _remove(file.with_name(file.stem + ending))
    cleared = []
    if deleted_documents(warehouse, corpus, keep_version):
        with _named_errors(folder := report_folder(warehouse, corpus)):
            delete_written(folder, REPORT)
        cleared = _snapshots_to_delete(warehouse, corpus, keep_version)
    for file in cleared:
        for ending in (".json", *data):
            _remove(file.with_name(file.stem + ending))
    with _named_errors(folder_of(warehouse, corpus)):
        delete_outdated_files(warehouse, corpus)
    if shared := SharedPublisher.of(warehouse, corpus):
        shared.keep()
    note.unlink(missing_ok=True)
    return [file.stem for file in (*cleared, *undone)]


def _with_undone_names(warehouse: Warehouse, corpus: str, names: Set[str] | None) -> list[Path]:
    if names is None or not warehouse.file(corpus).is_file():
        return []
    return snapshots_with_undone_names(warehouse, corpus, _snapshots(warehouse, corpus, MANIFEST), names)


def _snapshots_to_delete(warehouse: Warehouse, corpus: str, keep_version: str) -> list[Path]:
    """Return the snapshots to delete, newest first, so that a kill leaves the evidence for the others."""
    known = _known(warehouse, corpus) or set()
    times = {
        file: file.stat().st_mtime for file in _snapshots(warehouse, corpus) if file.stem != keep_version
    }
    contents = {file: _documents_of_snapshot(file) for file in times}
    outdated = [file for file, ids in contents.items() if ids is None or ids - known]
    note = note_file(warehouse, corpus)
    recorded = [note.stat().st_mtime] if note.is_file() else []
    since = min([times[file] for file in outdated] + recorded, default=float("inf"))
    deleted = {file for file, time in times.items() if time >= since} | set(outdated)
    return sorted(deleted, key=lambda file: (times[file], file.name), reverse=True)


def _drop_made_from_index(warehouse: Warehouse, corpus: str) -> list[str]:
    schemas = {table.schema for table in all_tables()}
    of_index = {table.full_name for table in all_tables() if table.group not in stages_made("request")}
    with warehouse.connect(corpus) as connection:
        found = {f"{schema}.{name}": (schema, name) for schema, name in our_tables(connection)}
        dropped = sorted(
            full for full, (schema, _) in found.items() if schema in schemas and full not in of_index
        )
        connection.begin()
        for full_name in dropped:
            schema, name = (part.replace('"', '""') for part in found[full_name])
            connection.execute(f'drop table "{schema}"."{name}"')
        connection.commit()
    return dropped


def _graphs(files: pl.DataFrame | None) -> set[str]:
    """Return identities of the graph files that were read, by content and not by path."""
    if files is None:
        return set()
    return {stable_id("graph", sha256) for sha256 in files.filter(status="read")["sha256"]}


def _known(warehouse: Warehouse, corpus: str) -> set[str] | None:
    """Return the identities of the working file's inputs; None if it has no documents yet."""
    documents = warehouse.read_if_present(tables.DOCUMENTS, corpus, IDENTIFYING)
    if documents is None:
        return None
    return document_identities(documents) | _graphs(warehouse.read_if_present(IMPORTED_FILES, corpus))


def _documents_of_snapshot(file: Path) -> Set[str] | None:
    """Return the identities of a snapshot's documents; None if it cannot be read."""
    try:
        status = file.stat()
        return _identities_in(file, status.st_ino, status.st_mtime_ns, status.st_size)
    except (OSError, duckdb.Error):
        return None


@lru_cache(maxsize=8)
def _identities_in(file: Path, _inode: int, _changed: int, _size: int) -> Set[str]:
    # Cached: needed several times during publication, and a snapshot never changes.
    with duckdb.connect(str(file), read_only=True, config=CONFIG) as connection:
        documents = frame_of(connection, _SELECT)
        files = frame_of(connection, _SELECT_FILES)
    return frozenset(document_identities(documents) | _graphs(files))


def report_folder(warehouse: Warehouse, corpus: str) -> Path:
    """Folder of the report on a corpus's evaluation; its files are named as :data:`REPORT` says."""
    return warehouse.file(corpus).parent / "reports" / corpus


def _snapshots(warehouse: Warehouse, corpus: str, ending: str = DATA) -> list[Path]:
    found = folder_of(warehouse, corpus).glob(f"*{ending}")
    return sorted(file for file in found if VERSION.fullmatch(file.stem))


def note_file(warehouse: Warehouse, corpus: str) -> Path:
    """File that records the deleted documents until everything derived from them is erased."""
    file = warehouse.file(corpus)
    return file.with_name(f".{file.name}.gone.json")


def _noted_deletions(warehouse: Warehouse, corpus: str) -> set[str]:
    note = note_file(warehouse, corpus)
    try:
        return set(map(str, json.loads(note.read_text(encoding="utf-8"))["gone"]))
    except FileNotFoundError:
        return set()
    except (ValueError, KeyError, TypeError):
        # The record exists, so something was deleted.
        return {"unreadable note"}


def _remove(path: Path) -> None:
    with _named_errors(path):
        delete(path)


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WarehouseError(
            f"{path} may hold texts of deleted documents and cannot be deleted: {error.strerror}; stop the "
            "programs that use it, and run again"
        ) from error

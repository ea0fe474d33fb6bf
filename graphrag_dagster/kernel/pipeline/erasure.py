"""Erasure: data that came only from deleted documents leaves the corpus's files with the next run.

The run itself rebuilds the tables of the index. Everything else that may hold words of a removed or edited
document is handled here: results of other jobs on the older index, cached replies, freed blocks of the
working file, older snapshots, and the report. All of it depends only on the files on disk, so that the next
run completes one that was killed:

1. :func:`note_deleted`, before the table of documents is replaced, writes the ids of those that go to a file.
2. :func:`erase`, before publishing, and 3. :func:`clear_older`, after it, act on that file and on what the
   kept snapshots have. The file is the last that goes.
"""

import json
import shutil
from collections.abc import Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.registry import all_tables, stages_made, users_of
from graphrag_dagster.kernel.common.atomic_files import write_durably
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.cache_maintenance import Pruned, Upkeep
from graphrag_dagster.kernel.storage.compaction import Compacted, compact
from graphrag_dagster.kernel.storage.duckdb_access import CONFIG, frame_of
from graphrag_dagster.kernel.storage.published.derived_files import cache_derived_files
from graphrag_dagster.kernel.storage.published.snapshot_manifest import folder_of, snapshots
from graphrag_dagster.kernel.storage.warehouse import Warehouse, of_corpus
from graphrag_dagster.kernel.text.text_similarity import normalise

_TEXTS = (
    "select exists(from corpus.documents where contains(lower(text || ' ' || title), $name))",
    "select exists(from resolution.aliases where contains(lower(surface), $name) or lower(title) = $name)",
    "select exists(from graph.entities where lower(title) = $name)",
)


def names_in_texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of which decisions speak, by their normalised form.

    Args:
        settings: of a corpus, as a manifest has them.
    """
    resolution = settings.get("resolution") or {}
    decisions = [one for verdict in ("same", "different") for one in resolution.get(verdict) or ()]
    return {normalise(name): name for one in decisions for name in one.get("names") or ()}


def snapshots_with_undone_names(
    warehouse: Warehouse, corpus: str, files: Iterable[Path], said: Set[str]
) -> list[Path]:
    """Return the snapshots in which a name stands that only a decision ever brings, and none does now.

    Args:
        warehouse: with the corpus's working file, of which the texts are asked.
        corpus: its name.
        files: manifests of the snapshots.
        said: normalised names of which decisions speak now.
    """
    told = {file: {key: name for key, name in _told(file).items() if key not in said} for file in files}
    names = {key: name for found in told.values() for key, name in found.items()}
    if not names:
        return []
    with warehouse.reading(corpus) as reader:
        gone = {key for key, name in names.items() if not _stands(reader.connection, name)}
    return [file for file, found in told.items() if gone.intersection(found)]


def _told(file: Path) -> dict[str, str]:
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        return names_in_texts(manifest.get("settings") or {})
    except (OSError, ValueError, TypeError, AttributeError):
        # What cannot be read is dealt with as one that may have documents that are gone.
        return {}


def _stands(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    for query in _TEXTS:
        try:
            found = connection.execute(query, {"name": " ".join(name.split()).lower()}).fetchone()
        except duckdb.CatalogException:
            continue
        if found and found[0]:
            return True
    return False


_TOLD = ("document_id", "path", "row", "source_id", "title", "date", "metadata")

_SELECT = 'select document_id, path, "row", source_id, title, "date", metadata from corpus.documents'
_SELECT_FILES = "select status, sha256 from imports.files"


@dataclass(frozen=True, slots=True)
class Erased:
    """Result of an erasure: the number of deleted documents, deleted tables and replies, and sizes of the
    file.
    """

    documents: int
    dropped: tuple[str, ...]
    memory: Pruned
    file: Compacted

    def metadata(self) -> dict[str, object]:
        """As metadata of an asset."""
        return {
            "documents_gone": self.documents,
            "tables_dropped": ", ".join(self.dropped) or "none",
            "replies_forgotten": self.memory.replies,
            "vectors_forgotten": self.memory.vectors,
            "bytes_before": self.file.before,
            "bytes_after": self.file.after,
        }


def note_deleted(warehouse: Warehouse, corpus: str, documents: pl.DataFrame) -> None:
    """Note which documents of the working file are not among those that will replace them; durably.

    Args:
        warehouse: the corpora's files.
        corpus: its name.
        documents: rows of ``corpus.documents`` as they will be written.
    """
    before = _working_documents(warehouse, corpus)
    if before is not None:
        _note(warehouse, corpus, _identities(before) - _identities(documents))


class DeletedGraphs:
    """Files of graphs, or what servers gave, that the working file was made of before it is made anew.

    A file of a graph is as a document is: of one that was edited, something may be gone.
    """

    def __init__(self, warehouse: Warehouse, corpus: str) -> None:
        self._warehouse, self._corpus = warehouse, corpus
        before = warehouse.read_if_present(tables.IMPORTED_FILES, corpus)
        self._before = set() if before is None else _graphs(before)

    def note(self, files: pl.DataFrame) -> None:
        """Note which of them are no longer there as they were; durably.

        Args:
            files: rows of ``imports.files`` as they will be written.
        """
        _note(self._warehouse, self._corpus, self._before - _graphs(files))


def _note(warehouse: Warehouse, corpus: str, gone: set[str]) -> None:
    noted = _noted(warehouse, corpus)
    if gone - noted:
        write_durably(note_file(warehouse, corpus), json.dumps({"gone": sorted(gone | noted)}))


def deleted_documents(warehouse: Warehouse, corpus: str, newest: str | None = None) -> set[str]:
    """Return the ids of documents, with what is told of them, that an older state had and the last has not.

    Older states are the kept snapshots and what :func:`note_deleted` noted. A snapshot that cannot be read
    counts as one such document.

    Args:
        warehouse: the corpora's files.
        corpus: its name.
        newest: version of the snapshot that was just made of the working file, which is no older state.
    """
    known = _known(warehouse, corpus)
    if known is None:
        return set()
    gone = _noted(warehouse, corpus) - known
    for file in _snapshots(warehouse, corpus):
        if file.stem == newest:
            continue
        held = _held_by(file)
        gone |= {f"unreadable: {file.name}"} if held is None else held - known
    return gone


def erase(warehouse: Warehouse, corpus: str, memory: Database, said: Set[str] | None = None) -> Erased | None:
    """Erase what may come from gone documents, if any are gone; to be called when the index is made anew.

    Tables of questions, answers, evaluation and studies were made from the older index as a whole: what of
    them speaks of a document cannot be told from what does not, so all of them go, as if never made. So do
    the replies that made them, and what tables an earlier version of this package left in its schemas.

    Args:
        warehouse: the corpora's files.
        corpus: its name.
        memory: the cached replies.
        said: normalised names of which decisions speak now; None: no name is looked for.

    Returns:
        what was done; None where no document is gone, and no name of a decision that was taken back.

    Raises:
        WarehouseError: the file is held by another process, or cannot be written anew.
        CacheFileError: another process reads the file of replies for too long.
    """
    gone = deleted_documents(warehouse, corpus)
    if not gone:
        # A name of which only a decision spoke may lie in freed blocks, and in nothing else.
        named = _with_undone_names(warehouse, corpus, said)
        return Erased(0, (), Pruned(0, 0, 0), compact(warehouse, corpus)) if named else None
    dropped = _drop_made_from_index(warehouse, corpus)
    with ThreadPoolExecutor(1, "prune") as executor:
        pruning = executor.submit(Upkeep(memory).prune, corpus, assets=users_of("index"))
        compacted = compact(warehouse, corpus)
    return Erased(len(gone), tuple(dropped), pruning.result(), compacted)


def clear_older(
    warehouse: Warehouse, corpus: str, keep_version: str, said: Set[str] | None = None
) -> list[str]:
    """Delete the report and the older snapshots that may hold gone documents, once a newer one is published.

    These are the snapshots with such documents and all that were made later, since their answers may still
    speak of them; and those that have names of which only decisions spoke that were taken back. A reader
    that has one open keeps reading it; its bytes are freed when it is closed.

    Returns:
        the versions of the deleted snapshots.

    Raises:
        WarehouseError: a file cannot be deleted.
    """
    note = note_file(warehouse, corpus)
    # What tells that a snapshot has to go is removed last, so that a run after a kill knows it.
    data = (".duckdb.wal", ".duckdb.tmp", ".duckdb")
    named = [one for one in _with_undone_names(warehouse, corpus, said) if one.stem != keep_version]
    for file in named:
        for ending in (*data, ".json"):
            _remove(file.with_name(file.stem + ending))
    cleared = []
    if deleted_documents(warehouse, corpus, keep_version):
        _remove(_reports(warehouse, corpus))
        cleared = _tainted(warehouse, corpus, keep_version)
    for file in cleared:
        for ending in (".json", *data):
            _remove(file.with_name(file.stem + ending))
    _clear_derived(warehouse, corpus)
    note.unlink(missing_ok=True)
    return [file.stem for file in (*cleared, *named)]


def _clear_derived(warehouse: Warehouse, corpus: str) -> None:
    try:
        cache_derived_files(folder_of(warehouse, corpus), snapshots(warehouse, corpus))
    except OSError as error:
        raise WarehouseError(f"{error.filename} cannot be deleted: {error.strerror}") from error


def _with_undone_names(warehouse: Warehouse, corpus: str, said: Set[str] | None) -> list[Path]:
    if said is None or not warehouse.file(corpus).is_file():
        return []
    manifests = sorted(folder_of(warehouse, corpus).glob("*.json"))
    files = [file for file in manifests if not file.name.startswith(".")]
    return snapshots_with_undone_names(warehouse, corpus, files, said)


def _tainted(warehouse: Warehouse, corpus: str, keep_version: str) -> list[Path]:
    """The snapshots to delete, the newest first, so that a kill leaves the one that tells of the others."""
    known = _known(warehouse, corpus) or set()
    made = {file: file.stat().st_mtime for file in _snapshots(warehouse, corpus) if file.stem != keep_version}
    held = {file: _held_by(file) for file in made}
    holding = [file for file, ids in held.items() if ids is None or ids - known]
    note = note_file(warehouse, corpus)
    noted = [note.stat().st_mtime] if note.is_file() else []
    since = min([made[file] for file in holding] + noted, default=float("inf"))
    going = {file for file, when in made.items() if when >= since} | set(holding)
    return sorted(going, key=lambda file: (made[file], file.name), reverse=True)


def _drop_made_from_index(warehouse: Warehouse, corpus: str) -> list[str]:
    declared = {table.full_name: table for table in all_tables()}
    schemas = {table.schema for table in all_tables()}
    with warehouse.connect(corpus) as connection:
        present = connection.execute(
            "select schema_name, table_name from duckdb_tables() where not internal and not temporary"
        ).fetchall()
        going = sorted(
            f"{schema}.{name}"
            for schema, name in present
            if schema in schemas
            and (
                f"{schema}.{name}" not in declared
                or declared[f"{schema}.{name}"].group in stages_made("request")
            )
        )
        connection.begin()
        for full_name in going:
            schema, name = (part.replace('"', '""') for part in full_name.split(".", 1))
            connection.execute(f'drop table "{schema}"."{name}"')
        connection.commit()
    return going


def _identities(documents: pl.DataFrame) -> set[str]:
    """Ids of the documents with what is told of them beside their texts, but not where they lie.

    A title that is only the name of the file is left out: a document that was moved is not gone.
    """
    rows = documents.select(_TOLD).iter_rows()
    return {
        stable_id(identity, source, "" if _from_path(title, path, row) else title, date, told)
        for identity, path, row, source, title, date, told in rows
    }


def _graphs(files: pl.DataFrame) -> set[str]:
    """Identities of the files of graphs that were read: their contents, wherever they lie."""
    return {stable_id("graph", of) for of in files.filter(status="read")["sha256"]}


def _known(warehouse: Warehouse, corpus: str) -> set[str] | None:
    """Identities of what the working file is made of; None where it has no documents yet."""
    now = _working_documents(warehouse, corpus)
    files = warehouse.read_if_present(tables.IMPORTED_FILES, corpus)
    return None if now is None else _identities(now) | (set() if files is None else _graphs(files))


def _from_path(title: str, path: str, row: int | None) -> bool:
    name = Path(path).stem
    return title == (name if row is None else f"{name} (row {row})")


def _working_documents(warehouse: Warehouse, corpus: str) -> pl.DataFrame | None:
    """Metadata of the working file's documents beside their texts; None if it has none yet."""
    if not warehouse.file(corpus).is_file():
        return None
    with warehouse.reading(corpus) as reader:
        try:
            return frame_of(reader.connection, f"{_SELECT} where {of_corpus(corpus)}")
        except (duckdb.BinderException, duckdb.CatalogException):
            # An older version wrote them, in another form.
            return reader.read_if_present(tables.DOCUMENTS)


def _held_by(file: Path) -> Set[str] | None:
    """Identities of a snapshot's documents; None where it cannot be read."""
    try:
        told = file.stat()
        return _identities_in(file, told.st_ino, told.st_mtime_ns, told.st_size)
    except (OSError, duckdb.Error):
        return None


@lru_cache(maxsize=8)
def _identities_in(file: Path, _inode: int, _changed: int, _size: int) -> Set[str]:
    # Asked several times while an index is published, and a snapshot never changes.
    with duckdb.connect(str(file), read_only=True, config=CONFIG) as connection:
        documents = frame_of(connection, _SELECT)
        try:
            files = frame_of(connection, _SELECT_FILES)
        except duckdb.CatalogException:
            # Older versions knew no graphs.
            files = tables.IMPORTED_FILES.empty()
    return frozenset(_identities(documents) | _graphs(files))


def _reports(warehouse: Warehouse, corpus: str) -> Path:
    return warehouse.file(corpus).parent / "reports" / corpus


def _snapshots(warehouse: Warehouse, corpus: str) -> Iterable[Path]:
    return sorted(
        file for file in folder_of(warehouse, corpus).glob("*.duckdb") if not file.name.startswith(".")
    )


def note_file(warehouse: Warehouse, corpus: str) -> Path:
    """File with the ids of deleted documents, until everything derived from them is erased."""
    file = warehouse.file(corpus)
    return file.with_name(f".{file.name}.gone.json")


def _noted(warehouse: Warehouse, corpus: str) -> set[str]:
    note = note_file(warehouse, corpus)
    try:
        return set(map(str, json.loads(note.read_text(encoding="utf-8"))["gone"]))
    except FileNotFoundError:
        return set()
    except (ValueError, KeyError, TypeError):
        # It was written all the same: something is gone.
        return {"unreadable note"}


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    except OSError as error:
        raise WarehouseError(
            f"{path} may hold texts of deleted documents and cannot be deleted: {error.strerror}; stop the "
            "programs that use it, and run again"
        ) from error

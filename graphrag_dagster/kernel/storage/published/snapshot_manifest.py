"""The list of snapshots and their manifests, and reading a snapshot during a run."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypeVar

import duckdb
from pydantic import ConfigDict, StringConstraints, TypeAdapter, with_config
from pydantic_core import from_json
from typing_extensions import TypedDict

from graphrag_dagster.errors import DamagedError, HeldError, WarehouseError
from graphrag_dagster.kernel.common.printable import os_error_message
from graphrag_dagster.kernel.storage.duckdb_access import damage_errors, holder_of, is_busy, open_alone
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse

_T = TypeVar("_T")

#: The only format of a snapshot that is read and written.
FORMAT = 2
POINTER = "current.json"
#: Lock of the folder; a killed process releases it.
LOCK = ".lock"
DATA, MANIFEST = ".duckdb", ".json"
VERSION = re.compile(r"[0-9a-f]{16}")
#: Names of what is written beside the snapshots of a corpus, and into the folders of files derived from them.
#: Nothing else there is deleted.
WRITTEN = re.compile(
    r"current\.json|\.shared\.json|\.lock|[0-9a-f]{16}\.(json|duckdb(\.wal|\.tmp)?)"
    r"|\.[0-9a-f]+\.(tmp(\.wal|\.tmp)?|spill)"
)
DERIVED = re.compile(r"[0-9a-f]{16}-.*|\.lock|\.[0-9a-f]+\.tmp")
#: File size in bytes from which reading the tables takes a few tenths of a second. Separate files take more.
LARGE_FROM = 32_000_000
_EXTENSIBLE = ConfigDict(extra="allow")
#: No path: files are named after it.
_Name = Annotated[str, StringConstraints(pattern=r"^\w+$")]


@with_config(_EXTENSIBLE)
class _File(TypedDict):
    path: str
    sha256: str | None
    documents: NotRequired[int | None]


@with_config(_EXTENSIBLE)
class _Settings(TypedDict, total=False):
    publishing: dict[str, Any]
    resolution: dict[str, Any] | None


@with_config(_EXTENSIBLE)
class _Manifest(TypedDict):
    """What is read of a manifest; the rest is for people."""

    format: int
    corpus: str
    index: _Name
    published: str
    counts: dict[str, int]
    hash: _Name
    files: NotRequired[list[_File]]
    settings: NotRequired[_Settings]
    models: NotRequired[dict[str, Any]]
    code: NotRequired[dict[str, Any]]
    run_id: NotRequired[str | None]


_MANIFEST = TypeAdapter(_Manifest)


@dataclass(frozen=True, slots=True)
class Published:
    """A published snapshot.

    Attributes:
        file: the DuckDB file with all tables.
        version: hash of the contents of all tables but the usage accounts.
        index: hash of the contents of the tables that a search reads.
        manifest: its provenance and contents; read-only.
    """

    file: Path
    version: str
    index: str
    manifest: Mapping[str, Any] = field(hash=False)

    @property
    def published(self) -> str:
        """Time it became current, UTC in ISO 8601, sortable as text."""
        return str(self.manifest["published"])

    @property
    def large(self) -> bool:
        """Whether its derived files for questions, including the tables as files, are made on publication."""
        with suppress(FileNotFoundError):
            return self.file.stat().st_size >= LARGE_FROM
        return False

    def intact(self) -> bool:
        """Whether the file is byte for byte as published; reads all of it.

        Raises:
            OSError: it cannot be read.
        """
        with self.file.open("rb") as file:
            return bool(hashlib.file_digest(file, "sha256").hexdigest() == self.manifest["hash"])

    def rows(self, table: str) -> int:
        """Number of rows of a table, by its full name; 0 if it does not exist."""
        return int(self.manifest["counts"].get(table, 0))


def folder_of(warehouse: Warehouse, corpus: str) -> Path:
    """Folder of a corpus's snapshots."""
    return warehouse.file(corpus).parent / "published" / corpus


def published(warehouse: Warehouse, corpus: str) -> Published | None:
    """Return the corpus's current snapshot, or None.

    Where machines share snapshots, a newer one is fetched first.

    Raises:
        WarehouseError: the file that names it, or its manifest, is damaged.
        ObjectStoreError: the bucket cannot be used, and nothing was fetched from it before.
    """
    if warehouse.published_url:
        # Imported here because it imports this module.
        from graphrag_dagster.kernel.storage.published.shared_snapshots import SharedSnapshots

        if shared := SharedSnapshots.of(warehouse, corpus):
            shared.refresh()
    return published_here(warehouse, corpus)


def published_here(warehouse: Warehouse, corpus: str) -> Published | None:
    """Return the current snapshot in the folder of this machine; see :func:`published`."""
    folder = folder_of(warehouse, corpus)
    while True:
        version = _pointed_version(folder, corpus)
        if version is None:
            return None
        if snapshot := snapshot_at(folder, version, corpus):
            return snapshot
        # It may have been replaced by a newer one and deleted meanwhile.
        if _pointed_version(folder, corpus) == version:
            return None


def snapshots(warehouse: Warehouse, corpus: str) -> list[Published]:
    """Return the existing snapshots with a readable manifest, latest publication first."""
    folder = folder_of(warehouse, corpus)
    results: list[Published | None] = []
    for file in folder.glob(f"*{DATA}"):
        # A damaged one must not hide the others; the next publication removes it.
        with suppress(WarehouseError):
            results.append(snapshot_at(folder, file.stem, corpus))
    return sorted(
        (snapshot for snapshot in results if snapshot),
        key=lambda snapshot: (snapshot.published, snapshot.version),
        reverse=True,
    )


def snapshot_at(folder: Path, version: str, corpus: str) -> Published | None:
    """Return the complete snapshot of that version, or None.

    Raises:
        DamagedError: its manifest is damaged, or of another format.
        WarehouseError: its manifest cannot be read.
    """
    file = folder / f"{version}{DATA}"
    path = file.with_suffix(MANIFEST)
    try:
        status = path.stat()
        if not VERSION.fullmatch(version) or not file.is_file():
            return None
        manifest = _load(path, status.st_ino, status.st_mtime_ns, status.st_size)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _damage_error(path, corpus) from error
    except OSError as error:
        raise WarehouseError(os_error_message(error)) from error
    return Published(file, version, str(manifest["index"]), manifest)


@lru_cache(maxsize=64)
def _load(path: Path, _inode: int, _changed: int, _size: int) -> Mapping[str, Any]:
    # Cached: a server needs the version for every question, and a manifest lists every file of the corpus.
    return read_manifest(path.read_bytes(), str(path))


def read_manifest(content: bytes, where: str) -> Mapping[str, Any]:
    """Parse a manifest.

    Args:
        content: of the file; UTF-8.
        where: it is, for messages.

    Raises:
        DamagedError: it is of another format.
        ValueError: it is none, whatever else it is.
    """
    entries = from_json(content)
    known = entries.get("format") if isinstance(entries, dict) else FORMAT
    if isinstance(known, int) and known != FORMAT:
        raise DamagedError(
            f"{where} has format {known}, and this version of graphrag-dagster reads format {FORMAT} only; "
            f"delete it and run 'graphrag-dagster index {entries.get('corpus')}'"
        )
    manifest = _MANIFEST.validate_python(entries, strict=True)
    datetime.fromisoformat(manifest["published"])
    return dict(manifest)


def _pointed_version(folder: Path, corpus: str) -> str | None:
    path = folder / POINTER
    try:
        version = str(from_json(path.read_bytes())["version"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise _damage_error(path, corpus) from error
    except OSError as error:
        raise WarehouseError(os_error_message(error)) from error
    if not VERSION.fullmatch(version):
        raise _damage_error(path, corpus)
    return version


def _damage_error(path: Path, corpus: str) -> DamagedError:
    return DamagedError(f"{path} is damaged; delete it and run 'graphrag-dagster index {corpus}'")


@contextmanager
def reading(warehouse: Warehouse, corpus: str) -> Iterator[tuple[Reader, Published | None]]:
    """Open a corpus's current snapshot, or its working file if nothing has been published yet.

    Args:
        warehouse: the warehouse.
        corpus: the corpus.

    Returns:
        a reader of the tables, and the snapshot, None for the working file.

    Raises:
        WarehouseError: the corpus has not been indexed.
        DamagedError: the snapshot cannot be read, on opening or in the block.
    """
    with ExitStack() as stack:
        opened = open_snapshot(warehouse, corpus, lambda file: stack.enter_context(_connect(file)))
        if opened is None:
            connection = stack.enter_context(warehouse.connect(corpus, read_only=True))
            yield Reader(connection, corpus), None
        else:
            with damage_errors(opened[1].file, f"run 'graphrag-dagster index {corpus}'"):
                yield Reader(opened[0], corpus), opened[1]


def open_snapshot(
    warehouse: Warehouse, corpus: str, opening: Callable[[Path], _T]
) -> tuple[_T, Published] | None:
    """Open a corpus's current snapshot; None if nothing has been published yet.

    Args:
        warehouse: the warehouse.
        corpus: the corpus.
        opening: opens a DuckDB file for reading.

    Returns:
        what ``opening`` returns, and the snapshot.

    Raises:
        DamagedError: it cannot be read.
        HeldError: another program has it open for writing.
    """
    snapshot = published(warehouse, corpus)
    while snapshot is not None:
        try:
            return opening(snapshot.file), snapshot
        except duckdb.Error as error:
            if is_busy(error):
                raise held_error(snapshot, error) from error
            newer = published(warehouse, corpus)
            # It may have been replaced by a newer one and deleted before it was opened.
            if newer is None or newer.version == snapshot.version:
                raise DamagedError(
                    f"the published index {snapshot.file} cannot be read ({str(error).splitlines()[0]}); run "
                    f"'graphrag-dagster index {corpus}'"
                ) from error
            snapshot = newer
    return None


def held_error(snapshot: Published, error: duckdb.Error) -> HeldError:
    """Return the error for a snapshot that a privileged user has opened for writing, which locks it."""
    return HeldError(
        f"{snapshot.file} is open for writing in {holder_of(error)}; close it there, and open published "
        "files with: duckdb -readonly"
    )


def _connect(file: Path) -> duckdb.DuckDBPyConnection:
    # What is read would stay in memory, up to the whole file.
    return open_alone(file, read_only=True, config={"memory_limit": "256MB"}).connection

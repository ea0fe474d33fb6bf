"""The list of snapshots, their manifests, and reading them while a run works."""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb

from graphrag_dagster.errors import DamagedError, WarehouseError
from graphrag_dagster.kernel.common.printable import told_of
from graphrag_dagster.kernel.storage.duckdb_access import damage_told, is_busy, open_alone
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse

FORMAT = 1
POINTER = "current.json"
DATA, MANIFEST = ".duckdb", ".json"
_VERSION = re.compile(r"[0-9a-f]{16}")
#: Bytes of a file of which reading the tables takes a few tenths of a second; as files they take more.
LARGE_FROM = 32_000_000
_NEEDED = ("index", "published", "counts", "hash")


@dataclass(frozen=True, slots=True)
class Published:
    """A snapshot.

    Attributes:
        file: the DuckDB file with all tables.
        version: hash of the content of all tables but the accounts.
        index: hash of the content of the tables that a search reads.
        manifest: what it was made from and what is in it; not to be changed.
    """

    file: Path
    version: str
    index: str
    manifest: Mapping[str, Any] = field(hash=False)

    @property
    def published(self) -> str:
        """Time it became current, UTC in ISO 8601; these sort as texts."""
        return str(self.manifest["published"])

    @property
    def large(self) -> bool:
        """Whether what questions need of it is made when it is published, its tables as files among that."""
        with suppress(FileNotFoundError):
            return self.file.stat().st_size >= LARGE_FROM
        return False

    def intact(self, copy: Path | None = None) -> bool:
        """Whether the file, or a copy of it, is byte for byte what was published; reads all of it.

        Raises:
            OSError: it cannot be read.
        """
        with (copy or self.file).open("rb") as file:
            return bool(hashlib.file_digest(file, "sha256").hexdigest() == self.manifest["hash"])

    def rows(self, table: str) -> int:
        """Number of rows of a table, by its full name; 0 if it does not exist."""
        return int(self.manifest["counts"].get(table, 0))


def folder_of(warehouse: Warehouse, corpus: str) -> Path:
    """Folder of a corpus's snapshots."""
    return warehouse.file(corpus).parent / "published" / corpus


def published(warehouse: Warehouse, corpus: str) -> Published | None:
    """Return the corpus's current snapshot, None where there is none.

    Raises:
        WarehouseError: the file that names it, or its manifest, is damaged.
    """
    folder = folder_of(warehouse, corpus)
    while True:
        version = _pointed(folder, corpus)
        if version is None:
            return None
        if found := snapshot_at(folder, version, corpus):
            return found
        # Deleted between the two looks where a newer one has taken its place.
        if _pointed(folder, corpus) == version:
            return None


def snapshots(warehouse: Warehouse, corpus: str) -> list[Published]:
    """Return the snapshots that are kept and whose manifest can be read, the one published last first."""
    folder = folder_of(warehouse, corpus)
    found: list[Published | None] = []
    for file in folder.glob(f"*{DATA}"):
        # One that is damaged hides no other; the next publication removes it.
        with suppress(WarehouseError):
            found.append(snapshot_at(folder, file.stem, corpus))
    return sorted((one for one in found if one), key=lambda one: (one.published, one.version), reverse=True)


def snapshot_at(folder: Path, version: str, corpus: str) -> Published | None:
    """Return the complete snapshot of that version, None where there is none.

    Raises:
        WarehouseError: its manifest is damaged.
    """
    file = folder / f"{version}{DATA}"
    place = file.with_suffix(MANIFEST)
    try:
        told = place.stat()
        if not _VERSION.fullmatch(version) or not file.is_file():
            return None
        manifest = _loaded(place, told.st_ino, told.st_mtime_ns, told.st_size)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(place, corpus) from error
    except OSError as error:
        raise WarehouseError(told_of(error)) from error
    return Published(file, version, str(manifest["index"]), manifest)


@lru_cache(maxsize=64)
def _loaded(place: Path, _inode: int, _changed: int, _size: int) -> Mapping[str, Any]:
    # A server asks for the version with every question, and a manifest lists every file of the corpus.
    manifest: Mapping[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    for key in _NEEDED:
        manifest[key]
    return manifest


def _pointed(folder: Path, corpus: str) -> str | None:
    place = folder / POINTER
    try:
        version = str(json.loads(place.read_text(encoding="utf-8"))["version"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(place, corpus) from error
    except OSError as error:
        raise WarehouseError(told_of(error)) from error
    if not _VERSION.fullmatch(version):
        raise _damaged(place, corpus)
    return version


def _damaged(place: Path, corpus: str) -> DamagedError:
    return DamagedError(f"{place} is damaged; delete it and run 'graphrag-dagster index {corpus}'")


@contextmanager
def reading(warehouse: Warehouse, corpus: str) -> Iterator[tuple[Reader, Published | None]]:
    """Open a corpus's current snapshot, else, where nothing was published yet, the warehouse's own file.

    Args:
        warehouse: where the tables are.
        corpus: the corpus.

    Returns:
        a reader of the tables, and the snapshot that is read, None for the warehouse's own file.

    Raises:
        WarehouseError: the corpus has not been indexed.
        DamagedError: what was published cannot be read, then or in the block.
    """
    with ExitStack() as stack:
        opened = _opened(warehouse, corpus, stack)
        if opened is None:
            connection = stack.enter_context(warehouse.connect(corpus, read_only=True))
            yield Reader(connection, corpus), None
        else:
            with damage_told(opened[1].file, f"run 'graphrag-dagster index {corpus}'"):
                yield Reader(opened[0], corpus), opened[1]


def _opened(
    warehouse: Warehouse, corpus: str, stack: ExitStack
) -> tuple[duckdb.DuckDBPyConnection, Published] | None:
    found = published(warehouse, corpus)
    while found is not None:
        try:
            return stack.enter_context(_connected(found.file)), found
        except duckdb.Error as error:
            if is_busy(error):
                copy = unlocked_copy(found, stack)
                return stack.enter_context(_connected(copy)), found
            newer = published(warehouse, corpus)
            # Deleted between the look and the opening: a newer snapshot has taken its place.
            if newer is None or newer.version == found.version:
                raise DamagedError(
                    f"the published index {found.file} cannot be read ({str(error).splitlines()[0]}); run "
                    f"'graphrag-dagster index {corpus}'"
                ) from error
            found = newer
    return None


def _connected(file: Path) -> duckdb.DuckDBPyConnection:
    return open_alone(file, read_only=True, config={}).connection


def unlocked_copy(found: Published, stack: ExitStack) -> Path:
    """Copy a snapshot that someone with the right to do so has opened for writing, which locks it.

    Args:
        found: the snapshot.
        stack: deletes the copy in the end.

    Raises:
        WarehouseError: it is no longer what was published.
    """
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="graphrag_dagster_")))
    copy = Path(shutil.copyfile(found.file, folder / found.file.name))
    if not found.intact(copy):
        raise WarehouseError(
            f"{found.file} was modified after it was published, and is open for writing; close it there, "
            "delete it and publish again. Open published files with: duckdb -readonly"
        )
    return copy

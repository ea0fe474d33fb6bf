"""Rewrites a corpus's DuckDB file without the bytes of deleted rows.

DuckDB frees the blocks of deleted rows but leaves their bytes in the file until they are overwritten. So all
tables are copied into a new file, which then replaces the old one.
"""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.common.atomic_files import delete, sync_folder
from graphrag_dagster.kernel.storage.duckdb_access import UNLOGGED, attach, first_row
from graphrag_dagster.kernel.storage.warehouse import Warehouse

# A configuration unlike any other locks out connections of this process, as the file lock locks out other
# processes. For a file of 16 MB, two threads are slower than one.
_ALONE = {**UNLOGGED, "custom_user_agent": "compaction", "threads": 1, "memory_limit": "256MB"}
# Not a valid corpus name: DuckDB names a database after its file.
_COPY = "compacted:copy"
#: Overwrites the magic bytes in the header, without which DuckDB does not open a file.
_REPLACED = b"replaced by another".ljust(64)


@dataclass(frozen=True, slots=True)
class Compacted:
    """File sizes in bytes."""

    before: int
    after: int


def compact(warehouse: Warehouse, corpus: str) -> Compacted:
    """Rewrite the corpus's file without deleted rows.

    The file stays locked until the new one has replaced it in one step. Waiting processes open by path and
    get the new file (:meth:`Warehouse._open`). If the process is killed, one of the two files is intact, and
    the next compaction removes the rest of the other.

    Raises:
        WarehouseError: no such file, another process holds it, or it cannot be rewritten.
    """
    file = warehouse.file(corpus).resolve()
    if not file.is_file():
        raise WarehouseError(f"corpus {corpus!r} has no tables: {file} does not exist")
    making = _unfinished_copy(file)
    with warehouse.connect(corpus, config=_ALONE) as connection:
        _remove(leftovers(file))
        before = file.stat().st_size
        try:
            _copy(connection, file, making)
            shutil.copymode(file, making)
            after = making.stat().st_size
            # From then on another process may compact the new file and use the same temporary name.
            _take_place(making, file)
        except BaseException as error:
            _remove([making, _log_of(making)])
            if isinstance(error, duckdb.Error | OSError):
                raise WarehouseError(
                    f"{file} cannot be rewritten: {str(error).splitlines()[0]}; make sure its disk has room "
                    "for a second copy, and run again"
                ) from error
            raise
        sync_folder(file.parent)
        return Compacted(before, after)


def _take_place(making: Path, file: Path) -> None:
    """Replace the old file by the new one, and make the old one unusable while it is still locked.

    A process that opened the old file earlier and locks it only after release would replay the log of that
    name, which by then belongs to the new file, and delete it.
    """
    old = os.open(file, os.O_WRONLY)
    try:
        making.replace(file)
        # Under another name it may be someone's backup.
        if not os.fstat(old).st_nlink:
            with suppress(OSError):
                os.pwrite(old, _REPLACED, 0)
    finally:
        os.close(old)


def leftovers(file: Path) -> list[Path]:
    """Return the files and folders that a killed process left beside a DuckDB file."""
    making = _unfinished_copy(file)
    places = (making, _log_of(making), *(one.with_name(f"{one.name}.tmp") for one in (file, making)))
    return [place for place in places if place.exists()]


def _remove(left: Iterable[Path]) -> None:
    for one in left:
        with suppress(OSError):
            delete(one)


def _log_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.wal")


def _unfinished_copy(file: Path) -> Path:
    return file.with_name(f".{file.name}.compacting")


def _copy(connection: duckdb.DuckDBPyConnection, file: Path, making: Path) -> None:
    connection.execute("force checkpoint")
    log = _log_of(file)
    if log.is_file() and log.stat().st_size:
        # It would be replayed into the new file.
        raise WarehouseError(f"{log} is in use; stop the other programs that use {file}, and run again")
    row = first_row(connection.execute("select current_database()"))
    name = str((row or ("",))[0]).replace('"', '""')
    attach(connection, making, _COPY, read_only=False)
    try:
        connection.execute(f'copy from database "{name}" to "{_COPY}"')
    except duckdb.Error:
        # While attached, it may still write its log.
        with suppress(duckdb.Error):
            connection.execute(f'detach "{_COPY}"')
        raise
    connection.execute(f'detach "{_COPY}"')

"""Rewrites a corpus's DuckDB file without the bytes of deleted rows.

DuckDB frees the blocks of deleted rows but leaves their bytes in the file until something else is written
there. So all tables are copied into a file beside it, which then takes its place.
"""

import os
import shutil
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.common.atomic_files import sync_folder
from graphrag_dagster.kernel.storage.duckdb_access import UNLOGGED, attach, first_row
from graphrag_dagster.kernel.storage.warehouse import Warehouse

# Another configuration than that of all other connections keeps those of this process out, as the lock of the
# file keeps other processes out. Of a file of 16 MB two threads take longer than one.
_ALONE = {**UNLOGGED, "custom_user_agent": "compaction", "threads": 1, "memory_limit": "256MB"}
# A name that no corpus can have, since a database is called by the name of its file.
_COPY = "compacted:copy"
#: Longer than where DuckDB looks for its mark, which opens no file without it.
_REPLACED = b"replaced by another".ljust(64)


@dataclass(frozen=True, slots=True)
class Compacted:
    """Sizes of the file in bytes."""

    before: int
    after: int


def compact(warehouse: Warehouse, corpus: str) -> Compacted:
    """Write the corpus's file anew with all that is in it and nothing that was deleted.

    The file is locked all the while. The new one takes its place in one step before the lock is let go; who
    waited for the lock opens by path, and gets the new one (:meth:`Warehouse._open`). Killed at any moment,
    either file is there whole, and what is left of the other is removed by the next compaction.

    Raises:
        WarehouseError: there is no such file, another process holds it, or it cannot be written anew.
    """
    file = warehouse.file(corpus).resolve()
    if not file.is_file():
        raise WarehouseError(f"corpus {corpus!r} has no tables: {file} does not exist")
    making = _unfinished_copy(file)
    with warehouse.connect(corpus, config=_ALONE) as connection, ExitStack() as unfinished:
        remove_leftovers(file)
        unfinished.callback(_remove_if_possible, making)
        before = file.stat().st_size
        try:
            _copy(connection, file, making)
            shutil.copymode(file, making)
            after = making.stat().st_size
            _take_place(making, file)
        except (duckdb.Error, OSError) as error:
            raise WarehouseError(
                f"{file} cannot be rewritten: {str(error).splitlines()[0]}; make sure its disk has room for "
                "a second copy, and run again"
            ) from error
        # From now on another process may have the new file, and be making one of that name itself.
        unfinished.pop_all()
        sync_folder(file.parent)
        return Compacted(before, after)


def _take_place(making: Path, file: Path) -> None:
    """Put the new file in the place of the old one, and make the old one unusable while it is still locked.

    Who opened the old one just before, and locks it only once it is let go, would play back the log of that
    name, which belongs to the new one by then, and delete it.
    """
    old = os.open(file, os.O_WRONLY)
    try:
        making.replace(file)
        # Under another name it may be somebody's back-up.
        if not os.fstat(old).st_nlink:
            with suppress(OSError):
                os.pwrite(old, _REPLACED, 0)
    finally:
        os.close(old)


def remove_leftovers(file: Path) -> None:
    """Remove what a killed process left beside a DuckDB file; to be called while its lock is held."""
    making = _unfinished_copy(file)
    _remove(making)
    for spilled in (file, making):
        shutil.rmtree(spilled.with_name(spilled.name + ".tmp"), ignore_errors=True)


def _remove_if_possible(making: Path) -> None:
    with suppress(OSError):
        _remove(making)


def _remove(making: Path) -> None:
    for left in (making, making.with_name(making.name + ".wal")):
        left.unlink(missing_ok=True)


def _unfinished_copy(file: Path) -> Path:
    return file.with_name(f".{file.name}.compacting")


def _copy(connection: duckdb.DuckDBPyConnection, file: Path, making: Path) -> None:
    connection.execute("force checkpoint")
    log = file.with_name(file.name + ".wal")
    if log.is_file() and log.stat().st_size:
        # It would be played back into the new file.
        raise WarehouseError(f"{log} is in use; stop the other programs that use {file}, and run again")
    row = first_row(connection.execute("select current_database()"))
    name = str((row or ("",))[0]).replace('"', '""')
    attach(connection, making, _COPY, read_only=False)
    try:
        connection.execute(f'copy from database "{name}" to "{_COPY}"')
    except duckdb.Error:
        # What is attached still may write its log once more.
        with suppress(duckdb.Error):
            connection.execute(f'detach "{_COPY}"')
        raise
    connection.execute(f'detach "{_COPY}"')

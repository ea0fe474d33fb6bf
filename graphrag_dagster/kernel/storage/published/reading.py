"""Reading a corpus without touching the file that a run works on."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb

from graphrag_dagster.errors import DamagedError, WarehouseError
from graphrag_dagster.kernel.storage.duckdb_files.duckdb_messages import damage_told, is_busy
from graphrag_dagster.kernel.storage.duckdb_files.opening import open_alone
from graphrag_dagster.kernel.storage.published.manifest import Published, published
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse


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

"""DuckDB files of which a part can no longer be read: found where it is read, and told with the way out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from graphrag_dagster.errors import DamagedError
from graphrag_dagster.resources.duckdb_files.duckdb_messages import is_damage


@contextmanager
def damage_told(file: Path, mend: str) -> Iterator[None]:
    """Name a file in place of the block of it that cannot be read.

    Args:
        file: what is read in the block of code.
        mend: the way out.

    Raises:
        DamagedError: a part of the file cannot be read.
    """
    try:
        yield
    except duckdb.Error as error:
        if not is_damage(str(error)):
            raise
        raise DamagedError(f"{file} is damaged ({str(error).splitlines()[0]}); {mend}") from error

"""Parses DuckDB's error texts, because its exceptions have no codes and no attributes.

The texts are those of :data:`RELEASES`; another release may word them otherwise.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from graphrag_dagster.errors import DamagedError

#: The releases whose texts these are, whatever the last part of their number.
RELEASES = ("1.5", "2.0")

#: A file is open in this process, and is to be opened otherwise.
OPEN_OTHERWISE = (
    "Connection Error: Can't open a connection to same database file with a different configuration than "
    "existing connections"
)
# Beginnings: further on a text may hold a path, and a path any word. The kind of error before them differs
# between releases, and in some there is none.
_KIND = r"(?:[A-Z][A-Za-z ]{1,30} Error: )?"
_BUSY = re.compile(
    rf"{_KIND}(?:Could not set lock on file|Can't open a connection to same database file with a different "
    "configuration|Unique file handle conflict:)"
)
_HOLDER = re.compile(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")
# Blocks bear a checksum, so that damage is found before anything is made of their bytes.
_DAMAGE = re.compile(
    rf"{_KIND}(?:Corrupt database file|Could not read enough bytes from file)|Serialization Error: "
)
_NO_TABLE = re.compile(r'Table with name "?(?P<name>[^\s"]+)"? does not exist')
_NO_COLUMN = re.compile(r'(?:Referenced column|does not have a column named) "(?P<name>[^"]+)"')
_LINE = re.compile(r"^LINE (?P<number>\d+):", re.MULTILINE)


def is_busy(error: duckdb.Error) -> bool:
    """Whether a file cannot be opened only because someone has it open, in this process or another."""
    return bool(_BUSY.match(str(error)))


def holder_of(error: duckdb.Error) -> str:
    """Holder of a busy file, as far as DuckDB knows."""
    found = _HOLDER.search(str(error))
    return f"process {found['pid']} ({found['program']})" if found else "another process"


def is_damage(text: str) -> bool:
    """Whether the text of an error says that a block cannot be read."""
    return bool(_DAMAGE.match(text))


def missing_table(text: str) -> str | None:
    """Name of the table that a query asks for and that there is not."""
    found = _NO_TABLE.search(text)
    return found["name"] if found else None


def missing_column(text: str) -> str | None:
    """Name of the column that a query asks for and that its tables do not have."""
    found = _NO_COLUMN.search(text)
    return found["name"] if found else None


def line_of(text: str) -> int:
    """The line of a query that an error is about; the first where none is told."""
    found = _LINE.search(text)
    return int(found["number"]) if found else 1


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

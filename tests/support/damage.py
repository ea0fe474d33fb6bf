"""Files that a disk or a copy spoilt: cut off, or with bytes of something else in them."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb

Spoil = Callable[[Path], None]
#: Where the first block of a DuckDB file lies, and how long each is.
_FIRST, _BLOCK = 12_288, 262_144
_PAGE = 4_096


def cut(file: Path) -> None:
    """Take the second half away."""
    _write(file, file.read_bytes()[: file.stat().st_size // 2])


def blotted(file: Path) -> None:
    """Overwrite the beginning."""
    _write(file, random.Random(1).randbytes(8_000) + file.read_bytes()[8_000:])


def holed(file: Path) -> None:
    """Overwrite a block of a DuckDB file after the first: it opens, and what lies in the block is lost."""
    content = bytearray(file.read_bytes())
    content[_FIRST + _BLOCK : _FIRST + 2 * _BLOCK] = random.Random(1).randbytes(_BLOCK)
    _write(file, bytes(content))


def holed_memory(file: Path) -> None:
    """Overwrite all pages of a SQLite file but the first."""
    content = file.read_bytes()
    _write(file, content[:_PAGE] + random.Random(1).randbytes(len(content) - _PAGE))


def without_log(file: Path) -> Path:
    """Bring all that a SQLite file has in its log into the file itself."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    return file


def put_back_if_torn(file: Path, content: bytes) -> None:
    """Write a DuckDB file again as it was where a kill has torn it.

    DuckDB rewrites blocks of its catalogue in place, and a kill halfway through one spoils its checksum.
    """
    try:
        duckdb.connect(str(file), read_only=True).close()
    except duckdb.IOException as error:
        assert "Corrupt database file" in str(error)  # noqa: PT017 - no other error is expected.
        _write(file, content)
        file.with_name(f"{file.name}.wal").unlink(missing_ok=True)


def _write(file: Path, content: bytes) -> None:
    file.chmod(0o644)
    file.write_bytes(content)

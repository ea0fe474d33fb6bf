"""Published snapshots: copies of an index that are only ever read.

A run writes the warehouse; who asks reads the copy that the last complete run published, so that neither
waits for the other. A copy never changes: a newer one takes its place, and the older is deleted.
"""

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import duckdb

from graphrag_dagster import tables
from graphrag_dagster.core.errors import WarehouseError
from graphrag_dagster.resources.warehouse import Reader, Warehouse, qualified
from graphrag_dagster.tables import Table

#: What a search reads.
SEARCHED = (
    tables.DOCUMENTS,
    tables.TEXT_CHUNKS,
    tables.ENTITIES,
    tables.RELATIONSHIPS,
    tables.COMMUNITIES,
    tables.COMMUNITY_MEMBERS,
    tables.COMMUNITY_LEVELS,
    tables.CLAIMS,
    tables.COMMUNITY_REPORTS,
    tables.REPORT_FINDINGS,
    tables.REPORT_REFERENCES,
    tables.TEXT_UNIT_EMBEDDINGS,
    tables.ENTITY_EMBEDDINGS,
    tables.REPORT_EMBEDDINGS,
)
_POINTER = "current.json"


@dataclass(frozen=True, slots=True)
class Published:
    """A published copy: its file, and a hash of what is in it."""

    file: Path
    version: str


def published(warehouse: Warehouse, corpus: str) -> Published | None:
    """Return the corpus's published copy, None where there is none."""
    folder = _folder(warehouse, corpus)
    try:
        version = str(json.loads((folder / _POINTER).read_text(encoding="utf-8"))["version"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise WarehouseError(
            f"{folder / _POINTER} is damaged; delete it and run 'graphrag-dagster index {corpus}'"
        ) from error
    file = folder / f"{version}.duckdb"
    return Published(file, version) if file.is_file() else None


def publish(warehouse: Warehouse, corpus: str) -> tuple[Published, bool]:
    """Copy the tables that a search reads, and make the copy the published one; older copies are deleted.

    Returns:
        the copy, and whether it differs from the one before.

    Raises:
        WarehouseError: the warehouse cannot be read.
    """
    folder = _folder(warehouse, corpus)
    folder.mkdir(parents=True, exist_ok=True)
    with warehouse.reading(corpus) as reader:
        present = [table for table in SEARCHED if reader.has(table)]
        version = _version(reader, present)
        made = Published(folder / f"{version}.duckdb", version)
        changed = not made.file.is_file()
        if changed:
            _copy(reader, present, made.file)
    _point(folder, version)
    _delete_others(folder, made.file)
    return made, changed


def _folder(warehouse: Warehouse, corpus: str) -> Path:
    return warehouse.file(corpus).parent / "published" / corpus


def _version(reader: Reader, present: list[Table]) -> str:
    """Hash of the rows of all tables, whatever their order."""
    parts = []
    for table in present:
        row = reader.connection.execute(
            f"select count(*), bit_xor(hash(t)) from {qualified(table)} t where corpus = ?",  # noqa: S608
            [reader.corpus],
        ).fetchone()
        parts.append((table.full_name, *(row or ())))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _copy(reader: Reader, present: list[Table], file: Path) -> None:
    making = file.with_name(f".{uuid4().hex}.tmp")
    try:
        with duckdb.connect(str(making)) as copy:
            copy.begin()
            for table in present:
                rows = reader.connection.execute(
                    f"select * from {qualified(table)} where corpus = ?",  # noqa: S608
                    [reader.corpus],
                ).to_arrow_table()
                copy.register("rows", rows)
                copy.execute(f'create schema if not exists "{table.schema}"')
                copy.execute(f"create table {qualified(table)} as select * from rows")  # noqa: S608
                copy.unregister("rows")
            copy.commit()
        making.replace(file)
    finally:
        making.unlink(missing_ok=True)


def _point(folder: Path, version: str) -> None:
    making = folder / f".{uuid4().hex}.json"
    making.write_text(json.dumps({"version": version}), encoding="utf-8")
    making.replace(folder / _POINTER)


def _delete_others(folder: Path, kept: Path) -> None:
    for other in folder.iterdir():
        if other.name not in {kept.name, _POINTER}:
            # Where a reader's open file cannot be deleted, the next publication does it.
            with suppress(OSError):
                other.unlink()

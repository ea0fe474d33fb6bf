"""Opens the index of a corpus for search methods, and prepares its derived files."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.registry import declared_parts, declared_table, load_target
from graphrag_dagster.kernel.questions.context.context_units import without_record_words
from graphrag_dagster.kernel.questions.context.index_background import prepare_background
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.document_names import known_documents
from graphrag_dagster.kernel.retrieval.index_cache import load_or_build, mapped_frame, write_frame
from graphrag_dagster.kernel.retrieval.retriever import retriever_of
from graphrag_dagster.kernel.storage.published import Published, published, reading
from graphrag_dagster.kernel.storage.published.derived_files import SnapshotShelf
from graphrag_dagster.kernel.storage.sql_sandbox import SnapshotQueries
from graphrag_dagster.kernel.tables import CONTEXT_NODES, CONTEXT_VECTORS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from graphrag_dagster.kernel.catalogue.system import DeclaredPart
    from graphrag_dagster.kernel.questions.context.index_snapshot import SnapshotPart
    from graphrag_dagster.kernel.retrieval.index_cache import Shelf
    from graphrag_dagster.kernel.storage.warehouse import Warehouse
    from graphrag_dagster.kernel.tables import Table


def open_snapshot(warehouse: Warehouse, corpus: str) -> IndexSnapshot:
    """Read the tables for searching from the current snapshot, else from the warehouse.

    Raises:
        WarehouseError: see :func:`open_published`.
    """
    return open_published(warehouse, corpus)[0]


def open_published(warehouse: Warehouse, corpus: str) -> tuple[IndexSnapshot, Published | None]:
    """Read the tables for searching as :func:`open_snapshot` does, and return where they came from.

    Graph and report tables that were never made are empty; missing vectors and claims are None.

    Returns:
        The tables, and the snapshot they were read from; None for the warehouse.

    Raises:
        WarehouseError: the corpus was never indexed, or a table lacks a column; the message says what to run.
    """
    snapshot = published(warehouse, corpus)
    if snapshot is None or not snapshot.large:
        index, snapshot = _read(warehouse, corpus)
    else:
        try:
            index = cached_index(
                SnapshotShelf(warehouse, corpus, snapshot), partial(_read_snapshot, warehouse, snapshot)
            )
        except _ReplacedError:
            return open_published(warehouse, corpus)
    shelf = SnapshotShelf(warehouse, corpus, snapshot) if snapshot else None
    return replace(index, queries=SnapshotQueries(warehouse, corpus, snapshot), shelf=shelf), snapshot


class _ReplacedError(WarehouseError):
    """The snapshot was replaced by another one before it was read."""


def _read_snapshot(warehouse: Warehouse, wanted: Published) -> IndexSnapshot:
    index, current = _read(warehouse, wanted.manifest["corpus"])
    if current is None or current.index != wanted.index:
        raise _ReplacedError(f"{wanted.file} was replaced while it was opened; ask again")
    return index


def _read(warehouse: Warehouse, corpus: str) -> tuple[IndexSnapshot, Published | None]:
    with reading(warehouse, corpus) as (reader, snapshot):
        # Parts may read tables of the graph as well.
        if_present = cache(reader.read_if_present)

        def rows(table: Table) -> pl.DataFrame:
            frame = if_present(table)
            return table.empty() if frame is None else frame

        index = IndexSnapshot(
            documents=reader.read(tables.DOCUMENTS),
            text_chunks=reader.read(tables.TEXT_CHUNKS),
            entities=rows(tables.ENTITIES),
            relationships=rows(tables.RELATIONSHIPS),
            communities=rows(tables.COMMUNITIES),
            community_levels=rows(tables.COMMUNITY_LEVELS),
            reports=rows(tables.COMMUNITY_REPORTS),
            findings=rows(tables.REPORT_FINDINGS),
            references=rows(tables.REPORT_REFERENCES),
            members=reader.read_if_present(tables.COMMUNITY_MEMBERS),
            claims=reader.read_if_present(tables.MERGED_CLAIMS),
            claim_records=reader.read_if_present(tables.CLAIMS),
            unit_vectors=reader.read_if_present(tables.TEXT_UNIT_EMBEDDINGS),
            entity_vectors=reader.read_if_present(tables.ENTITY_EMBEDDINGS),
            report_vectors=reader.read_if_present(tables.REPORT_EMBEDDINGS),
            metadata=rows(tables.DOCUMENT_METADATA),
            periods=rows(tables.DOCUMENT_PERIODS),
            parts={
                name: frame for name, part in declared_parts().items() if (frame := _part(if_present, part))
            },
            triples=if_present(tables.TRIPLES),
            context_nodes=reader.read_if_present(CONTEXT_NODES),
            context_vectors=reader.read_if_present(CONTEXT_VECTORS),
            statements=reader.read_if_present(tables.IMPORTED_RELATIONS),
            declared=reader.read_if_present(tables.IMPORTED_ENTITIES),
        )
    return without_record_words(index), snapshot


def _part(if_present: Callable[[Table], pl.DataFrame | None], part: DeclaredPart) -> SnapshotPart | None:
    """Return the tables of one system's search methods; None if the index has none of them."""
    made = if_present(declared_table(part.table))
    if made is None or made.is_empty():
        return None
    kind = load_target(part.made)
    frames = {name: if_present(table) for name, table in kind.TABLES.items()}
    return None if any(part_frame is None for part_frame in frames.values()) else kind(**frames)


#: Lists the names of all frames, so that a missing one is noticed.
_NAMES = "names"
#: Vectors are stored in the order in which their records are searched, so that they need not be copied.
_VECTORS = {"unit_vectors": ("text_chunks", "text_unit_id"), "entity_vectors": ("entities", "entity_id")}


@dataclass(frozen=True, slots=True)
class CachedTables:
    """The frames of a snapshot by field name; names of a part's frames begin with its name and a dot."""

    frames: Mapping[str, pl.DataFrame]

    @classmethod
    def of(cls, index: IndexSnapshot) -> CachedTables:
        """Return the frames of a snapshot."""
        values = {item.name: getattr(index, item.name) for item in fields(index)}
        for name, part in index.parts.items():
            values |= {f"{name}.{table}": getattr(part, table) for table in part.TABLES}
        frames = {name: frame for name, frame in values.items() if isinstance(frame, pl.DataFrame)}
        for name, (table, key) in _VECTORS.items():
            if name in frames:
                frames[name] = _in_order(frames[name], frames[table], key)
        return cls(frames)

    def index(self) -> IndexSnapshot:
        """Return the snapshot made of the frames."""
        by_part: dict[str, dict[str, Any]] = {}
        for name, frame in self.frames.items():
            part, _, table = name.rpartition(".")
            by_part.setdefault(part, {})[table] = frame
        system_parts = {
            name: load_target(declared_parts()[name].made)(**frames)
            for name, frames in by_part.items()
            if name
        }
        return IndexSnapshot(**by_part[""], parts=system_parts)

    def write(self, folder: Path) -> None:
        """Write the frames into an existing folder; see :meth:`opened`."""
        for name, frame in {**self.frames, _NAMES: pl.DataFrame({"name": list(self.frames)})}.items():
            write_frame(folder, name, frame)

    @classmethod
    def opened(cls, folder: Path) -> CachedTables:
        """Read frames from a folder; large ones are memory-mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: a file is damaged.
        """
        return cls({name: mapped_frame(folder, name) for name in mapped_frame(folder, _NAMES)["name"]})


def cached_index(shelf: Shelf, read: Callable[[], IndexSnapshot]) -> IndexSnapshot:
    """Return a snapshot from the tables on a shelf; read and store them there if missing."""
    cached = load_or_build(
        shelf,
        "frames",
        lambda: CachedTables.of(read()),
        CachedTables,
        lambda folder, tables: tables.write(folder),
        CachedTables.opened,
    )
    return cached.index()


def _in_order(vectors: pl.DataFrame, rows: pl.DataFrame, key: str) -> pl.DataFrame:
    ordered = rows.select(key, "human_readable_id").sort("human_readable_id", key).select(key)
    positioned = vectors.join(ordered.with_row_index("place"), on=key, how="left", maintain_order="left")
    return positioned.sort("place", key, nulls_last=True).drop("place")


def prepare(warehouse: Warehouse, corpus: str) -> None:
    """Make the missing derived files of the current snapshot.

    Files that depend on how a corpus is asked, such as the packing of its reports, are left to the first
    question.

    Args:
        warehouse: with the tables.
        corpus: the corpus.

    Raises:
        WarehouseError: an existing derived file is damaged.
    """
    index, _ = open_published(warehouse, corpus)
    retriever_of(index).prepare()
    index.once(known_documents)
    prepare_background(index)

"""Opens the index of a corpus for search methods, and prepares its derived files."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.registry import declared_parts, load_target
from graphrag_dagster.kernel.questions.context.context_units import without_record_words
from graphrag_dagster.kernel.questions.context.index_background import prepare_background
from graphrag_dagster.kernel.questions.context.index_retriever import retriever_of
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.document_names import known_documents
from graphrag_dagster.kernel.storage.index_cache import mapped_frame, write_frame
from graphrag_dagster.kernel.storage.published import Published, published, reading
from graphrag_dagster.kernel.storage.published.derived_files import SnapshotShelf
from graphrag_dagster.kernel.storage.sql_sandbox import SnapshotQueries
from graphrag_dagster.kernel.tables import CONTEXT_NODES, CONTEXT_VECTORS
from graphrag_dagster.kernel.tables.declared_tables import declared_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse
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
            index = _cached_index(SnapshotShelf(warehouse, corpus, snapshot))
        except _ReplacedError:
            return open_published(warehouse, corpus)
    shelf = SnapshotShelf(warehouse, corpus, snapshot) if snapshot else None
    return replace(index, queries=SnapshotQueries(warehouse, corpus, snapshot), shelf=shelf), snapshot


class _ReplacedError(WarehouseError):
    """The snapshot was replaced by another one before it was read."""


def _read(warehouse: Warehouse, corpus: str) -> tuple[IndexSnapshot, Published | None]:
    with reading(warehouse, corpus) as (reader, snapshot):
        # Parts may read tables of the graph as well.
        index = _index_of(dict(_frames(reader, cache(reader.read_if_present))))
    return without_record_words(index), snapshot


_NEEDED = {"documents": tables.DOCUMENTS, "text_chunks": tables.TEXT_CHUNKS}
#: Frames that are empty where the table was never made.
_OF_INDEX = {
    "entities": tables.ENTITIES,
    "relationships": tables.RELATIONSHIPS,
    "communities": tables.COMMUNITIES,
    "community_levels": tables.COMMUNITY_LEVELS,
    "reports": tables.COMMUNITY_REPORTS,
    "findings": tables.REPORT_FINDINGS,
    "references": tables.REPORT_REFERENCES,
    "metadata": tables.DOCUMENT_METADATA,
    "periods": tables.DOCUMENT_PERIODS,
}
#: Frames that are None there.
_OPTIONAL = {
    "members": tables.COMMUNITY_MEMBERS,
    "claims": tables.MERGED_CLAIMS,
    "claim_records": tables.CLAIMS,
    "unit_vectors": tables.TEXT_UNIT_EMBEDDINGS,
    "entity_vectors": tables.ENTITY_EMBEDDINGS,
    "report_vectors": tables.REPORT_EMBEDDINGS,
    "triples": tables.TRIPLES,
    "context_nodes": CONTEXT_NODES,
    "context_vectors": CONTEXT_VECTORS,
    "statements": tables.IMPORTED_RELATIONS,
    "declared": tables.IMPORTED_ENTITIES,
}


def _frames(
    reader: Reader, if_present: Callable[[Table], pl.DataFrame | None]
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the frames of a snapshot by field name; names of a part's frames begin with its name, a dot."""
    for name, table in _NEEDED.items():
        yield name, reader.read(table)
    for name, table in {**_OF_INDEX, **_OPTIONAL}.items():
        frame = if_present(table)
        if frame is not None:
            yield name, frame
        elif name in _OF_INDEX:
            yield name, table.empty()
    for part_name, part in declared_parts().items():
        made = if_present(declared_table(part.table))
        kind = load_target(part.made)
        # The index may have nothing for the search methods of a system.
        if made is not None and not made.is_empty() and all(map(reader.has, kind.TABLES.values())):
            for name, table in kind.TABLES.items():
                if (frame := if_present(table)) is not None:
                    yield f"{part_name}.{name}", frame


def _index_of(frames: Mapping[str, pl.DataFrame]) -> IndexSnapshot:
    """Return the snapshot made of the frames."""
    by_part: dict[str, dict[str, Any]] = {}
    for name, frame in frames.items():
        part, _, table = name.rpartition(".")
        by_part.setdefault(part, {})[table] = frame
    parts = {name: load_target(declared_parts()[name].made)(**made) for name, made in by_part.items() if name}
    return IndexSnapshot(**by_part[""], parts=parts)


def _frames_of(index: IndexSnapshot) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the frames of a snapshot as :func:`_frames` does."""
    values = {item.name: getattr(index, item.name) for item in fields(index)}
    for name, part in index.parts.items():
        values |= {f"{name}.{table}": getattr(part, table) for table in part.TABLES}
    yield from ((name, frame) for name, frame in values.items() if isinstance(frame, pl.DataFrame))


#: Lists the names of all frames, so that a missing one is noticed.
_NAMES = "names"
#: Vectors are stored in the order in which their records are searched, so that they need not be copied.
_VECTORS = {"unit_vectors": ("text_chunks", "text_unit_id"), "entity_vectors": ("entities", "entity_id")}
_ORDERED = dict(_VECTORS.values())


def _cached_index(shelf: SnapshotShelf) -> IndexSnapshot:
    """Return a snapshot from the tables on a shelf; they are stored there if missing, large ones mapped."""
    folder = shelf.folder("frames", partial(_write_frames, shelf))
    # It may have been deleted with its snapshot meanwhile.
    with suppress(FileNotFoundError):
        if folder is not None:
            return _index_of(
                {name: mapped_frame(folder, name) for name in mapped_frame(folder, _NAMES)["name"]}
            )
    index, current = _read(shelf.warehouse, shelf.corpus)
    _check_current(shelf, current)
    return index


def _write_frames(shelf: SnapshotShelf, folder: Path) -> None:
    """Write the frames of a snapshot into a folder, each before the next is read."""
    with reading(shelf.warehouse, shelf.corpus) as (reader, current):
        _check_current(shelf, current)
        frames = _frames(reader, reader.read_if_present)
        if reader.is_empty(tables.TEXT_CHUNKS):
            frames = _frames_of(without_record_words(_index_of(dict(frames))))
        names: list[str] = []
        ordered: dict[str, pl.DataFrame] = {}
        for name, frame in frames:
            if name in _ORDERED:
                ordered[name] = frame.select(_ORDERED[name], "human_readable_id")
            in_order = (
                _in_order(frame, ordered[_VECTORS[name][0]], _VECTORS[name][1]) if name in _VECTORS else frame
            )
            write_frame(folder, name, in_order)
            names.append(name)
    write_frame(folder, _NAMES, pl.DataFrame({"name": names}))


def _check_current(shelf: SnapshotShelf, current: Published | None) -> None:
    if current is None or current.index != shelf.snapshot.index:
        raise _ReplacedError(f"{shelf.snapshot.file} was replaced while it was opened; ask again")


def _in_order(vectors: pl.DataFrame, rows: pl.DataFrame, key: str) -> pl.DataFrame:
    ordered = rows.select(key, "human_readable_id").sort("human_readable_id", key).select(key)
    places = vectors.select(key).join(
        ordered.with_row_index("place"), on=key, how="left", maintain_order="left"
    )
    return vectors[places.select(pl.arg_sort_by("place", key, nulls_last=True)).to_series()]


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

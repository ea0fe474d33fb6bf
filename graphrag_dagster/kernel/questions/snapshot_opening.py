"""Opens the index of a corpus for search methods, and prepares what questions need of it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.registry import declared_table, loaded, parts
from graphrag_dagster.kernel.questions.context.context_units import told_as_text
from graphrag_dagster.kernel.questions.context.index_background import prepare_background
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import retriever_of
from graphrag_dagster.kernel.questions.scope.document_names import known_of
from graphrag_dagster.kernel.retrieval.index_cache import kept, mapped_frame, write_frame
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
    """Read the tables a search needs: those of the current snapshot, else those of the warehouse.

    Raises:
        WarehouseError: see :func:`open_published`.
    """
    return open_published(warehouse, corpus)[0]


def open_published(warehouse: Warehouse, corpus: str) -> tuple[IndexSnapshot, Published | None]:
    """Read the tables a search needs as :func:`open_snapshot` does, and say where they are from.

    Tables of the graph and the reports that were never made are empty; vectors and claims are None then.

    Returns:
        the tables, and the snapshot they were read from, None for the warehouse.

    Raises:
        WarehouseError: the corpus has not been indexed, or was by a version with other columns; names what
            to run.
    """
    found = published(warehouse, corpus)
    if found is None or not found.large:
        index, found = _read(warehouse, corpus)
    else:
        try:
            index = cached_index(
                SnapshotShelf(warehouse, corpus, found), partial(_read_just, warehouse, found)
            )
        except _ReplacedError:
            return open_published(warehouse, corpus)
    shelf = SnapshotShelf(warehouse, corpus, found) if found else None
    return replace(index, queries=SnapshotQueries(warehouse, corpus, found), shelf=shelf), found


class _ReplacedError(WarehouseError):
    """Another snapshot has taken the place of the one that was to be read."""


def _read_just(warehouse: Warehouse, wanted: Published) -> IndexSnapshot:
    index, found = _read(warehouse, wanted.manifest["corpus"])
    if found is None or found.index != wanted.index:
        raise _ReplacedError(f"{wanted.file} was replaced while it was opened; ask again")
    return index


def _read(warehouse: Warehouse, corpus: str) -> tuple[IndexSnapshot, Published | None]:
    with reading(warehouse, corpus) as (reader, found):
        # A part may read a table of the graph, too.
        if_present = cache(reader.read_if_present)

        def rows(table: Table) -> pl.DataFrame:
            made = if_present(table)
            return table.empty() if made is None else made

        records = reader.read_if_present(tables.CLAIMS)
        merged = reader.read_if_present(tables.MERGED_CLAIMS)
        # Indexes of older versions have claims that were not merged.
        claims = records if merged is None else merged
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
            claims=claims,
            claim_records=records,
            unit_vectors=reader.read_if_present(tables.TEXT_UNIT_EMBEDDINGS),
            entity_vectors=reader.read_if_present(tables.ENTITY_EMBEDDINGS),
            report_vectors=reader.read_if_present(tables.REPORT_EMBEDDINGS),
            metadata=reader.read_if_present(tables.DOCUMENT_METADATA),
            periods=reader.read_if_present(tables.DOCUMENT_PERIODS),
            parts={name: made for name, part in parts().items() if (made := _part(if_present, part))},
            triples=if_present(tables.TRIPLES),
            context_nodes=reader.read_if_present(CONTEXT_NODES),
            context_vectors=reader.read_if_present(CONTEXT_VECTORS),
            statements=reader.read_if_present(tables.IMPORTED_RELATIONS),
            declared=reader.read_if_present(tables.IMPORTED_ENTITIES),
        )
    return told_as_text(index), found


def _part(if_present: Callable[[Table], pl.DataFrame | None], part: DeclaredPart) -> SnapshotPart | None:
    """What the search methods of one system read; None where the index was made without any table of it."""
    made = if_present(declared_table(part.table))
    if made is None or made.is_empty():
        return None
    kind = loaded(part.made)
    frames = {name: if_present(table) for name, table in kind.TABLES.items()}
    return None if any(frame is None for frame in frames.values()) else kind(**frames)


#: The names of all frames, so that one that is missing is missed.
_NAMES = "names"
#: Vectors lie in the order in which what they are of is searched, so that they need not be copied.
_VECTORS = {"unit_vectors": ("text_chunks", "text_unit_id"), "entity_vectors": ("entities", "entity_id")}


@dataclass(frozen=True, slots=True)
class CachedTables:
    """The frames of a snapshot by the names of its fields; those of a part begin with its name and a dot."""

    frames: Mapping[str, pl.DataFrame]

    @classmethod
    def of(cls, index: IndexSnapshot) -> CachedTables:
        """Return the frames that a snapshot has."""
        own = {one.name: getattr(index, one.name) for one in fields(index)}
        for name, part in index.parts.items():
            own |= {f"{name}.{table}": getattr(part, table) for table in part.TABLES}
        frames = {name: frame for name, frame in own.items() if isinstance(frame, pl.DataFrame)}
        for name, (table, key) in _VECTORS.items():
            if name in frames:
                frames[name] = _in_order(frames[name], frames[table], key)
        return cls(frames)

    def index(self) -> IndexSnapshot:
        """Return the snapshot of the frames."""
        own: dict[str, dict[str, Any]] = {}
        for name, frame in self.frames.items():
            part, _, table = name.rpartition(".")
            own.setdefault(part, {})[table] = frame
        of_systems = {name: loaded(parts()[name].made)(**frames) for name, frames in own.items() if name}
        return IndexSnapshot(**own[""], parts=of_systems)

    def write(self, folder: Path) -> None:
        """Write them into a folder that is there; see :meth:`opened`."""
        for name, frame in {**self.frames, _NAMES: pl.DataFrame({"name": list(self.frames)})}.items():
            write_frame(folder, name, frame)

    @classmethod
    def opened(cls, folder: Path) -> CachedTables:
        """Return what was written into a folder; large frames are mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: a file is damaged.
        """
        return cls({name: mapped_frame(folder, name) for name in mapped_frame(folder, _NAMES)["name"]})


def cached_index(shelf: Shelf, read: Callable[[], IndexSnapshot]) -> IndexSnapshot:
    """Return a snapshot as its tables lie on a shelf, read where they do not."""
    made = kept(
        shelf,
        "frames",
        lambda: CachedTables.of(read()),
        CachedTables,
        lambda folder, tables: tables.write(folder),
        CachedTables.opened,
    )
    return made.index()


def _in_order(vectors: pl.DataFrame, rows: pl.DataFrame, key: str) -> pl.DataFrame:
    ordered = rows.select(key, "human_readable_id").sort("human_readable_id", key).select(key)
    own = vectors.join(ordered.with_row_index("place"), on=key, how="left", maintain_order="left")
    return own.sort("place", key, nulls_last=True).drop("place")


def prepare(warehouse: Warehouse, corpus: str) -> None:
    """Make what lies beside the current snapshot for questions, where it is not there yet.

    What depends on how a corpus is asked, as the packing of its reports, is left to the first question.

    Args:
        warehouse: where the tables are.
        corpus: the corpus.

    Raises:
        WarehouseError: what lies there already is damaged.
    """
    index, _ = open_published(warehouse, corpus)
    retriever_of(index).prepare()
    index.once(known_of)
    prepare_background(index)

"""The shrink guard: detects that a rebuilt graph lost entities without a cause in its documents or files."""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from graphrag_dagster.errors import DamagedError
from graphrag_dagster.kernel.storage.published import published, reading
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse, qualified
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.import_tables import IMPORT_ACCOUNT, IMPORTED_FILES
from graphrag_dagster.kernel.tables.table_declaration import Table

#: With fewer published entities, a share is not meaningful.
_FEWEST = 20
_UNITS = f"select document_id, count(*) from {qualified(tables.TEXT_CHUNKS)} where corpus = ? group by all"
_ROWS = (
    f"select path, sum(rows)::bigint from {qualified(IMPORT_ACCOUNT)} "
    "where corpus = ? and record in ('entities', 'relations') and outcome <> 'malformed' group by all"
)
_UNREAD = ("failed", "refused")
_OF_DOCUMENTS = (
    "of the text units belonged to deleted documents",
    "Check the quarantine and any changes of settings, model or prompts",
)
_OF_FILES = (
    "of the rows were in graph files that were deleted or edited",
    "Check which files could no longer be read (graphrag-dagster show) and any changes of imports",
)


@dataclass(frozen=True, slots=True)
class _Published:
    """Published counts: entities, text units by document, rows by file of a graph, and hashes of these."""

    entities: int
    units: Mapping[str, int]
    rows: Mapping[str, int]
    hashes: Mapping[str, str]


def shrink_problems(warehouse: Warehouse, reader: Reader, most: float) -> list[str]:
    """Compare the present entities with those of the current snapshot.

    Text units of deleted documents explain an equal share of entities; so do rows of graph files that were
    deleted or edited. Documents are compared, not units, so that a change of chunking explains nothing.
    Neither does a file that can no longer be read.

    Args:
        warehouse: the warehouse with the snapshot.
        reader: the tables of the run.
        most: the largest share of entities that may be lost beyond that.

    Returns:
        the problem and what to do about it; empty if there is none, or if no readable snapshot is published.
    """
    try:
        before = _published(warehouse, reader.corpus)
    except DamagedError:
        # This run repairs it, and there is nothing to compare with.
        return []
    if before is None:
        return []
    remaining = reader.counts([tables.ENTITIES])[tables.ENTITIES]
    documents = reader.read_if_present(tables.DOCUMENTS)
    gone = max(
        _share_gone(before.units, set() if documents is None else set(documents["document_id"])),
        _share_gone(before.rows, _files_kept(reader, before.hashes)),
    )
    lost = (before.entities - remaining) / before.entities if before.entities else 0.0
    if before.entities < _FEWEST or lost <= most + gone:
        return []
    explained, look = _OF_FILES if before.rows else _OF_DOCUMENTS
    return [
        f"{before.entities:,} entities are published, {remaining:,} are found now: {lost:.0%} fewer, while "
        f"{gone:.0%} {explained}; at most {most:.0%} beyond that is allowed. Nothing was published. "
        f"{look}; to accept the loss, set graph.shrink_guard: 1 in corpus.yaml, index, and remove it again"
    ]


def _published(warehouse: Warehouse, corpus: str) -> _Published | None:
    """Return the published counts; None if nothing is published."""
    if published(warehouse, corpus) is None:
        return None
    with reading(warehouse, corpus) as (reader, _):
        files = reader.read_if_present(IMPORTED_FILES)
        return _Published(
            reader.counts([tables.ENTITIES])[tables.ENTITIES] if reader.has(tables.ENTITIES) else 0,
            _counts(reader, tables.TEXT_CHUNKS, _UNITS),
            _counts(reader, IMPORT_ACCOUNT, _ROWS),
            {} if files is None else dict(files.filter(status="read").select("path", "sha256").iter_rows()),
        )


def _share_gone(weights: Mapping[str, int], kept: Set[str]) -> float:
    total = sum(weights.values())
    return sum(weight for key, weight in weights.items() if key not in kept) / total if total else 0.0


def _files_kept(reader: Reader, before: Mapping[str, str]) -> Set[str]:
    """Return the files that are unchanged, or that cannot be read."""
    files = reader.read_if_present(IMPORTED_FILES)
    rows = () if files is None else files.select("path", "status", "sha256").iter_rows()
    return {path for path, status, sha256 in rows if status in _UNREAD or sha256 == before.get(path)}


def _counts(reader: Reader, table: Table, query: str) -> Mapping[str, int]:
    return dict(reader.connection.execute(query, [reader.corpus]).fetchall()) if reader.has(table) else {}

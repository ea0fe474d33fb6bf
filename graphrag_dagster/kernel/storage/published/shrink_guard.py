"""The shrink guard: detects that a rebuilt graph lost entities without a cause in its documents or files."""

from collections.abc import Iterator, Mapping, Set

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
        if published(warehouse, reader.corpus) is None:
            return []
        with reading(warehouse, reader.corpus) as (old, _):
            before = old.counts([tables.ENTITIES])[tables.ENTITIES] if old.has(tables.ENTITIES) else 0
            units = _weights(old, tables.TEXT_CHUNKS, _UNITS)
            rows = _weights(old, IMPORT_ACCOUNT, _ROWS)
            hashes = {path: sha256 for path, status, sha256 in _graph_files(old) if status == "read"}
    except DamagedError:
        # This run repairs it, and there is nothing to compare with.
        return []
    remaining = reader.counts([tables.ENTITIES])[tables.ENTITIES]
    documents = reader.read_if_present(tables.DOCUMENTS)
    # Unchanged, or not to be read.
    files = {
        path
        for path, status, sha256 in _graph_files(reader)
        if status in _UNREAD or sha256 == hashes.get(path)
    }
    gone = max(
        _share_gone(units, set() if documents is None else set(documents["document_id"])),
        _share_gone(rows, files),
    )
    lost = (before - remaining) / before if before else 0.0
    if before < _FEWEST or lost <= most + gone:
        return []
    explained, look = _OF_FILES if rows else _OF_DOCUMENTS
    return [
        f"{before:,} entities are published, {remaining:,} are found now: {lost:.0%} fewer, while "
        f"{gone:.0%} {explained}; at most {most:.0%} beyond that is allowed. Nothing was published. "
        f"{look}; to accept the loss, set graph.shrink_guard: 1 in corpus.yaml, index, and remove it again"
    ]


def _share_gone(weights: Mapping[str, int], kept: Set[str]) -> float:
    total = sum(weights.values())
    return sum(weight for key, weight in weights.items() if key not in kept) / total if total else 0.0


def _graph_files(reader: Reader) -> Iterator[tuple[str, str, str]]:
    """Yield path, status and hash of every graph file."""
    files = reader.read_if_present(IMPORTED_FILES, ("path", "status", "sha256"))
    yield from () if files is None else files.iter_rows()


def _weights(reader: Reader, table: Table, query: str) -> Mapping[str, int]:
    return dict(reader.connection.execute(query, [reader.corpus]).fetchall()) if reader.has(table) else {}

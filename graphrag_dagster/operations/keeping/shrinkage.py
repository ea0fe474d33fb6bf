"""Whether a rebuilt graph has lost entities that its documents do not explain."""

from collections.abc import Mapping

from graphrag_dagster import tables
from graphrag_dagster.errors import DamagedError
from graphrag_dagster.resources.published import published, reading
from graphrag_dagster.resources.warehouse import Reader, Warehouse, qualified
from graphrag_dagster.tables import Table

#: Below so many published entities a share says little.
_FEWEST = 20


def shrinkage(warehouse: Warehouse, reader: Reader, most: float) -> list[str]:
    """Compare the entities made now with those of the current snapshot.

    Text units whose document is gone explain an equal share of entities. Documents, not units, are compared,
    so that another way of cutting explains nothing.

    Args:
        warehouse: where the snapshot lies.
        reader: the tables of the run.
        most: the largest share of entities that may be lost beyond that.

    Returns:
        what is wrong and what to do, nothing where all is well or nothing that can be read is published.
    """
    try:
        before = _published(warehouse, reader.corpus)
    except DamagedError:
        # This run is the way out, and there is nothing to compare with.
        return []
    if before is None:
        return []
    entities, documents = before
    left = _count(reader, tables.ENTITIES)
    kept = set(reader.read(tables.DOCUMENTS)["document_id"])
    units = sum(documents.values())
    gone = sum(count for one, count in documents.items() if one not in kept) / units if units else 0.0
    lost = (entities - left) / entities if entities else 0.0
    if entities < _FEWEST or lost <= most + gone:
        return []
    return [
        f"{entities:,} entities are published, {left:,} are found now: {lost:.0%} fewer, while {gone:.0%} "
        f"of the text units went with their documents; at most {most:.0%} beyond that may. Nothing was "
        "published. Look at the quarantine and at what was changed in settings, model or prompts; if this is "
        "as it should be, set graph.shrink_guard: 1 in corpus.yaml, index, and take it out again"
    ]


def _published(warehouse: Warehouse, corpus: str) -> tuple[int, Mapping[str, int]] | None:
    """The entities that are published, and the text units of each document; None where nothing is."""
    if published(warehouse, corpus) is None:
        return None
    with reading(warehouse, corpus) as (reader, _):
        rows = reader.connection.execute(
            f"select document_id, count(*) from {qualified(tables.TEXT_CHUNKS)} "
            "where corpus = ? group by document_id",
            [corpus],
        ).fetchall()
        return _count(reader, tables.ENTITIES), dict(rows)


def _count(reader: Reader, table: Table) -> int:
    found = reader.connection.execute(
        f"select count(*) from {qualified(table)} where corpus = ?",
        [reader.corpus],
    ).fetchone()
    return int(found[0]) if found else 0

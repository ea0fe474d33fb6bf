"""Whether a rebuilt graph has lost entities that its documents do not explain."""

from graphrag_dagster import tables
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
        what is wrong and what to do, nothing where all is well or nothing is published.
    """
    current = published(warehouse, reader.corpus)
    if current is None:
        return []
    with reading(warehouse, reader.corpus) as (before, _):
        entities = _count(before, tables.ENTITIES)
        documents = before.connection.execute(
            f"select document_id, count(*) from {qualified(tables.TEXT_CHUNKS)} "
            "where corpus = ? group by document_id",
            [reader.corpus],
        ).fetchall()
    left = _count(reader, tables.ENTITIES)
    kept = set(reader.read(tables.DOCUMENTS)["document_id"])
    units = sum(count for _, count in documents)
    gone = sum(count for document, count in documents if document not in kept) / units if units else 0.0
    lost = (entities - left) / entities if entities else 0.0
    if entities < _FEWEST or lost <= most + gone:
        return []
    return [
        f"{entities:,} entities are published, {left:,} are found now: {lost:.0%} fewer, while {gone:.0%} "
        f"of the text units went with their documents; at most {most:.0%} beyond that may. Nothing was "
        "published. Look at the quarantine and at what was changed in settings, model or prompts; if this is "
        "as it should be, set graph.shrink_guard: 1 in corpus.yaml, index, and take it out again"
    ]


def _count(reader: Reader, table: Table) -> int:
    found = reader.connection.execute(
        f"select count(*) from {qualified(table)} where corpus = ?",
        [reader.corpus],
    ).fetchone()
    return int(found[0]) if found else 0

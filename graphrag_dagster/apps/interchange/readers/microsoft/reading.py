"""Microsoft GraphRAG's Parquet files, row by row."""

from collections.abc import Iterator
from typing import BinaryIO

from graphrag_dagster.apps.interchange.readers.batches import ANY, Account, Batch
from graphrag_dagster.apps.interchange.readers.microsoft.rows import Converter
from graphrag_dagster.apps.interchange.readers.microsoft.tables import NODES, Siblings, missing
from graphrag_dagster.apps.interchange.readers.tabular.parquet import is_vector, parquet_rows, parquet_schema
from graphrag_dagster.kernel.documents.files.columns import listed
from graphrag_dagster.kernel.documents.files.records import UnreadableError


def microsoft_batches(
    stream: BinaryIO, record: str, graph: str, account: Account, siblings: Siblings
) -> Iterator[Batch]:
    """Yield the rows of one file.

    The key of an entity is its id; relations name entities by titles, which become ids.

    Raises:
        UnreadableError: no Parquet, or a column is missing that its rows need.
    """
    there = parquet_schema(stream)
    stream.seek(0)
    lacking = missing(record, there)
    if lacking:
        raise UnreadableError(
            f"no column {lacking}, which {record} of Microsoft GraphRAG have; its columns are "
            f"{listed(list(there))}. Put the file of "
            "that name there, or name it otherwise to have it read as a table"
        )
    vectors = [name for name, kind in there.items() if is_vector(kind)]
    if vectors:
        account.note(f"vectors were left out: {listed(vectors)}")
    kept = [name for name in there if name not in vectors and not name.startswith("__index_level_")]
    if record == NODES:
        count = sum(len(rows.numbers) for rows in parquet_rows(stream, kept))
        account.count(ANY, "read", count, 1)
        account.note("its rows are the members of communities and the places of entities")
        return
    converter = Converter(record, graph, account, siblings)
    for rows in parquet_rows(stream, kept):
        yield from converter.batches(rows)
        yield from account.pending()

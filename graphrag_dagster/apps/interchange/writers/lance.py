"""Vectors as Lance tables; the library that writes them is the extra ``lancedb``."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from graphrag_dagster.apps.interchange.writers.rows import Rows
from graphrag_dagster.kernel.common.progress import stage

#: What is to be installed for it.
EXTRA = "graphrag-dagster[lancedb]"


def lance_there() -> bool:
    """Whether Lance tables can be written."""
    return importlib.util.find_spec("lancedb") is not None


def write_vectors(place: Path, rows: Rows) -> int:
    """Write the Lance table ``place``, whose name ends in ``.lance``; returns the number of its rows.

    Args:
        place: the folder of the table; the folder it is in is the database.
        rows: ``id`` and ``vector``, a list of one length.
    """
    import lancedb

    size = rows.schema.field("vector").type.list_size
    schema = pa.schema([("id", pa.string()), ("vector", pa.list_(pa.float32(), size))])
    count = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal count
        with stage(f"Writing {place.name}") as running:
            for batch in rows.read():
                yield from pa.Table.from_batches([batch]).cast(schema).to_batches()
                count += batch.num_rows
                running.advance(batch.num_rows)

    database: Any = lancedb.connect(place.parent)
    database.create_table(place.stem, data=batches(), schema=schema)
    return count

"""The index of a corpus as the ways of answering see it."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import polars as pl

from graphrag_dagster import tables
from graphrag_dagster.core.errors import WarehouseError
from graphrag_dagster.core.search.index import IndexSnapshot
from graphrag_dagster.resources.published import Published, published
from graphrag_dagster.resources.warehouse import Reader, Warehouse
from graphrag_dagster.tables import Table


def open_snapshot(warehouse: Warehouse, corpus: str) -> IndexSnapshot:
    """Read the tables a search needs: those published last, else those of the warehouse.

    Tables of the graph and the reports that were never made are empty; vectors and claims are None then.

    Raises:
        WarehouseError: the corpus has not been indexed, or was by a version with other columns; names what
            to run.
    """
    with _reader(warehouse, corpus) as reader:

        def rows(table: Table) -> pl.DataFrame:
            made = reader.read_if_present(table)
            return table.empty() if made is None else made

        return IndexSnapshot(
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
            claims=reader.read_if_present(tables.CLAIMS),
            unit_vectors=reader.read_if_present(tables.TEXT_UNIT_EMBEDDINGS),
            entity_vectors=reader.read_if_present(tables.ENTITY_EMBEDDINGS),
            report_vectors=reader.read_if_present(tables.REPORT_EMBEDDINGS),
        )


@contextmanager
def _reader(warehouse: Warehouse, corpus: str) -> Iterator[Reader]:
    made = published(warehouse, corpus)
    if made is None:
        with warehouse.reading(corpus) as reader:
            yield reader
        return
    with _opened(warehouse, corpus, made) as connection:
        yield Reader(connection, corpus)


@contextmanager
def _opened(warehouse: Warehouse, corpus: str, made: Published) -> Iterator[duckdb.DuckDBPyConnection]:
    while True:
        try:
            connection = duckdb.connect(str(made.file), read_only=True)
            break
        except duckdb.Error as error:
            newer = published(warehouse, corpus)
            # Deleted between the look and the opening: a newer copy has taken its place.
            if newer is None or newer.version == made.version:
                raise WarehouseError(
                    f"the published index {made.file} cannot be read ({str(error).splitlines()[0]}); run "
                    f"'graphrag-dagster index {corpus}'"
                ) from error
            made = newer
    with connection:
        yield connection

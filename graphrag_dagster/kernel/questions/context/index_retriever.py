"""The retriever of an opened index."""

import polars as pl

from graphrag_dagster.kernel.documents.documents import name_of
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.retrieval.retriever import Retriever


def retriever_of(index: IndexSnapshot) -> Retriever:
    """Return the retriever of an index; created once."""
    return index.once(_retriever)


def given_titles(documents: pl.DataFrame) -> pl.DataFrame:
    """Return ``document_id`` and ``title`` of documents.

    The title of a table row that was made up from its path and row number is blank, as it says nothing.
    """
    titles = documents.select("document_id", "path", "row", "title")
    row_titles = [
        title if row is None or title != name_of(path, row) else ""
        for _, path, row, title in titles.filter(pl.col("row").is_not_null()).iter_rows()
    ]
    given = titles.filter(pl.col("row").is_null()).select("document_id", "title")
    rows = titles.filter(pl.col("row").is_not_null()).select(
        "document_id", title=pl.Series(row_titles, dtype=pl.String)
    )
    return pl.concat([given, rows])


def _retriever(index: IndexSnapshot) -> Retriever:
    titles = given_titles(index.documents)
    return Retriever(
        index.text_chunks.join(titles, on="document_id", how="left", maintain_order="left"),
        index.entities,
        index.relationships,
        index.unit_vectors,
        index.entity_vectors,
        shelf=index.shelf,
    )

"""Lineage of a corpus's rows, from the published snapshot or else the working file."""

from collections.abc import Iterator
from contextlib import contextmanager

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.lineage.impact import Impact
from graphrag_dagster.kernel.lineage.impact import impact as impact_of
from graphrag_dagster.kernel.lineage.lineage_steps import LineageRows, LineageStep
from graphrag_dagster.kernel.lineage.row_lineage import WhyKind
from graphrag_dagster.kernel.lineage.row_lineage import why as why_of
from graphrag_dagster.kernel.storage import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse


def why(warehouse: Warehouse, corpus: str, kind: WhyKind, asked: str, most: int | None = 5) -> LineageStep:
    """Return the lineage of a row down to words of documents; see
    :func:`graphrag_dagster.kernel.lineage.row_lineage.why`.

    Raises:
        QuestionError: no row matches, or several do.
        WarehouseError: the corpus has not been indexed.
    """
    with open_rows(warehouse, corpus) as rows:
        return why_of(rows, kind, asked, most)


def impact(warehouse: Warehouse, corpus: str, document: str) -> Impact:
    """Return the impact of a document; see :func:`graphrag_dagster.kernel.lineage.impact.impact`.

    Raises:
        QuestionError: no such document.
        WarehouseError: the corpus has not been indexed.
    """
    with open_rows(warehouse, corpus) as rows:
        return impact_of(rows, document)


@contextmanager
def open_rows(warehouse: Warehouse, corpus: str) -> Iterator[LineageRows]:
    """Open the tables for lineage.

    Raises:
        WarehouseError: the corpus has not been indexed, or its tables cannot be read.
    """
    with published.reading(warehouse, corpus) as (reader, _):
        if not reader.has(tables.DOCUMENTS):
            raise WarehouseError(
                f"corpus {corpus!r} has not been indexed; run 'graphrag-dagster index {corpus}'"
            )
        yield LineageRows(reader)

"""Lineage of a warehouse's rows, as the command line opens it."""

from graphrag_dagster.kernel.lineage.impact import Impact
from graphrag_dagster.kernel.lineage.impact import impact as impact_of
from graphrag_dagster.kernel.lineage.lineage_steps import LineageStep, open_rows
from graphrag_dagster.kernel.lineage.row_lineage import WhyKind
from graphrag_dagster.kernel.lineage.row_lineage import why as why_of
from graphrag_dagster.kernel.storage.warehouse import Warehouse


def why(warehouse: Warehouse, corpus: str, kind: WhyKind, asked: str, most: int | None = 5) -> LineageStep:
    with open_rows(warehouse, corpus) as rows:
        return why_of(rows, kind, asked, most)


def impact(warehouse: Warehouse, corpus: str, document: str) -> Impact:
    with open_rows(warehouse, corpus) as rows:
        return impact_of(rows, document)

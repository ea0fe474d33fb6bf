"""Vectors asked of an endpoint while the steps before that of the embedding go on."""

from collections.abc import Callable, Mapping

import polars as pl

from graphrag_dagster.core.language.embedded_texts import text_of_entity, text_of_report, text_of_unit
from graphrag_dagster.engines.session import Session
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import ENTITY_EMBEDDINGS, REPORT_EMBEDDINGS, TEXT_UNIT_EMBEDDINGS, Table

_TEXT_OF: Mapping[Table, Callable[[pl.DataFrame], pl.Series]] = {
    TEXT_UNIT_EMBEDDINGS: text_of_unit,
    ENTITY_EMBEDDINGS: text_of_entity,
    REPORT_EMBEDDINGS: text_of_report,
}
#: Vectors that are kept whatever the settings say.
ALWAYS = frozenset({REPORT_EMBEDDINGS})


def embedding_user(table: Table) -> str:
    """Return the name under which the vectors of a table are booked."""
    return f"{table.name}_embeddings"


def begin_embedding(
    session: Session,
    warehouse: Warehouse,
    corpus: str,
    table: Table,
    rows: pl.DataFrame,
    after: Callable[[], object] = lambda: None,
) -> None:
    """Begin to embed rows as the step of a table of vectors will; that step finds the replies remembered.

    Args:
        session: of the user that the vectors are booked to.
        warehouse: where vectors of an earlier run are.
        corpus: the corpus.
        table: of the vectors.
        rows: of the table that they are made of.
        after: waits until it is time, in the thread that asks; default: it is.
    """
    if table in ALWAYS or session.settings.embeddings.kept == "all":
        texts = _TEXT_OF[table](rows)
        session.begin_embedding(texts, lambda: warehouse.read_if_present(table, corpus), after)

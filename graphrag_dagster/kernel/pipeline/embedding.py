"""Vectors of the rows of a table."""

from collections.abc import Callable, Mapping

import polars as pl

from graphrag_dagster.kernel.pipeline.step import Made, StepRun
from graphrag_dagster.kernel.tables import ENTITY_EMBEDDINGS, REPORT_EMBEDDINGS, TEXT_UNIT_EMBEDDINGS, Table
from graphrag_dagster.kernel.tasks.embedded_rows import (
    embed_rows,
    text_of_entity,
    text_of_report,
    text_of_unit,
)

_TEXT_OF: Mapping[Table, Callable[[pl.DataFrame], pl.Series]] = {
    TEXT_UNIT_EMBEDDINGS: text_of_unit,
    ENTITY_EMBEDDINGS: text_of_entity,
    REPORT_EMBEDDINGS: text_of_report,
}


def embedded(run: StepRun, table: Table, rows: pl.DataFrame) -> Made:
    """Embed rows: one call per distinct text and embedder, none where the last run made the vector.

    Args:
        run: of the stage.
        table: of the vectors.
        rows: of the table that they are made of.
    """
    session = run.session(f"{table.name}_embeddings")
    embedder = session.embedder()
    # Reports are searched by their vectors whatever else is kept.
    if run.settings.embeddings.kept != "all" and table != REPORT_EMBEDDINGS:
        rows = rows.clear()
    known, texts = run.before(table), _TEXT_OF[table](rows)
    vectors = embed_rows(rows[table.key[0]], texts, embedder, known, named=table.name.replace("_", " "))
    session.still_uses(texts.to_list())
    reused = 0 if known is None else known.filter(pl.col("embedder") == embedder.name).height
    return Made(table, vectors, {"embedder": embedder.name, "known_before": reused, **session.finish()})

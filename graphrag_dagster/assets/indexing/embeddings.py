"""Vectors of text units, entities and reports."""

from collections.abc import Callable

import polars as pl
from dagster import AssetExecutionContext, AssetsDefinition, Output

from graphrag_dagster.core.language.embedded_rows import (
    embed_rows,
    text_of_entity,
    text_of_report,
    text_of_unit,
)
from graphrag_dagster.orchestration.declare import describe, ins_of, table_asset
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    COMMUNITY_REPORTS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    REPORT_EMBEDDINGS,
    TEXT_CHUNKS,
    TEXT_UNIT_EMBEDDINGS,
    Table,
)


def _embeddings(
    table: Table, source: Table, text_of: Callable[[pl.DataFrame], pl.Series]
) -> AssetsDefinition:
    key = table.key[0]

    @table_asset(
        table,
        description=table.meaning + " (one call per distinct text and embedder)",
        ins=ins_of(rows=source),
        pool="llm",
    )
    def embeddings(
        context: AssetExecutionContext,
        rows: pl.DataFrame,
        language: Language,
        warehouse: Warehouse,
    ) -> Output[pl.DataFrame]:
        session = language.session(context, f"{table.name}_embeddings")
        embedder = session.embedder()
        if session.settings.embeddings.kept != "all" and table != REPORT_EMBEDDINGS:
            rows = rows.clear()
        known = warehouse.read_if_present(table, context.partition_key)
        texts = text_of(rows)
        frame = embed_rows(rows[key], texts, embedder, known, named=table.name.replace("_", " "))
        session.still_uses(texts.to_list())
        reused = 0 if known is None else known.filter(pl.col("embedder") == embedder.name).height
        return Output(
            frame,
            metadata={
                **describe(frame.drop("vector")),
                "embedder": embedder.name,
                "known_before": reused,
                **session.finish(),
            },
        )

    return embeddings


text_unit_embeddings = _embeddings(TEXT_UNIT_EMBEDDINGS, TEXT_CHUNKS, text_of_unit)
entity_embeddings = _embeddings(ENTITY_EMBEDDINGS, ENTITIES, text_of_entity)
report_embeddings = _embeddings(REPORT_EMBEDDINGS, COMMUNITY_REPORTS, text_of_report)

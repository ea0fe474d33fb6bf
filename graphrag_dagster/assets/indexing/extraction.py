"""Instances of entities, relationships and claims, and the account of every text unit."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.catalogue.tasks import ENTITY_TYPER
from graphrag_dagster.core.extraction.typing import typed
from graphrag_dagster.operations.keeping.deciding import begin_replacing, replies_in
from graphrag_dagster.operations.keeping.extracting import extract_corpus
from graphrag_dagster.operations.keeping.extractions import state_of
from graphrag_dagster.orchestration.declare import counts, ins_of, output, table_assets
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    CLAIMS,
    EXTRACTION_STATE,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    TEXT_CHUNKS,
    TYPINGS,
    UNIT_LEDGER,
)

_TABLES = (
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    CLAIMS,
    UNIT_LEDGER,
    QUARANTINE,
    TYPINGS,
    EXTRACTION_STATE,
)


@table_assets(
    _TABLES,
    ins=ins_of(TEXT_CHUNKS),
    pool="llm",
)
def extraction(
    context: AssetExecutionContext,
    text_chunks: pl.DataFrame,
    language: Language,
    warehouse: Warehouse,
) -> Iterator[Output[pl.DataFrame]]:
    """Entities, relationships and claims found in each text unit, with gleanings (paper §3.1.2)."""
    corpus = context.partition_key
    session = language.session(context, "extraction")
    settings = session.settings
    state = state_of(settings, code_version("extraction"))
    extraction = extract_corpus(session, warehouse, corpus, text_chunks, state)
    made = extraction.extracted
    session.uses_again(replies_in(made.taken_over))
    told = typed(made.frames, text_chunks, session.task(ENTITY_TYPER))
    frames, engine = told.frames, settings.engine_of("extraction")
    begin_replacing(warehouse, corpus, EXTRACTION_STATE)
    yield output(GLEANED_ENTITIES, frames.entities, engine=engine)
    yield output(
        GLEANED_RELATIONSHIPS, frames.relationships, engine=engine, **counts(frames.relationships, "basis")
    )
    yield output(CLAIMS, frames.claims, enabled=settings.claims.enabled)
    yield output(UNIT_LEDGER, frames.ledger, **counts(frames.ledger, "state"), **session.finish())
    yield output(QUARANTINE, frames.quarantine, **counts(frames.quarantine, "kind"))
    yield output(
        TYPINGS,
        frames.typings,
        **counts(frames.typings, "decided_by"),
        problems=int(frames.typings["problem"].is_not_null().sum()),
        repaired=told.repaired,
    )
    yield output(
        EXTRACTION_STATE,
        state,
        units_reused=made.taken_over.height,
        extracted_anew_because=extraction.why_anew,
    )

"""Instances of entities, relationships and claims, and the account of every text unit."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.assets.declare import counts, ins_of, output, table_assets
from graphrag_dagster.core.extraction.run import extract_units
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.tables import (
    CLAIMS,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    TEXT_CHUNKS,
    UNIT_LEDGER,
)

_EXTRACTING = ("core/extraction", "core/language", "prompts")
_TABLES = (GLEANED_ENTITIES, GLEANED_RELATIONSHIPS, CLAIMS, UNIT_LEDGER, QUARANTINE)


@table_assets(
    _TABLES,
    *_EXTRACTING,
    ins=ins_of(TEXT_CHUNKS),
    pool="llm",
)
def extraction(
    context: AssetExecutionContext, text_chunks: pl.DataFrame, corpora: CorpusStore, language: Language
) -> Iterator[Output[pl.DataFrame]]:
    """Entities, relationships and claims found in each text unit, with gleanings (paper §3.1.2)."""
    settings = corpora.settings(context.partition_key)
    session = language.session(
        settings, corpus=context.partition_key, asset="extraction", run_id=context.run_id
    )
    frames = extract_units(
        text_chunks,
        extractor=session.graph_extractor(),
        claim_extractor=session.claim_extractor(),
        dangling=settings.extraction.dangling,
    )
    engine = settings.engine_of("extraction")
    yield output(GLEANED_ENTITIES, frames.entities, engine=engine)
    yield output(
        GLEANED_RELATIONSHIPS, frames.relationships, engine=engine, **counts(frames.relationships, "basis")
    )
    yield output(CLAIMS, frames.claims, enabled=settings.claims.enabled)
    yield output(UNIT_LEDGER, frames.ledger, **counts(frames.ledger, "state"), **session.finish())
    yield output(QUARANTINE, frames.quarantine, **counts(frames.quarantine, "kind"))

"""Which names are one entity, what was decided of whom, and the names of every entity."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.core.resolution.frames import resolve_corpus, unresolved
from graphrag_dagster.orchestration.declare import counts, ins_of, output, table_assets
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.tables import ALIASES, CANDIDATES, DECISIONS, DOCUMENTS, GLEANED_ENTITIES, TEXT_CHUNKS


@table_assets((CANDIDATES, DECISIONS, ALIASES), ins=ins_of(GLEANED_ENTITIES, TEXT_CHUNKS, DOCUMENTS))
def resolution(
    context: AssetExecutionContext,
    gleaned_entities: pl.DataFrame,
    text_chunks: pl.DataFrame,
    documents: pl.DataFrame,
    corpora: CorpusStore,
) -> Iterator[Output[pl.DataFrame]]:
    """Names of one entity found and joined, namesakes kept apart; instances stay as they are."""
    settings = corpora.settings(context.partition_key).resolution
    if settings.enabled:
        made = resolve_corpus(gleaned_entities, text_chunks, documents, settings.decisions())
    else:
        made = unresolved(gleaned_entities, text_chunks, documents)
    yield output(CANDIDATES, made.candidates, **counts(made.candidates, "band"), left_out=made.left_out)
    yield output(DECISIONS, made.decisions, **counts(made.decisions, "verdict"))
    aliases = made.aliases
    yield output(
        ALIASES,
        aliases,
        names=aliases["name"].n_unique(),
        entities=aliases["entity"].n_unique(),
        namesakes=made.namesakes,
    )

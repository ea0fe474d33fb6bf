"""Which names are one entity, what was decided of whom, and the names of every entity."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.core.resolution.asking import AskedOfModel
from graphrag_dagster.core.resolution.frames import resolve_corpus, unresolved
from graphrag_dagster.orchestration.declare import counts, ins_of, output, table_assets
from graphrag_dagster.resources.language import Language
from graphrag_dagster.tables import ALIASES, CANDIDATES, DECISIONS, DOCUMENTS, GLEANED_ENTITIES, TEXT_CHUNKS


@table_assets(
    (CANDIDATES, DECISIONS, ALIASES), ins=ins_of(GLEANED_ENTITIES, TEXT_CHUNKS, DOCUMENTS), pool="llm"
)
def resolution(
    context: AssetExecutionContext,
    gleaned_entities: pl.DataFrame,
    text_chunks: pl.DataFrame,
    documents: pl.DataFrame,
    language: Language,
) -> Iterator[Output[pl.DataFrame]]:
    """Names of one entity found and joined, namesakes kept apart; instances stay as they are."""
    session = language.session(context, "resolution")
    settings = session.settings.resolution
    judge = session.name_judge() if settings.enabled else None
    asked = AskedOfModel(judge, documents) if judge else None
    if settings.enabled:
        made = resolve_corpus(gleaned_entities, text_chunks, documents, settings.decisions(), asked)
    else:
        made = unresolved(gleaned_entities, text_chunks, documents)
    told = asked.counts if asked else {}
    yield output(CANDIDATES, made.candidates, **counts(made.candidates, "band"), left_out=made.left_out)
    yield output(DECISIONS, made.decisions, **counts(made.decisions, "verdict"), **told, **session.finish())
    aliases = made.aliases
    yield output(
        ALIASES,
        aliases,
        names=aliases["name"].n_unique(),
        entities=aliases["entity"].n_unique(),
        namesakes=made.namesakes,
    )

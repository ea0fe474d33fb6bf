"""Which names are one entity, what was decided of whom, and the names of every entity."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.catalogue.tasks import NAME_JUDGE
from graphrag_dagster.operations.keeping.deciding import begin_replacing
from graphrag_dagster.operations.keeping.resolutions import earlier_resolution, state_of_resolution
from graphrag_dagster.orchestration.declare import counts, ins_of, output, table_assets
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    ALIASES,
    CANDIDATES,
    DECISIONS,
    DOCUMENTS,
    GLEANED_ENTITIES,
    RESOLUTION_STATE,
    TEXT_CHUNKS,
)

_TABLES = (CANDIDATES, DECISIONS, ALIASES, RESOLUTION_STATE)


@table_assets(_TABLES, ins=ins_of(GLEANED_ENTITIES, TEXT_CHUNKS, DOCUMENTS), pool="llm")
def resolution(
    context: AssetExecutionContext,
    gleaned_entities: pl.DataFrame,
    text_chunks: pl.DataFrame,
    documents: pl.DataFrame,
    language: Language,
    warehouse: Warehouse,
) -> Iterator[Output[pl.DataFrame]]:
    """Names of one entity found and joined, namesakes kept apart; instances stay as they are."""
    # Not needed by the steps before, the first of which calls a model.
    from graphrag_dagster.core.resolution.asking import AskedOfModel
    from graphrag_dagster.core.resolution.frames import resolve_corpus, unresolved

    corpus = context.partition_key
    session = language.session(context, "resolution")
    settings = session.settings.resolution
    state = state_of_resolution(code_version("resolution"), enabled=settings.enabled)
    earlier, why_anew = earlier_resolution(warehouse, corpus, state)
    judge = session.task(NAME_JUDGE)
    asked = AskedOfModel(judge, documents) if judge else None
    if settings.enabled:
        people = settings.decisions()
        made = resolve_corpus(gleaned_entities, text_chunks, documents, people, asked, earlier)
    else:
        made = unresolved(gleaned_entities, text_chunks, documents)
    told = asked.counts if asked else {}
    begin_replacing(warehouse, corpus, RESOLUTION_STATE)
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
    yield output(RESOLUTION_STATE, state, pairs_reused=made.reused, compared_anew_because=why_anew)

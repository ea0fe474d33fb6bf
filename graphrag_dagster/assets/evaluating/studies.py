"""Studies of single settings: chunk size and gleanings, and the context window."""

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.assets.evaluating.answers import options_hash
from graphrag_dagster.assets.indexing.publishing import published_snapshot
from graphrag_dagster.catalogue.tasks import ANSWER_JUDGE
from graphrag_dagster.orchestration.declare import ins_of, result, table_asset
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    COMMUNITY_LEVELS,
    CONTEXT_METRICS,
    DOCUMENTS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    EXTRACTION_COUNTS,
    QUESTIONS,
    RELATIONSHIPS,
    TEXT_CHUNKS,
    WINDOW_ANSWERS,
    WINDOW_JUDGEMENTS,
)


@table_asset(
    EXTRACTION_COUNTS,
    ins=ins_of(DOCUMENTS, TEXT_CHUNKS),
    pool="llm",
)
def extraction_study(
    context: AssetExecutionContext,
    documents: pl.DataFrame,
    text_chunks: pl.DataFrame,
    language: Language,
) -> Output[pl.DataFrame]:
    """Entity records by chunk size and number of gleanings, on a sample of the documents (paper Figure 3)."""
    from graphrag_dagster.operations.evaluating.setting_studies import count_extraction

    session = language.session(context, "extraction_study")
    frame, sampled = count_extraction(documents, text_chunks, session)
    return result(frame, sampled_documents=sampled, **session.finish())


@table_asset(
    CONTEXT_METRICS,
    ins=ins_of(ENTITIES, RELATIONSHIPS, COMMUNITY_LEVELS, entity_vectors=ENTITY_EMBEDDINGS),
)
def context_study(
    context: AssetExecutionContext,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    community_levels: pl.DataFrame,
    entity_vectors: pl.DataFrame,
    corpora: CorpusStore,
) -> Output[pl.DataFrame]:
    """What context nodes are worth beside random ones, as set and otherwise (fourth paper §IV.A)."""
    from graphrag_dagster.operations.evaluating.setting_studies import measured_context

    settings = corpora.settings(context.partition_key)
    frame = measured_context(entities, relationships, community_levels, entity_vectors, settings)
    return result(frame, variants=frame["variant"].n_unique(), draws=settings.studies.context.draws)


@table_asset(
    WINDOW_ANSWERS,
    ins=ins_of(QUESTIONS),
    deps=[published_snapshot],
    pool="llm",
)
def window_answers(
    context: AssetExecutionContext,
    questions: pl.DataFrame,
    corpora: CorpusStore,
    language: Language,
    warehouse: Warehouse,
) -> Output[pl.DataFrame]:
    """Answers of plain retrieval (SS) with context windows of different sizes (paper Appendix C)."""
    from graphrag_dagster.operations.asking.index import Index
    from graphrag_dagster.operations.evaluating.setting_studies import answer_windows

    corpus = context.partition_key
    session = language.session(context, "window_answers")
    index = Index.open(corpus, corpora=corpora, warehouse=warehouse)
    frame, asked = answer_windows(questions, index, session, options_hash(session))
    return result(frame, questions=asked, **session.finish())


@table_asset(
    WINDOW_JUDGEMENTS,
    ins=ins_of(WINDOW_ANSWERS),
    pool="llm",
)
def window_judgements(
    context: AssetExecutionContext, window_answers: pl.DataFrame, language: Language
) -> Output[pl.DataFrame]:
    """The answers with different context windows compared by a model (paper Appendix C)."""
    from graphrag_dagster.operations.evaluating.setting_studies import judge_windows

    session = language.session(context, "window_judgements")
    judge = session.task(ANSWER_JUDGE)
    if judge is None or window_answers["window"].n_unique() < 2:
        return result(
            WINDOW_JUDGEMENTS.empty(), judged=False, why="no model judges, or there is nothing to compare"
        )
    frame = judge_windows(window_answers, judge, session.settings)
    return result(frame, judged=True, unusable=int(frame["problem"].is_not_null().sum()), **session.finish())

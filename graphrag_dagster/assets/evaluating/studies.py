"""Studies of single settings: chunk size and gleanings, and the context window."""

from dataclasses import replace

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.assets.evaluating.answers import options_hash
from graphrag_dagster.assets.indexing.publishing import published_snapshot
from graphrag_dagster.core.evaluation.judging import sample
from graphrag_dagster.core.evaluation.studies import Mode, extraction_counts, sampled_documents
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.language.tasks import GraphExtractor
from graphrag_dagster.core.search.many import answer_all
from graphrag_dagster.orchestration.declare import code_version, ins_of, result, table_asset
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    DOCUMENTS,
    EXTRACTION_COUNTS,
    QUESTIONS,
    TEXT_CHUNKS,
    WINDOW_ANSWERS,
    WINDOW_JUDGEMENTS,
)


@table_asset(
    EXTRACTION_COUNTS,
    ins=ins_of(DOCUMENTS, TEXT_CHUNKS),
    code_version=code_version(
        "core/evaluation/studies.py", "core/corpus", "core/extraction", "core/language", "prompts"
    ),
    pool="llm",
)
def extraction_study(
    context: AssetExecutionContext,
    documents: pl.DataFrame,
    text_chunks: pl.DataFrame,
    corpora: CorpusStore,
    language: Language,
) -> Output[pl.DataFrame]:
    """Entity records by chunk size and number of gleanings, on a sample of the documents (paper Figure 3)."""
    settings = corpora.settings(context.partition_key)
    own = settings.studies
    session = language.session(
        settings, corpus=context.partition_key, asset="extraction_study", run_id=context.run_id
    )

    def extractor_of(mode: Mode) -> GraphExtractor:
        return session.graph_extractor(own.gleanings, "unchecked" if mode == "forced" else "check_first")

    chosen = sampled_documents(documents, text_chunks, own.sampled_tokens)
    rows = extraction_counts(
        chosen,
        extractor_of,
        sizes=own.chunk_sizes,
        gleanings=own.gleanings,
        encoding=settings.text_units.encoding,
    )
    return result(EXTRACTION_COUNTS.frame(rows), sampled_documents=len(chosen), **session.finish())


@table_asset(
    WINDOW_ANSWERS,
    ins=ins_of(QUESTIONS),
    deps=[published_snapshot],
    code_version=code_version("core/search", "core/language", "prompts"),
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
    from graphrag_dagster.operations.asking.index import Index, SessionEngines

    corpus = context.partition_key
    settings = corpora.settings(corpus)
    session = language.session(settings, corpus=corpus, asset="window_answers", run_id=context.run_id)
    index = Index.open(corpus, corpora=corpora, warehouse=warehouse)
    chosen = sample(questions["question_id"], settings.studies.questions)
    asked = [
        (position, question, "SS")
        for position, question in questions.filter(pl.col("question_id").is_in(chosen))
        .sort("position")
        .select("position", "question")
        .iter_rows()
    ]
    at_once = settings.model.for_role("answer").concurrency if settings.asks_model("search") else 1
    rows = []
    for window in sorted(set(settings.studies.windows)):
        searcher = index.searcher.with_options(replace(index.searcher.options, context_tokens=window))
        for answer in answer_all(searcher, SessionEngines(session), asked, at_once):
            rows.append(
                {
                    "question_id": stable_id("question", answer.question),
                    "window": window,
                    "question": answer.question,
                    "text": answer.text,
                    "refused": answer.refused,
                    "context_rows": len(answer.context),
                    "context_tokens": sum(use.tokens for use in answer.context),
                    "snapshot": index.version,
                    "options": options_hash(settings),
                    "engine": answer.engine,
                }
            )
    return result(WINDOW_ANSWERS.frame(rows), questions=len(asked), **session.finish())


@table_asset(
    WINDOW_JUDGEMENTS,
    ins=ins_of(WINDOW_ANSWERS),
    code_version=code_version(
        "core/evaluation/judging.py", "core/language/judging.py", "core/language/llm", "prompts"
    ),
    pool="llm",
)
def window_judgements(
    context: AssetExecutionContext, window_answers: pl.DataFrame, corpora: CorpusStore, language: Language
) -> Output[pl.DataFrame]:
    """The answers with different context windows compared by a model (paper Appendix C)."""
    from graphrag_dagster.core.evaluation.judging_run import judge_answers

    settings = corpora.settings(context.partition_key)
    session = language.session(
        settings, corpus=context.partition_key, asset="window_judgements", run_id=context.run_id
    )
    judge = session.answer_judge()
    if judge is None or window_answers["window"].n_unique() < 2:
        return result(
            WINDOW_JUDGEMENTS.empty(), judged=False, why="no model judges, or there is nothing to compare"
        )
    frame = judge_answers(
        window_answers.with_columns(
            method=pl.col("window").cast(pl.String),
            position=pl.col("question_id").rank("dense"),
        ),
        judge,
        conditions=[str(window) for window in sorted(set(settings.studies.windows))],
        criteria=settings.evaluation.criteria,
        replicates=settings.evaluation.replicates,
        model=settings.model.for_role("judge").name,
    )
    return result(frame, judged=True, unusable=int(frame["problem"].is_not_null().sum()), **session.finish())

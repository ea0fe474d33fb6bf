"""The answers compared: by a judge, by their claims, and against right answers."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.assets.indexing.publishing import published_snapshot
from graphrag_dagster.catalogue.tasks import ANSWER_JUDGE, CLAIM_DECOMPOSER, QUALITY_JUDGE
from graphrag_dagster.operations.evaluating.scope import EvaluationScope
from graphrag_dagster.orchestration.declare import (
    counts,
    ins_of,
    output,
    result,
    table_asset,
    table_assets,
)
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.tables import (
    ANSWER_CLAIMS,
    ANSWER_CONTEXTS,
    ANSWER_SENTENCES,
    ANSWERS,
    DIVERSITY_CLUSTERS,
    JUDGEMENTS,
    QUALITY_SCORES,
    QUALITY_VERDICTS,
    QUESTIONS,
)

_NO_JUDGE = "no model judges (evaluation.engine is extractive); nothing else can"


@table_asset(
    JUDGEMENTS,
    ins=ins_of(ANSWERS),
    pool="llm",
)
def judgements(
    context: AssetExecutionContext,
    answers: pl.DataFrame,
    language: Language,
    scope: EvaluationScope,
) -> Output[pl.DataFrame]:
    """Every pair of answers compared by a model, by every criterion, in replicates (paper §4.1.3)."""
    from graphrag_dagster.core.evaluation.judging_run import judge_answers

    session = language.session(context, "judgements")
    settings = session.settings
    judge = session.task(ANSWER_JUDGE)
    if judge is None or answers["method"].n_unique() < 2:
        why = _NO_JUDGE if judge is None else "there are not two ways of answering to compare"
        return result(JUDGEMENTS.empty(), judged=False, why=why)
    frame = judge_answers(
        _sampled(answers, settings, scope),
        judge,
        conditions=settings.questions.methods,
        criteria=settings.evaluation.criteria,
        replicates=settings.evaluation.replicates,
        model=settings.model.for_role("judge").name,
    )
    unusable = frame["problem"].is_not_null().sum()
    return result(
        frame, judged=True, unusable=int(unusable), ties=frame["winner"].null_count(), **session.finish()
    )


@table_assets(
    (ANSWER_SENTENCES, ANSWER_CLAIMS),
    ins=ins_of(ANSWERS),
    pool="llm",
)
def answer_claims(
    context: AssetExecutionContext,
    answers: pl.DataFrame,
    language: Language,
    scope: EvaluationScope,
) -> Iterator[Output[pl.DataFrame]]:
    """The atomic claims of every answer: sentences selected, disambiguated and decomposed (paper §4.1.3)."""
    from graphrag_dagster.core.evaluation.claims.claim_rows import claim_rows
    from graphrag_dagster.core.language.evaluating import AnswerText

    session = language.session(context, "answer_claims")
    decomposer = session.task(CLAIM_DECOMPOSER)
    chosen = _sampled(answers, session.settings, scope)
    texts = [AnswerText(question, text) for question, text in chosen.select("question", "text").iter_rows()]
    sentences, claims = claim_rows(
        chosen["answer_id"].to_list(), decomposer.decompose(texts), decomposer.engine
    )
    frame = ANSWER_SENTENCES.frame(sentences)
    yield output(
        ANSWER_SENTENCES, frame, engine=decomposer.engine, **counts(frame, "state"), **session.finish()
    )
    frame = ANSWER_CLAIMS.frame(claims)
    repeated = len(frame) - frame["duplicate_of"].null_count()
    yield output(ANSWER_CLAIMS, frame, engine=decomposer.engine, repeated=repeated)


@table_asset(
    DIVERSITY_CLUSTERS,
    ins=ins_of(ANSWER_CLAIMS),
)
def diversity_clusters(
    context: AssetExecutionContext, answer_claims: pl.DataFrame, corpora: CorpusStore
) -> Output[pl.DataFrame]:
    """The distinct claims of each answer, clustered by the words they share (paper §4.1.3)."""
    from graphrag_dagster.core.evaluation.claims.claim_rows import cluster_rows

    settings = corpora.settings(context.partition_key)
    made = cluster_rows(answer_claims, settings.evaluation.thresholds)
    return result(made if len(made) else DIVERSITY_CLUSTERS.empty())


@table_assets(
    (QUALITY_SCORES, QUALITY_VERDICTS),
    ins=ins_of(ANSWERS, ANSWER_CONTEXTS, QUESTIONS),
    deps=[published_snapshot],
    pool="llm",
)
def quality(
    context: AssetExecutionContext,
    answers: pl.DataFrame,
    answer_contexts: pl.DataFrame,
    questions: pl.DataFrame,
    language: Language,
    warehouse: Warehouse,
    scope: EvaluationScope,
) -> Iterator[Output[pl.DataFrame]]:
    """Relevancy, faithfulness, recall and precision of the answers to questions with a reference answer."""
    from graphrag_dagster.core.evaluation.quality.quality_rows import measured, quality_items
    from graphrag_dagster.operations.asking.snapshot import open_snapshot

    corpus = context.partition_key
    session = language.session(context, "quality")
    settings = session.settings
    chosen = _sampled(answers, settings, scope)
    items = quality_items(chosen, answer_contexts, questions, open_snapshot(warehouse, corpus))
    judge = session.task(QUALITY_JUDGE)
    scores, verdicts = measured(items, judge, settings.evaluation.metrics, session.embedder().embed_queries)
    frame = QUALITY_SCORES.frame(scores)
    yield output(
        QUALITY_SCORES,
        frame,
        with_reference=len(items),
        without_value=frame["value"].null_count(),
        **({"why": _NO_JUDGE} if judge is None else {}),
        **session.finish(),
    )
    yield output(QUALITY_VERDICTS, QUALITY_VERDICTS.frame(verdicts))


def _sampled(answers: pl.DataFrame, settings: CorpusSettings, scope: EvaluationScope) -> pl.DataFrame:
    """The answers to the sampled questions, in the order of the questions and of the settings' methods."""
    from graphrag_dagster.core.evaluation.judging import sample

    size = scope.sample_of(settings)
    if size is None:
        return answers
    return answers.filter(pl.col("question_id").is_in(sample(answers["question_id"].unique(), size)))

"""Paths of the graph that answer questions, and what they are worth beside gold answers (spec_lego)."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.assets.evaluating.answers import deciding_models
from graphrag_dagster.assets.indexing.publishing import published_snapshot
from graphrag_dagster.catalogue.tasks import PATH_JUDGE
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.paths.beforehand import needs_embedder
from graphrag_dagster.core.paths.recipes import Recipe
from graphrag_dagster.engines.session import Session
from graphrag_dagster.orchestration.declare import counts, ins_of, output, result, table_asset, table_assets
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    PATH_ANSWERS,
    PATH_COSTS,
    PATH_JUDGEMENTS,
    PATH_QUESTIONS,
    PATH_SCORES,
    PATH_SUBGRAPHS,
    PATH_SUMMARY,
    PATHS_FOUND,
    RECALL_WINDOWS,
)


@table_asset(PATH_QUESTIONS, deps=[published_snapshot], pool="llm")
def path_questions(
    context: AssetExecutionContext, corpora: CorpusStore, language: Language, warehouse: Warehouse
) -> Output[pl.DataFrame]:
    """The questions of the corpus's question files, linked with the graph."""
    from graphrag_dagster.operations.paths.questions import linked_questions, questions_of
    from graphrag_dagster.resources.paths.making import path_store_of

    session = language.session(context, "paths")
    corpus, own = context.partition_key, session.settings.paths
    asked = questions_of(corpora.folder(corpus), own)
    store = path_store_of(warehouse, corpus, own.prefilter.prefilter())
    frame = linked_questions(asked, store, own, session.embedder())
    told = frame.with_columns(
        pl.col("problem").fill_null("none"), pl.col("hops").cast(pl.String).fill_null("?")
    )
    return result(
        frame,
        sampled=int(frame["sampled"].sum()),
        problems=counts(told, "problem"),
        linked_by=counts(frame, "linked_by"),
        hops=counts(told, "hops"),
        nodes=store.nodes,
        edges=store.edges,
        left_out_triples=store.left_out,
        followed=store.followed(own.direction),
        **session.finish(),
    )


@table_asset(
    RECALL_WINDOWS,
    ins=ins_of(path_questions=PATH_QUESTIONS),
    deps=[published_snapshot],
)
def recall_windows(
    context: AssetExecutionContext, path_questions: pl.DataFrame, corpora: CorpusStore, warehouse: Warehouse
) -> Output[pl.DataFrame]:
    """Which size of the subgraph holds enough of the answers, by class of questions (second paper B.5)."""
    from graphrag_dagster.operations.paths.feedback import learned_from_log
    from graphrag_dagster.operations.paths.windows import windows_of
    from graphrag_dagster.resources.paths.making import path_store_of

    corpus = context.partition_key
    own = corpora.settings(corpus).paths
    store = path_store_of(warehouse, corpus, own.prefilter.prefilter())
    learned = learned_from_log(corpora.folder(corpus), own.recall) if own.recall.enabled else {}
    frame = windows_of(path_questions, store, own, learned)
    return result(frame, enabled=own.recall.enabled, learned=len(learned))


@table_assets(
    (PATH_SUBGRAPHS, PATHS_FOUND, PATH_ANSWERS, PATH_COSTS, PATH_SCORES),
    ins=ins_of(RECALL_WINDOWS, path_questions=PATH_QUESTIONS),
    deps=[published_snapshot],
    pool="llm",
)
def path_outcomes(
    context: AssetExecutionContext,
    path_questions: pl.DataFrame,
    recall_windows: pl.DataFrame,
    language: Language,
    warehouse: Warehouse,
) -> Iterator[Output[pl.DataFrame]]:
    """Every question by every chosen instance; what is still good from an earlier run is kept."""
    from graphrag_dagster.operations.paths.made import Here
    from graphrag_dagster.operations.paths.running import answer_questions
    from graphrag_dagster.resources.paths.making import path_arrays_of

    session, corpus = language.session(context, "path_asked"), context.partition_key
    arrays = path_arrays_of(warehouse, corpus, session.settings.paths.prefilter.prefilter())
    windows = tuple(recall_windows.to_dicts())
    here = Here(corpus, warehouse, arrays.folder, arrays.index, windows)
    made = answer_questions(path_questions, here, session, lambda recipe: decided(session, recipe))
    for table, frame in made.frames.items():
        told: dict[str, object] = {}
        if table is PATH_SUBGRAPHS:
            reasons = frame.with_columns(
                pl.when(pl.col("reason") == "").then(pl.lit("paths")).otherwise("reason").alias("reason")
            )
            told = {**counts(frame, "instance"), "kept": made.kept, "reasons": counts(reasons, "reason")}
        elif table is PATH_ANSWERS:
            told = {**counts(frame, "engine"), "problems": int(frame["problem"].is_not_null().sum())}
        elif table is PATH_COSTS:
            told = {
                "empty_selections": int(frame["empty"].sum()),
                "problems": int(frame["problems"].is_not_null().sum()),
                **session.finish(),
            }
        yield output(table, frame, **told)


@table_asset(
    PATH_JUDGEMENTS,
    ins=ins_of(path_questions=PATH_QUESTIONS, path_answers=PATH_ANSWERS),
    pool="llm",
)
def path_judgements(
    context: AssetExecutionContext,
    path_questions: pl.DataFrame,
    path_answers: pl.DataFrame,
    language: Language,
) -> Output[pl.DataFrame]:
    """Whether a model takes each answer for correct (Judge@1); nothing without a model."""
    from graphrag_dagster.operations.paths.judging import judged_answers

    session = language.session(context, "path_judged")
    judge = session.task(PATH_JUDGE)
    if judge is None:
        return result(PATH_JUDGEMENTS.empty(), judged=False, why="no model judges")
    frame = judged_answers(path_questions, path_answers, judge)
    unusable = int(frame["correct"].is_null().sum())
    return result(frame, judged=True, unusable=unusable, **session.finish())


@table_asset(
    PATH_SUMMARY,
    ins=ins_of(
        path_questions=PATH_QUESTIONS,
        path_scores=PATH_SCORES,
        path_costs=PATH_COSTS,
        path_judgements=PATH_JUDGEMENTS,
    ),
)
def path_summary(
    context: AssetExecutionContext,
    path_questions: pl.DataFrame,
    path_scores: pl.DataFrame,
    path_costs: pl.DataFrame,
    path_judgements: pl.DataFrame,
    corpora: CorpusStore,
) -> Output[pl.DataFrame]:
    """The mean of each measure with its interval, by instance and number of hops."""
    from graphrag_dagster.core.paths.metrics.judged import with_judgements
    from graphrag_dagster.core.paths.metrics.summary import summarised

    seed = corpora.settings(context.partition_key).paths.seed
    scores = with_judgements(path_scores, path_judgements)
    frame = summarised(scores, path_questions, costs=path_costs, seed=seed)
    return result(frame, instances=frame["instance"].n_unique(), measures=frame["measure"].n_unique())


def decided(session: Session, recipe: Recipe) -> str:
    """Hash of what decides what an instance gives, but for question and snapshot."""
    settings = session.settings
    engine = settings.engine_of("paths")
    asks = settings.asks_model("paths")
    options = recipe.options
    embedded = options.scorer == "embedder" or needs_embedder(options)
    embedder = session.embedder().name if embedded else ""
    models = deciding_models(settings, ("paths",)) if asks else []
    return stable_id("path instance", recipe, engine, embedder, *models, code_version("paths"))

"""The steps of LEGO-GraphRAG: instances answer questions with gold answers, and are measured and studied."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.pipeline.result_display import counts
from graphrag_dagster.kernel.pipeline.step_declaration import Made, Step, StepRun
from graphrag_dagster.kernel.pipeline.steps import SNAPSHOT
from graphrag_dagster.kernel.settings.corpus_settings import deciding_models
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.lego.search.instance_definitions import Recipe, needs_embedder
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.tables import (
    PATH_ANSWERS,
    PATH_COSTS,
    PATH_JUDGEMENTS,
    PATH_QUESTIONS,
    PATH_SCORES,
    PATH_STUDY,
    PATH_SUBGRAPHS,
    PATH_SUMMARY,
    PATHS_FOUND,
    RECALL_WINDOWS,
)
from graphrag_dagster.systems.lego.tasks import PATH_JUDGE


def paths(_tables: Tables, run: StepRun) -> Iterator[Made]:
    """The questions of the question files answered by every chosen instance, and measured.

    What is still good from an earlier run is kept.
    """
    # What paths need is much, and few runs measure them.
    from graphrag_dagster.systems.lego.search.graph_arrays import path_arrays_of, path_store_of
    from graphrag_dagster.systems.lego.studies.benchmark_runs import Here
    from graphrag_dagster.systems.lego.studies.gold_questions import linked_questions, questions_of
    from graphrag_dagster.systems.lego.studies.question_scores import with_judgements
    from graphrag_dagster.systems.lego.studies.recall_learning import learned_from_log, windows_of
    from graphrag_dagster.systems.lego.studies.score_summary import summarise
    from graphrag_dagster.systems.lego.studies.study_runner import answer_questions

    own, folder, corpus = run.settings.section(PathSettings), run.corpora.folder(run.corpus), run.corpus
    session, prefilter = run.session("paths"), own.prefilter.prefilter()
    store = path_store_of(run.warehouse, corpus, prefilter)
    questions = linked_questions(questions_of(folder, own), store, own, session.embedder())
    named = questions.with_columns(
        pl.col("problem").fill_null("none"), pl.col("hops").cast(pl.String).fill_null("?")
    )
    yield Made(
        PATH_QUESTIONS,
        questions,
        {
            "sampled": int(questions["sampled"].sum()),
            "problems": counts(named, "problem"),
            "linked_by": counts(questions, "linked_by"),
            "hops": counts(named, "hops"),
            "nodes": store.nodes,
            "edges": store.edges,
            "left_out_triples": store.left_out,
            "followed": store.resolve_direction(own.direction),
            **session.finish(),
        },
    )
    learned = learned_from_log(folder, own.recall) if own.recall.enabled else {}
    windows = windows_of(questions, store, own, learned)
    yield Made(RECALL_WINDOWS, windows)

    asking = run.session("path_asked")
    arrays = path_arrays_of(run.warehouse, corpus, prefilter)
    here = Here(corpus, run.warehouse, arrays.folder, arrays.index, tuple(windows.to_dicts()))
    made = answer_questions(questions, here, asking, lambda recipe: decided(asking, recipe))
    subgraphs, costs = made.frames[PATH_SUBGRAPHS], made.frames[PATH_COSTS]
    reasons = subgraphs.with_columns(pl.col("reason").replace("", "paths"))
    answers = made.frames[PATH_ANSWERS]
    told = {
        **counts(answers, "engine"),
        "problems": int(answers["problem"].is_not_null().sum()),
        "kept": made.kept,
        "instances": counts(subgraphs, "instance"),
        "reasons": counts(reasons, "reason"),
        "empty_selections": int(costs["empty"].sum()),
        "selection_problems": int(costs["problems"].is_not_null().sum()),
        "windows_learned": len(learned),
        **asking.finish(),
    }
    for table, frame in made.frames.items():
        yield Made(table, frame, told if table is PATH_ANSWERS else {})

    judged, about = _judge_answers(questions, answers, run)
    yield Made(PATH_JUDGEMENTS, judged)
    scores = with_judgements(made.frames[PATH_SCORES], judged)
    frame = summarise(scores, questions, costs=costs, seed=own.seed)
    measured = {"instances": frame["instance"].n_unique(), "measures": frame["measure"].n_unique()}
    yield Made(PATH_SUMMARY, frame, {**measured, **about})


def path_variants(_tables: Tables, run: StepRun) -> Iterator[Made]:
    """What recall is worth, and what acceleration and further steps cost.

    LEGO-GraphRAG, Figure 5, Tables 5 to 9.
    """
    from graphrag_dagster.systems.lego.retrieval.scorer_registry import recipe_scorer
    from graphrag_dagster.systems.lego.search.graph_arrays import path_store_of
    from graphrag_dagster.systems.lego.search.path_index import resources_of
    from graphrag_dagster.systems.lego.studies.gold_questions import (
        linked_questions,
        questions_of,
        studied_questions,
    )
    from graphrag_dagster.systems.lego.studies.path_study import (
        recall_variants,
        study_acceleration,
        study_variants,
        switch_variants,
    )
    from graphrag_dagster.systems.lego.studies.study_runner import given_hops

    settings, own = run.settings, run.settings.section(PathSettings)
    session, folder = run.session("path_studied"), run.corpora.folder(run.corpus)
    store = path_store_of(run.warehouse, run.corpus, own.prefilter.prefilter())
    asked = studied_questions(folder, run.corpus, store, own, session.embedder())
    asks = settings.asks_model("paths")
    at_once = settings.model.for_role("answer").concurrency if asks else 1
    variants = [*recall_variants(own), *switch_variants(own)]
    recipes = [one.recipe for one in variants]
    linked = linked_questions(questions_of(folder, own), store, own, session.embedder())
    resources = resources_of(session, store, recipes, hops=given_hops(linked, recipes))
    engine = settings.engine_of("paths")
    scorer = recipe_scorer(own.recipe("2"), session.embedder())
    frames = [
        # First, since what is asked after it finds PageRank that is known.
        study_acceleration(store, asked, own.options(), session.embedder(), scorer, seed=own.seed),
        study_variants(variants, asked, resources, engine=engine, at_once=at_once, seed=own.seed),
    ]
    told = {"questions": len(asked), "followed": store.resolve_direction(own.direction), **session.finish()}
    yield Made(PATH_STUDY, pl.concat(frames), told)


def _judge_answers(
    questions: pl.DataFrame, answers: pl.DataFrame, run: StepRun
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Whether a model takes each answer for correct (Judge@1); nothing without a model."""
    from graphrag_dagster.systems.lego.studies.question_scores import judged_answers

    session = run.session("path_judged")
    judge = session.task(PATH_JUDGE)
    if judge is None:
        return PATH_JUDGEMENTS.empty(), {"judged": False, "why": "no model judges"}
    frame = judged_answers(questions, answers, judge)
    return frame, {"judged": True, "unusable": int(frame["correct"].is_null().sum()), **session.finish()}


def decided(session: TaskProvider, recipe: Recipe) -> str:
    """Hash of what decides what an instance gives, but for question and snapshot."""
    settings = session.settings
    engine = settings.engine_of("paths")
    asks = settings.asks_model("paths")
    options = recipe.options
    embedded = options.scorer == "embedder" or needs_embedder(options)
    embedder = session.embedder().name if embedded else ""
    models = deciding_models(settings, ("paths",)) if asks else []
    return stable_id("path instance", recipe, engine, embedder, *models, code_version("paths"))


STEPS = (
    Step(
        "path_study",
        paths,
        assets={
            PATH_QUESTIONS: (SNAPSHOT,),
            PATH_ANSWERS: (PATH_QUESTIONS,),
            PATH_SUMMARY: (PATH_ANSWERS,),
        },
        side_tables=(
            *(RECALL_WINDOWS, PATH_SUBGRAPHS, PATHS_FOUND, PATH_COSTS),
            *(PATH_SCORES, PATH_JUDGEMENTS),
        ),
        requested=True,
    ),
    Step(
        "path_variants",
        path_variants,
        assets={PATH_STUDY: (SNAPSHOT,)},
        requested=True,
    ),
)

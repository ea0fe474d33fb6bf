"""Studies of single settings: chunk size and gleanings, context nodes, and the context window."""

from collections.abc import Iterator

from graphrag_dagster.catalogue.tasks import ANSWER_JUDGE
from graphrag_dagster.pipeline.answers import options_hash
from graphrag_dagster.pipeline.stage import Made, StageRun, Tables
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


def extraction_study(tables: Tables, run: StageRun) -> Iterator[Made]:
    """Entity records by chunk size and number of gleanings, on a sample of the documents (paper Figure 3)."""
    from graphrag_dagster.operations.evaluating.setting_studies import count_extraction

    session = run.session("extraction_study")
    frame, sampled = count_extraction(tables[DOCUMENTS], tables[TEXT_CHUNKS], session)
    yield Made(EXTRACTION_COUNTS, frame, {"sampled_documents": sampled, **session.finish()})


def context_study(tables: Tables, run: StageRun) -> Iterator[Made]:
    """What context nodes are worth beside random ones, as set and otherwise (fourth paper §IV.A)."""
    from graphrag_dagster.operations.evaluating.setting_studies import measured_context

    frame = measured_context(
        tables[ENTITIES],
        tables[RELATIONSHIPS],
        tables[COMMUNITY_LEVELS],
        tables[ENTITY_EMBEDDINGS],
        run.settings,
    )
    told = {"variants": frame["variant"].n_unique(), "draws": run.settings.studies.context.draws}
    yield Made(CONTEXT_METRICS, frame, told)


def window_study(tables: Tables, run: StageRun) -> Iterator[Made]:
    """Answers of plain retrieval (SS) with context windows of different sizes (paper Appendix C)."""
    from graphrag_dagster.operations.asking.index import Index
    from graphrag_dagster.operations.evaluating.setting_studies import answer_windows, judge_windows

    session = run.session("window_answers")
    index = Index.open(run.corpus, corpora=run.corpora, warehouse=run.warehouse)
    answers, asked = answer_windows(tables[QUESTIONS], index, session, options_hash(session))
    yield Made(WINDOW_ANSWERS, answers, {"questions": asked, **session.finish()})
    judging = run.session("window_judgements")
    judge = judging.task(ANSWER_JUDGE)
    if judge is None or answers["window"].n_unique() < 2:
        why = "no model judges, or there is nothing to compare"
        yield Made(WINDOW_JUDGEMENTS, WINDOW_JUDGEMENTS.empty(), {"judged": False, "why": why})
        return
    frame = judge_windows(answers, judge, run.settings)
    unusable = int(frame["problem"].is_not_null().sum())
    yield Made(WINDOW_JUDGEMENTS, frame, {"judged": True, "unusable": unusable, **judging.finish()})

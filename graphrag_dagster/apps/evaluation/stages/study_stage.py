"""The stage of studies of single settings: chunk size, gleanings, context nodes, context window."""

from collections.abc import Iterator

from graphrag_dagster.apps.evaluation.questions.question_tables import QUESTIONS
from graphrag_dagster.apps.evaluation.stages.answer_stage import options_hash
from graphrag_dagster.apps.evaluation.tables import EXTRACTION_COUNTS, WINDOW_ANSWERS, WINDOW_JUDGEMENTS
from graphrag_dagster.apps.evaluation.tasks import ANSWER_JUDGE
from graphrag_dagster.kernel.pipeline.step_declaration import Made, StepRun
from graphrag_dagster.kernel.tables.core_tables import DOCUMENTS, TEXT_CHUNKS
from graphrag_dagster.kernel.tables.table_declaration import Tables


def extraction_study(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Entity records by chunk size and number of gleanings, on a sample of the documents.

    From Local to Global, Figure 3.
    """
    from graphrag_dagster.apps.evaluation.stages.setting_studies import count_extraction

    session = run.session("extraction_study")
    frame, sampled = count_extraction(tables[DOCUMENTS], tables[TEXT_CHUNKS], session)
    yield Made(EXTRACTION_COUNTS, frame, {"sampled_documents": sampled, **session.finish()})


def window_study(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Answers of plain retrieval (SS) with context windows of different sizes.

    From Local to Global, Appendix C.
    """
    from graphrag_dagster.apps.evaluation.stages.setting_studies import answer_windows, judge_windows
    from graphrag_dagster.kernel.questions.corpus_index import CorpusIndex

    session = run.session("window_answers")
    index = CorpusIndex.open(run.corpus, corpora=run.corpora, warehouse=run.warehouse)
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

"""Studies of single settings for a corpus: chunk size and gleanings, and the context window."""

from dataclasses import replace

import polars as pl

from graphrag_dagster.apps.evaluation.measures.judging import judge_answers, sample
from graphrag_dagster.apps.evaluation.questions.answer_list import asked_at_once
from graphrag_dagster.apps.evaluation.settings import EvaluationSettings
from graphrag_dagster.apps.evaluation.stages.settings_compared import (
    Mode,
    extraction_counts,
    sampled_documents,
)
from graphrag_dagster.apps.evaluation.tables.studies import EXTRACTION_COUNTS, WINDOW_ANSWERS
from graphrag_dagster.apps.evaluation.tasks import AnswerJudge
from graphrag_dagster.kernel.catalogue.methods import BASELINE
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.questions.asking.index import Index
from graphrag_dagster.kernel.questions.many import answer_all
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.settings.corpus import CorpusSettings
from graphrag_dagster.kernel.settings.studies import StudySettings
from graphrag_dagster.kernel.tasks.ports import GraphExtractor
from graphrag_dagster.kernel.tasks.session import Session
from graphrag_dagster.systems.graphrag.settings import ExtractionSettings
from graphrag_dagster.systems.graphrag.tasks import GRAPH_EXTRACTOR


def count_extraction(
    documents: pl.DataFrame, text_chunks: pl.DataFrame, session: Session
) -> tuple[pl.DataFrame, int]:
    """Return rows of ``studies.extraction_counts``, and how many documents are in the sample.

    Args:
        documents: rows of ``corpus.documents``.
        text_chunks: rows of ``corpus.text_chunks``.
        session: the engines.
    """
    own = session.settings.section(StudySettings)

    def extractor_of(mode: Mode) -> GraphExtractor:
        order = "unchecked" if mode == "forced" else "check_first"
        extraction = session.settings.section(ExtractionSettings)
        gleaning = extraction.gleaning.model_copy(update={"rounds": own.gleanings, "order": order})
        changed = {"extraction": extraction.model_copy(update={"gleaning": gleaning})}
        return replace(session, settings=session.settings.model_copy(update=changed)).task(GRAPH_EXTRACTOR)

    chosen = sampled_documents(documents, text_chunks, own.sampled_tokens)
    rows = extraction_counts(
        chosen,
        extractor_of,
        sizes=own.chunk_sizes,
        gleanings=own.gleanings,
        encoding=session.settings.text_units.encoding,
    )
    return EXTRACTION_COUNTS.frame(rows), len(chosen)


def answer_windows(
    questions: pl.DataFrame, index: Index, session: Session, options: str
) -> tuple[pl.DataFrame, int]:
    """Return rows of ``studies.window_answers``, and how many questions are in the sample.

    Args:
        questions: rows of ``questions.questions``.
        index: what is asked, by vectors only.
        session: the engines.
        options: hash of what decides an answer beside the index.
    """
    settings = session.settings
    chosen = sample(questions["question_id"], settings.section(StudySettings).questions)
    listed = questions.filter(pl.col("question_id").is_in(chosen)).sort("position")["question"]
    asked = [Question(question, BASELINE) for question in listed]
    rows = []
    for window in _windows(settings):
        searcher = index.searcher.with_options(context_tokens=window)
        for answer in answer_all(searcher, session, asked, asked_at_once(settings)):
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
                    "options": options,
                    "engine": answer.engine,
                }
            )
    return WINDOW_ANSWERS.frame(rows), len(asked)


def judge_windows(window_answers: pl.DataFrame, judge: AnswerJudge, settings: CorpusSettings) -> pl.DataFrame:
    """Return rows of ``studies.window_judgements``.

    Args:
        window_answers: rows of ``studies.window_answers``.
        judge: compares the answers.
        settings: of the corpus.
    """
    return judge_answers(
        window_answers.with_columns(
            method=pl.col("window").cast(pl.String),
            position=pl.col("question_id").rank("dense"),
        ),
        judge,
        conditions=[str(window) for window in _windows(settings)],
        criteria=settings.section(EvaluationSettings).criteria,
        replicates=settings.section(EvaluationSettings).replicates,
        model=settings.model.for_role("judge").name,
    )


def _windows(settings: CorpusSettings) -> list[int]:
    return sorted(set(settings.section(StudySettings).windows))

"""Studies of single settings: chunk size and gleanings, and the context window (Figure 3, Appendix C)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from graphrag_dagster.apps.evaluation.measures.pairwise_judging import judge_answers, sample_questions
from graphrag_dagster.apps.evaluation.settings import EvaluationSettings
from graphrag_dagster.apps.evaluation.stages.answer_stage import concurrent_answers
from graphrag_dagster.apps.evaluation.tables import EXTRACTION_COUNTS, WINDOW_ANSWERS
from graphrag_dagster.apps.evaluation.tasks import AnswerJudge
from graphrag_dagster.kernel.catalogue.registry import asks_model
from graphrag_dagster.kernel.catalogue.search_methods import BASELINE
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.documents.text_units import cut_text_units
from graphrag_dagster.kernel.questions.corpus_index import CorpusIndex
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.questions.searcher import answer_all
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.study_settings import StudySettings
from graphrag_dagster.kernel.tasks.task_ports import GraphExtractor, TextUnit, UnitExtraction
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.graphrag.settings import ExtractionSettings
from graphrag_dagster.systems.graphrag.tasks import GRAPH_EXTRACTOR

Mode = Literal["checked", "forced"]
#: The overlap of text units, whatever their size.
_OVERLAP = 100


def sample_documents(documents: pl.DataFrame, text_chunks: pl.DataFrame, most_tokens: int) -> pl.DataFrame:
    """Return whole documents drawn by a hash of their ids up to a number of tokens, at least one.

    Args:
        documents: rows of ``corpus.documents``.
        text_chunks: rows of ``corpus.text_chunks``, which tell how long the documents are.
        most_tokens: of the documents' text units together.
    """
    tokens = dict(text_chunks.group_by("document_id").agg(pl.col("tokens").sum()).iter_rows())
    chosen: list[str] = []
    total = 0
    for identity in sorted(documents["document_id"], key=lambda one: stable_id("sample", one)):
        total += tokens.get(identity, 0)
        if chosen and total > most_tokens:
            break
        chosen.append(identity)
    return documents.filter(pl.col("document_id").is_in(chosen))


def study_units(documents: pl.DataFrame, size: int, encoding: str) -> pl.DataFrame:
    """Return the text units of documents at a size in tokens."""
    overlap = min(_OVERLAP, size - 1)
    return cut_text_units(documents, strategy="tokens", size=size, overlap=overlap, encoding=encoding)


def extraction_counts(
    documents: pl.DataFrame,
    extractor_of: Callable[[Mode], GraphExtractor],
    *,
    sizes: Sequence[int],
    gleanings: int,
    encoding: str,
) -> list[dict[str, Any]]:
    """Return the rows of ``studies.extraction_counts``: records by chunk size and number of gleanings.

    Entities are counted twice: every record, which the paper calls entity references, and distinct names.
    One run with all gleanings gives every point of a line, since the runs share their first turns. An
    extractive extractor has no gleanings: there is one point for each size.

    Args:
        documents: rows of ``corpus.documents``.
        extractor_of: makes the extractor that asks before each gleaning, or gleans unasked.
        sizes: tokens of a text unit.
        gleanings: most continuations.
        encoding: tokenizer.

    Raises:
        EndpointError: the model endpoint cannot be used at all.
    """
    rows: list[dict[str, Any]] = []
    for size in sizes:
        chunks = study_units(documents, size, encoding)
        units = [TextUnit(*row) for row in chunks.select("text_unit_id", "text").iter_rows()]
        modes: tuple[Mode, ...] = ("checked", "forced")
        for mode in modes:
            extractor = extractor_of(mode)
            found = list(extractor.extract(units))
            rounds = range(gleanings + 1) if asks_model(extractor.engine) else range(1)
            rows += [
                {
                    "chunk_size": size,
                    "mode": mode,
                    "gleanings": last,
                    "text_units": len(units),
                    **_count_records(found, last),
                    "engine": extractor.engine,
                }
                for last in rounds
            ]
            if not asks_model(extractor.engine):
                break
    return rows


def _count_records(found: Sequence[UnitExtraction], last: int) -> dict[str, int]:
    names = {entity.name for unit in found for entity in unit.entities if entity.round <= last}
    return {
        name: sum(record.round <= last for unit in found for record in getattr(unit, name))
        for name in ("entities", "relationships", "quarantined")
    } | {"distinct_entities": len(names)}


def count_extraction(
    documents: pl.DataFrame, text_chunks: pl.DataFrame, session: TaskProvider
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

    chosen = sample_documents(documents, text_chunks, own.sampled_tokens)
    rows = extraction_counts(
        chosen,
        extractor_of,
        sizes=own.chunk_sizes,
        gleanings=own.gleanings,
        encoding=session.settings.text_units.encoding,
    )
    return EXTRACTION_COUNTS.frame(rows), len(chosen)


def answer_windows(
    questions: pl.DataFrame, index: CorpusIndex, session: TaskProvider, options: str
) -> tuple[pl.DataFrame, int]:
    """Return rows of ``studies.window_answers``, and how many questions are in the sample.

    Args:
        questions: rows of ``questions.questions``.
        index: what is asked, by vectors only.
        session: the engines.
        options: hash of what decides an answer beside the index.
    """
    settings = session.settings
    chosen = sample_questions(questions["question_id"], settings.section(StudySettings).questions)
    listed = questions.filter(pl.col("question_id").is_in(chosen)).sort("position")["question"]
    asked = [Question(question, BASELINE) for question in listed]
    rows = []
    for window in _windows(settings):
        searcher = index.searcher.with_options(context_tokens=window)
        for answer in answer_all(searcher, session, asked, concurrent_answers(settings)):
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
        citations=settings.section(EvaluationSettings).citations,
    )


def _windows(settings: CorpusSettings) -> list[int]:
    return sorted(set(settings.section(StudySettings).windows))

"""The stage of questions: the corpus's own, those of single documents, and those of personas."""

from collections.abc import Iterator

import polars as pl

from graphrag_dagster.apps.evaluation.questions.question_list import asks_personas, questions_of
from graphrag_dagster.apps.evaluation.questions.question_tables import (
    CORPUS_DESCRIPTIONS,
    PERSONA_QUESTIONS,
    PERSONA_TASKS,
    PERSONAS,
    QUESTIONS,
    TESTSET_DOCUMENTS,
    TESTSET_QUESTIONS,
)
from graphrag_dagster.apps.evaluation.settings import QuestionSettings
from graphrag_dagster.apps.evaluation.tasks import QUESTION_WRITER, TESTSET_WRITER
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.pipeline.result_display import counts
from graphrag_dagster.kernel.pipeline.step_declaration import Made, StepRun
from graphrag_dagster.kernel.tables.core_tables import DOCUMENTS, ENTITIES, TEXT_CHUNKS
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.text.tokenization import get_tokenizer

_WRITTEN = (CORPUS_DESCRIPTIONS, PERSONAS, PERSONA_TASKS, PERSONA_QUESTIONS)
_MOST_THEMES = 40


def questions(tables: Tables, run: StepRun) -> Iterator[Made]:
    """All questions that are answered: the corpus's own, the testset, then the written ones."""
    # What evaluates is loaded where it does: few runs evaluate.
    from graphrag_dagster.apps.evaluation.questions.persona_questions import all_questions, references

    own = questions_of(run.corpora.folder(run.corpus), run.settings.section(QuestionSettings))
    wanted = asks_personas(run.settings.section(QuestionSettings), own)
    made = (
        list(_persona_rows(tables, run))
        if wanted
        else [Made(one, one.empty(), _NOT_WRITTEN) for one in _WRITTEN]
    )
    yield from made
    testset = list(_testset(tables, run))
    yield from testset
    rows = {one.table: one.rows for one in (*made, *testset)}
    frame = QUESTIONS.frame(
        all_questions(
            [
                *((one.text, one.origin, one.reference) for one in own),
                *references(rows[TESTSET_DOCUMENTS], rows[TESTSET_QUESTIONS]),
            ],
            rows[PERSONA_QUESTIONS],
            rows[PERSONA_TASKS],
            rows[PERSONAS],
        )
    )
    with_reference = int(frame["reference"].is_not_null().sum())
    yield Made(QUESTIONS, frame, {**counts(frame, "origin"), "with_reference": with_reference})


_NOT_WRITTEN = {"written": False}


def _persona_rows(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Personas, their tasks and their questions of the whole corpus, from its description.

    From Local to Global, §4.1.2.
    """
    from graphrag_dagster.apps.evaluation.questions.persona_questions import describe_corpus, write_questions

    session, own, entities = (
        run.session("written_questions"),
        run.settings.section(QuestionSettings),
        tables[ENTITIES],
    )
    themes = entities.sort(["degree", "title"], descending=[True, False])["title"].head(_MOST_THEMES)
    session.themes = themes.to_list()
    writer = session.task(QUESTION_WRITER)
    about = describe_corpus(writer, run.settings.description, tables[TEXT_CHUNKS], own.sampled_units)
    made = write_questions(
        writer,
        about.text,
        personas=own.personas,
        tasks=own.tasks,
        questions=own.per_task,
        oversample=own.oversample,
        embed=session.embedder().embed_queries if own.oversample > 1 else None,
    )
    rows = (about.rows(writer.engine, made.usage.repaired), made.personas, made.tasks, made.questions)
    told = {
        "engine": writer.engine,
        "written": True,
        "problems": "; ".join(made.problems) or "none",
        **session.finish(),
    }
    for table, frame in zip(_WRITTEN, rows, strict=True):
        yield Made(table, table.frame(frame), told if table is PERSONA_QUESTIONS else {})


def _testset(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Questions with reference answers, each written from one of a sample of documents."""
    from graphrag_dagster.apps.evaluation.questions.reference_questions import sample_documents, write_testset

    own = run.settings.section(QuestionSettings).testset
    if not own.enabled:
        yield from (Made(one, one.empty(), _NOT_WRITTEN) for one in (TESTSET_DOCUMENTS, TESTSET_QUESTIONS))
        return
    session = run.session("testset")
    writer = session.task(TESTSET_WRITER)
    if writer is None:
        raise EngineError("questions.testset needs a model; set questions.engine: llm")
    tokenizer = get_tokenizer(run.settings.text_units.encoding)
    made = write_testset(
        writer,
        sample_documents(tables[DOCUMENTS], own.documents, own.seed),
        own.per_document,
        lambda text: tokenizer.truncate(text, own.context_tokens),
    )
    of, asked = TESTSET_DOCUMENTS.frame(made.documents), TESTSET_QUESTIONS.frame(made.questions)
    yield Made(TESTSET_DOCUMENTS, of)
    yield Made(
        TESTSET_QUESTIONS,
        asked,
        {
            "engine": writer.engine,
            "wanted": int(of["wanted"].sum()),
            "rejected": int(of["rejected"].sum()),
            "cut_documents": of.filter(pl.col("shown") < pl.col("characters")).height,
            "without_evidence": asked["evidence"].null_count(),
            **session.finish(),
        },
    )

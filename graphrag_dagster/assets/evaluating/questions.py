"""Questions: the corpus's own, those that single documents answer, and those that invented people ask."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.catalogue.tasks import QUESTION_WRITER, TESTSET_WRITER
from graphrag_dagster.core.text.tokens import get_tokenizer
from graphrag_dagster.errors import EngineError
from graphrag_dagster.operations.evaluating.questions import asks_personas, questions_of
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
from graphrag_dagster.tables import (
    CORPUS_DESCRIPTIONS,
    DOCUMENTS,
    ENTITIES,
    PERSONA_QUESTIONS,
    PERSONA_TASKS,
    PERSONAS,
    QUESTIONS,
    TESTSET_DOCUMENTS,
    TESTSET_QUESTIONS,
    TEXT_CHUNKS,
)

_WRITTEN = (CORPUS_DESCRIPTIONS, PERSONAS, PERSONA_TASKS, PERSONA_QUESTIONS)
_MOST_THEMES = 40


@table_assets(
    _WRITTEN,
    ins=ins_of(TEXT_CHUNKS, ENTITIES),
    pool="llm",
)
def written_questions(
    context: AssetExecutionContext,
    text_chunks: pl.DataFrame,
    entities: pl.DataFrame,
    corpora: CorpusStore,
    language: Language,
) -> Iterator[Output[pl.DataFrame]]:
    """Personas, their tasks and their questions of the whole corpus, from its description (paper §4.1.2)."""
    # What evaluates is loaded where it does: few runs evaluate.
    from graphrag_dagster.core.evaluation.questions.describing import described
    from graphrag_dagster.core.evaluation.questions.personas import write_questions
    from graphrag_dagster.core.evaluation.questions.question_rows import written

    corpus = context.partition_key
    settings = corpora.settings(corpus)
    own = settings.questions
    if not asks_personas(own, questions_of(corpora.folder(corpus), own)):
        yield from (output(table, table.empty(), written=False) for table in _WRITTEN)
        return
    session = language.session(context, "written_questions")
    themes = entities.sort(["degree", "title"], descending=[True, False])["title"].head(_MOST_THEMES)
    session.themes = themes.to_list()
    writer = session.task(QUESTION_WRITER)
    about = described(writer, settings.description, text_chunks, own.sampled_units)
    made = write_questions(
        writer,
        about.text,
        personas=own.personas,
        tasks=own.tasks,
        questions=own.per_task,
        oversample=own.oversample,
        embed=session.embedder().embed_queries if own.oversample > 1 else None,
    )
    rows = (about.rows(writer.engine, made.usage.repaired), *written(made, writer.engine))
    used = session.finish()
    for table, frame in zip(_WRITTEN, rows, strict=True):
        shown: dict[str, object] = {"engine": writer.engine, "written": True}
        if table is PERSONA_QUESTIONS:
            shown |= {"problems": "; ".join(made.problems) or "none", **used}
        yield output(table, table.frame(frame), **shown)


@table_assets(
    (TESTSET_DOCUMENTS, TESTSET_QUESTIONS),
    ins=ins_of(DOCUMENTS),
    pool="llm",
)
def testset(
    context: AssetExecutionContext, documents: pl.DataFrame, corpora: CorpusStore, language: Language
) -> Iterator[Output[pl.DataFrame]]:
    """Questions with reference answers, each written from one of a sample of documents."""
    from graphrag_dagster.core.evaluation.questions.testset import sampled, write_testset

    settings = corpora.settings(context.partition_key)
    own = settings.questions.testset
    if not own.enabled:
        yield from (output(one, one.empty(), written=False) for one in (TESTSET_DOCUMENTS, TESTSET_QUESTIONS))
        return
    session = language.session(context, "testset")
    writer = session.task(TESTSET_WRITER)
    if writer is None:
        raise EngineError("questions.testset needs a model; set questions.engine: llm")
    tokenizer = get_tokenizer(settings.text_units.encoding)
    made = write_testset(
        writer,
        sampled(documents, own.documents, own.seed),
        own.per_document,
        lambda text: tokenizer.truncate(text, own.context_tokens),
    )
    of = TESTSET_DOCUMENTS.frame(made.documents)
    yield output(
        TESTSET_DOCUMENTS,
        of,
        written=True,
        wanted=int(of["wanted"].sum()),
        rejected=int(of["rejected"].sum()),
        cut=of.filter(pl.col("shown") < pl.col("characters")).height,
    )
    asked = TESTSET_QUESTIONS.frame(made.questions)
    without = asked["evidence"].null_count()
    yield output(TESTSET_QUESTIONS, asked, engine=writer.engine, without_evidence=without, **session.finish())


@table_asset(
    QUESTIONS,
    ins=ins_of(TESTSET_DOCUMENTS, TESTSET_QUESTIONS, PERSONA_QUESTIONS, PERSONA_TASKS, PERSONAS),
)
def questions(
    context: AssetExecutionContext,
    testset_documents: pl.DataFrame,
    testset_questions: pl.DataFrame,
    persona_questions: pl.DataFrame,
    persona_tasks: pl.DataFrame,
    personas: pl.DataFrame,
    corpora: CorpusStore,
) -> Output[pl.DataFrame]:
    """All questions that are answered: the corpus's own, the testset, then the written ones."""
    from graphrag_dagster.core.evaluation.questions.question_rows import listed, references

    corpus = context.partition_key
    own = questions_of(corpora.folder(corpus), corpora.settings(corpus).questions)
    frame = QUESTIONS.frame(
        listed(
            [
                *((one.text, one.origin, one.reference) for one in own),
                *references(testset_documents, testset_questions),
            ],
            persona_questions,
            persona_tasks,
            personas,
        )
    )
    return result(
        frame, **counts(frame, "origin"), with_reference=int(frame["reference"].is_not_null().sum())
    )

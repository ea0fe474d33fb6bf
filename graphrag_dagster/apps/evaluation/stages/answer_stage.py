"""The stage of answers: the corpus's questions, answered by the chosen search methods."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from pydantic import Field, TypeAdapter, ValidationError

from graphrag_dagster.apps.evaluation.questions.answer_tables import (
    ANSWER_CITATIONS,
    ANSWER_CONTEXTS,
    ANSWER_COSTS,
    ANSWER_STATEMENTS,
    ANSWERS,
)
from graphrag_dagster.apps.evaluation.questions.question_tables import QUESTIONS
from graphrag_dagster.apps.evaluation.settings import QuestionSettings
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.pipeline.result_display import counts
from graphrag_dagster.kernel.pipeline.step_declaration import Made, StepRun
from graphrag_dagster.kernel.questions.answer_rows import AnswerRows, answer_id_of, still_valid_ids
from graphrag_dagster.kernel.questions.corpus_index import CorpusIndex
from graphrag_dagster.kernel.questions.document_filters import ALL, Filters
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.questions.searcher import answer_all
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, deciding_models
from graphrag_dagster.kernel.tables.table_declaration import Table, Tables
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider


@dataclass(frozen=True, slots=True)
class ListAnswers:
    """The answers to a list of questions.

    Attributes:
        frames: rows of each of the tables of answers.
        kept: how many answers are from before.
        seconds: that the others took, added up.
    """

    frames: Mapping[Table, pl.DataFrame]
    kept: int
    seconds: float


def answer_list(
    questions: pl.DataFrame,
    known: Mapping[Table, pl.DataFrame | None],
    index: CorpusIndex,
    session: TaskProvider,
    options: str,
    filters: Filters,
) -> ListAnswers:
    """Answer every question with every method of ``questions.methods``, but for what is still good.

    Args:
        questions: rows of ``questions.questions``.
        known: the tables ``answers``, ``answer_costs``, ``answer_contexts``, ``answer_citations`` and
            ``answer_statements``, in this order, with the rows from before, None where there are none.
        index: what is asked.
        session: the engines.
        options: hash of what decides an answer beside the index.
        filters: which documents to answer from.

    Raises:
        GraphragError: of the first question that cannot be answered.
    """
    asked = [
        (position, question, method)
        for position, question in questions.sort("position").select("position", "question").iter_rows()
        for method in session.settings.section(QuestionSettings).methods
    ]
    made = AnswerRows(index.version, options)
    kept = still_valid_ids(
        known[ANSWERS],
        (answer_id_of(question, method) for _, question, method in asked),
        made.snapshot,
        made.options,
    )
    good = set(kept)
    missing = [one for one in asked if answer_id_of(one[1], one[2]) not in good]
    asking = [Question(question, method, filters=filters) for _, question, method in missing]
    answered = answer_all(index.searcher, session, asking, concurrent_answers(session.settings))
    seconds = 0.0
    for (position, question, method), answer in zip(missing, answered, strict=True):
        made.add(position, question, method, answer, session.usd_of("answer", answer.usage))
        seconds += answer.seconds or 0.0
    frames = {
        table: _join_answers(table, known[table], kept, table.frame(rows))
        for table, rows in zip(known, made.rows(), strict=True)
    }
    return ListAnswers(frames, len(kept), seconds)


def concurrent_answers(settings: CorpusSettings) -> int:
    """Questions that are under way at the same time: as many as the endpoint takes; without a model one."""
    return settings.model.for_role("answer").concurrency if settings.asks_model("search") else 1


def _join_answers(
    table: Table, known: pl.DataFrame | None, kept: list[str], made: pl.DataFrame
) -> pl.DataFrame:
    if known is None or not kept:
        return made
    return pl.concat([known.filter(pl.col("answer_id").is_in(kept)), made]).sort(table.key)


_FILTERS = TypeAdapter(Filters)


class ListFilters(Resource):
    """Restricts the answers of a run to some documents."""

    given: dict[str, Any] = Field(
        default_factory=dict,
        description="documents, folders, date_from, date_to, where and soft, as a question takes them; "
        "default: all documents",
    )

    @property
    def filters(self) -> Filters:
        """The filters of this run.

        Raises:
            QuestionError: there is no such filter, or it cannot have that value.
        """
        try:
            return _FILTERS.validate_python(self.given)
        except ValidationError as error:
            first = error.errors()[0]
            raise QuestionError(f"filters.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


#: Of the settings, whose engines answer.
_SECTIONS = ("search", "coterag", "paths")
#: What else decides answers.
_READ = ("cypher", "embeddings", "text_units")
TABLES = (ANSWERS, ANSWER_COSTS, ANSWER_CONTEXTS, ANSWER_CITATIONS, ANSWER_STATEMENTS)


def answers(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Every question by every search method; reuses answers of earlier runs that still hold.

    From Local to Global, §4.1.
    """
    # What answering needs is much, and only this stage needs it.
    from graphrag_dagster.kernel.questions.corpus_index import CorpusIndex

    index = CorpusIndex.open(run.corpus, corpora=run.corpora, warehouse=run.warehouse)
    session, asked_of = run.session("answers"), run.resource(ListFilters).filters
    known = {table: run.before(table) for table in TABLES}
    made = answer_list(tables[QUESTIONS], known, index, session, options_hash(session, asked_of), asked_of)
    for table, frame in made.frames.items():
        shown = {}
        if table is ANSWERS:
            shown = {
                **counts(frame, "method"),
                "kept": made.kept,
                "refused": int(frame["refused"].sum()),
                "partly_supported_statements": int(frame["partly_supported"].sum()),
                "unsupported_statements": int(frame["unsupported"].sum()),
                "removed_citations": int(frame["removed_citations"].sum()),
                "answering_seconds": round(made.seconds, 3),
                **session.finish(),
            }
        yield Made(table, frame, shown)


def options_hash(session: TaskProvider, filters: Filters = ALL) -> str:
    """Hash of the settings that decide an answer, the reranker's model, and the documents that are meant."""
    settings, reranker = session.settings, session.reranker()
    deciding = {name: own for name, one in settings.sections().items() if (own := one.deciding_answers())}
    told = settings.model_dump_json(include={"engine", *_SECTIONS, *_READ} - set(deciding))
    return stable_id(
        "options",
        told,
        *(one for name, own in deciding.items() for one in (settings.engine_of(name), own)),
        *deciding_models(settings, _SECTIONS),
        reranker.name if reranker else "",
        json.dumps(filters.to_dict()),
        code_version("answers"),
    )

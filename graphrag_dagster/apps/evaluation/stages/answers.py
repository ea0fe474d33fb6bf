"""Answers to the corpus's list of questions, with the chosen search methods."""

import json
from collections.abc import Iterator

from graphrag_dagster.apps.evaluation.tables.questions import QUESTIONS
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.pipeline.display import counts
from graphrag_dagster.kernel.pipeline.orchestration.versions import code_version
from graphrag_dagster.kernel.pipeline.step import Made, StepRun, Tables
from graphrag_dagster.kernel.questions.filters import ALL, Filters
from graphrag_dagster.kernel.settings.corpus import deciding_models
from graphrag_dagster.kernel.settings.section import Section
from graphrag_dagster.kernel.tables import (
    ANSWER_CITATIONS,
    ANSWER_CONTEXTS,
    ANSWER_COSTS,
    ANSWER_STATEMENTS,
    ANSWERS,
)
from graphrag_dagster.kernel.tasks.session import Session

#: Of the settings, whose engines answer.
_SECTIONS = ("search", "coterag", "paths")
#: What else decides answers.
_READ = ("cypher", "embeddings", "text_units")
TABLES = (ANSWERS, ANSWER_COSTS, ANSWER_CONTEXTS, ANSWER_CITATIONS, ANSWER_STATEMENTS)


def answers(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Every question by every search method (paper §4.1); reuses answers of earlier runs that still hold."""
    # What answering needs is much, and only this stage needs it.
    from graphrag_dagster.apps.evaluation.questions.answer_list import ListFilters, answer_list
    from graphrag_dagster.kernel.questions.asking.index import Index

    index = Index.open(run.corpus, corpora=run.corpora, warehouse=run.warehouse)
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


def options_hash(session: Session, filters: Filters = ALL) -> str:
    """Hash of the settings that decide an answer, the reranker's model, and the documents that are meant."""
    settings, reranker = session.settings, session.reranker()
    deciding = {
        name: own
        for name in type(settings).model_fields
        if isinstance(section := getattr(settings, name), Section) and (own := section.deciding_answers())
    }
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

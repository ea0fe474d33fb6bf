"""Answers to the corpus's list of questions, in the chosen ways."""

import json
from collections.abc import Collection, Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.assets.indexing.publishing import published_snapshot
from graphrag_dagster.catalogue.registry import tasks
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.search.filters import ALL, Filters
from graphrag_dagster.engines.session import Session
from graphrag_dagster.operations.asking.list_filters import ListFilters
from graphrag_dagster.orchestration.declare import counts, ins_of, output, table_assets
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.tables import (
    ANSWER_CITATIONS,
    ANSWER_CONTEXTS,
    ANSWER_COSTS,
    ANSWER_STATEMENTS,
    ANSWERS,
    QUESTIONS,
)

#: Of the settings, whose engines answer.
_SECTIONS = ("search", "coterag", "paths")
#: What else decides answers.
_READ = ("cypher", "embeddings", "text_units")
_DECIDING = {
    "base_url",
    "name",
    "temperature",
    "top_p",
    "seed",
    "reasoning",
    "extra_body",
    "replies",
    "namespace",
}
_TABLES = (ANSWERS, ANSWER_COSTS, ANSWER_CONTEXTS, ANSWER_CITATIONS, ANSWER_STATEMENTS)


@table_assets(
    _TABLES,
    ins=ins_of(QUESTIONS),
    deps=[published_snapshot],
    pool="llm",
)
def answers(
    context: AssetExecutionContext,
    questions: pl.DataFrame,
    corpora: CorpusStore,
    language: Language,
    warehouse: Warehouse,
    filters: ListFilters,
) -> Iterator[Output[pl.DataFrame]]:
    """Every question in every chosen way (paper §4.1); what is still good from an earlier run is kept."""
    # What answering needs is much, and only this asset needs it.
    from graphrag_dagster.operations.asking.index import Index
    from graphrag_dagster.operations.asking.question_list import answer_list

    corpus = context.partition_key
    index = Index.open(corpus, corpora=corpora, warehouse=warehouse)
    session = language.session(context, "answers")
    known = {table: warehouse.read_if_present(table, corpus) for table in _TABLES}
    asked_of = filters.filters
    options = options_hash(session, asked_of)
    made = answer_list(questions, known, index, session, options, asked_of)
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
        yield output(table, frame, **shown)


def options_hash(session: Session, filters: Filters = ALL) -> str:
    """Hash of the settings that decide an answer, the reranker's model, and the documents that are meant."""
    settings, reranker = session.settings, session.reranker()
    # Of the section paths, what concerns questions with gold answers decides none of these.
    told = settings.model_dump_json(include={"engine", *_SECTIONS, *_READ} - {"paths"})
    return stable_id(
        "options",
        told,
        settings.engine_of("paths"),
        settings.paths.asked,
        *deciding_models(settings, _SECTIONS),
        reranker.name if reranker else "",
        json.dumps(filters.to_dict()),
        code_version("answers"),
    )


def deciding_models(settings: CorpusSettings, sections: Collection[str]) -> list[str]:
    """Return what of the models decides replies, for each role that tasks of some sections have."""
    roles = sorted({task.role for task in tasks().values() if task.section in sections})
    return [settings.model.for_role(role).model_dump_json(include=_DECIDING) for role in roles]

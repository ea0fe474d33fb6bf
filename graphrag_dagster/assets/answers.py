"""Answers to the corpus's list of questions, in the chosen ways."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.assets.declare import code_version, counts, output, table_assets
from graphrag_dagster.assets.publishing import published_snapshot
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.progress import stage
from graphrag_dagster.core.search.records import AnswerRows, answer_id_of, still_good
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.questions import questions_of
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.tables import ANSWER_CITATIONS, ANSWER_CONTEXTS, ANSWERS, Table

_TABLES = (ANSWERS, ANSWER_CONTEXTS, ANSWER_CITATIONS)


@table_assets(
    _TABLES,
    "core/search",
    "core/language",
    "prompts",
    deps=[published_snapshot],
    pool="llm",
)
def answers(
    context: AssetExecutionContext, corpora: CorpusStore, language: Language, warehouse: Warehouse
) -> Iterator[Output[pl.DataFrame]]:
    """Every question in every chosen way (paper §4.1); what is still good from an earlier run is kept."""
    # What answering needs is much, and only this asset needs it.
    from graphrag_dagster.resources.index import Index, SessionEngines

    corpus = context.partition_key
    settings = corpora.settings(corpus)
    index = Index.open(corpus, corpora=corpora, warehouse=warehouse)
    session = language.session(settings, corpus=corpus, asset="answers", run_id=context.run_id)
    engines = SessionEngines(session)
    asked = [
        (position, question, method)
        for position, question in enumerate(questions_of(corpora.folder(corpus), settings.questions))
        for method in settings.questions.methods
    ]
    made = AnswerRows(index.version, options_hash(settings))
    known = {table.name: warehouse.read_if_present(table, corpus) for table in _TABLES}
    kept = still_good(
        known[ANSWERS.name],
        (answer_id_of(question, method) for _, question, method in asked),
        made.snapshot,
        made.options,
    )
    missing = [one for one in asked if answer_id_of(one[1], one[2]) not in set(kept)]
    seconds = 0.0
    with stage("Answering questions", len(missing)) as running:
        for position, question, method in missing:
            answer = index.searcher.answer(question, engines, method=method)
            made.add(position, question, method, answer)
            seconds += answer.seconds or 0.0
            running.advance()
    for table, rows in zip(_TABLES, made.rows(), strict=True):
        frame = _joined(table, known[table.name], kept, table.frame(rows))
        shown = {}
        if table is ANSWERS:
            shown = {
                **counts(frame, "method"),
                "kept": len(kept),
                "refused": int(frame["refused"].sum()),
                "unsupported_statements": int(frame["unsupported"].sum()),
                "removed_citations": int(frame["removed_citations"].sum()),
                "answering_seconds": round(seconds, 3),
                **session.finish(),
            }
        yield output(table, frame, **shown)


def _joined(table: Table, known: pl.DataFrame | None, kept: list[str], made: pl.DataFrame) -> pl.DataFrame:
    if known is None or not kept:
        return made
    return pl.concat([known.filter(pl.col("answer_id").is_in(kept)), made]).sort(table.key)


def options_hash(settings: CorpusSettings) -> str:
    """Hash of the settings that decide an answer."""
    told = settings.model_dump_json(include={"engine", "search", "embeddings", "model", "text_units"})
    return stable_id("options", told, code_version("core/search", "core/language", "prompts"))

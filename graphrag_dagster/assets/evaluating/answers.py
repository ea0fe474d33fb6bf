"""Answers to the corpus's list of questions, in the chosen ways."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.assets.indexing.publishing import published_snapshot
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.search.many import answer_all
from graphrag_dagster.core.search.records import AnswerRows, answer_id_of, still_good
from graphrag_dagster.orchestration.declare import code_version, counts, ins_of, output, table_assets
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.tables import (
    ANSWER_CITATIONS,
    ANSWER_CONTEXTS,
    ANSWER_COSTS,
    ANSWERS,
    QUESTIONS,
    Table,
)

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
_TABLES = (ANSWERS, ANSWER_COSTS, ANSWER_CONTEXTS, ANSWER_CITATIONS)


@table_assets(
    _TABLES,
    "core/search",
    "core/language",
    "core/wording.py",
    "prompts",
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
) -> Iterator[Output[pl.DataFrame]]:
    """Every question in every chosen way (paper §4.1); what is still good from an earlier run is kept."""
    # What answering needs is much, and only this asset needs it.
    from graphrag_dagster.operations.asking.index import Index, SessionEngines

    corpus = context.partition_key
    settings = corpora.settings(corpus)
    index = Index.open(corpus, corpora=corpora, warehouse=warehouse)
    session = language.session(settings, corpus=corpus, asset="answers", run_id=context.run_id)
    asked = [
        (position, question, method)
        for position, question in questions.sort("position").select("position", "question").iter_rows()
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
    at_once = settings.model.for_role("answer").concurrency if settings.asks_model("search") else 1
    answered = answer_all(index.searcher, SessionEngines(session), missing, at_once)
    seconds = 0.0
    for (position, question, method), answer in zip(missing, answered, strict=True):
        made.add(position, question, method, answer, session.usd_of("answer", answer.usage))
        seconds += answer.seconds or 0.0
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
    told = settings.model_dump_json(include={"engine", "search", "embeddings", "text_units"})
    # The judge rates reports for dynamic search; other tasks have no part in answers.
    models = [
        settings.model.for_role(task).model_dump_json(include=_DECIDING) for task in ("answer", "judge")
    ]
    return stable_id("options", told, *models, code_version("core/search", "core/language", "prompts"))

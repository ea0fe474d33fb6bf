"""The way of answering ``sql``: a template of a query, or one that a model writes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphrag_dagster.catalogue.tasks import QUERY_WRITER
from graphrag_dagster.core.language.answering import QueryWriter
from graphrag_dagster.core.search.context.answer import Answer, Call
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.queries import Found, Queries, Query, QueryError
from graphrag_dagster.core.search.methods.sql.composing import limited
from graphrag_dagster.core.search.methods.sql.recognising import Recognised, fits
from graphrag_dagster.core.search.methods.sql.suggesting import suggestions
from graphrag_dagster.core.search.methods.sql.telling import Line, Told, line_of, scalars, told, words_naming
from graphrag_dagster.core.search.methods.sql.writing import written
from graphrag_dagster.core.search.question import Search
from graphrag_dagster.core.search.scope.selecting import periods_in_index
from graphrag_dagster.core.text.evidence import Scalar, scalar_told
from graphrag_dagster.core.wording import counted
from graphrag_dagster.errors import QuestionError

#: Who answers where no model writes the query.
_BY_RULE = "extractive"
#: Columns that lead on to something, and say nothing themselves.
_LEADING = {
    "total",
    "undated",
    "text_unit_id",
    "entity_id",
    "document_id",
    "relationship_id",
    "claim_id",
    "community_id",
}
#: Rows beside which words of the documents are cited.
_QUOTED = 20


def sql(search: Search) -> Answer:
    """Answer a question by a query over the tables of the index, and show the query.

    The first template that the question has the form of makes the query. Where none fits, a model writes one
    if the options say so; else the answer is a refusal that says what can be asked.

    Raises:
        QuestionError: the index was opened without its file, or the answer is to be from some documents
            only.
        EndpointError: the model endpoint cannot be used.
    """
    if search.index.restricted:
        raise QuestionError(
            f"{search.way.name} queries the tables of the whole corpus and knows no filter; say the folder, "
            "file or period in the question itself, or ask in another way"
        )
    queries = search.index.queries
    if queries is None:
        raise QuestionError("the tables of this index cannot be queried: it was opened without its file")
    fit = fits(search.question.text, search.index)
    if fit.recognised:
        return _answered(search, fit.recognised, queries)
    if search.options.sql == "model" and (writer := search.engines.task(QUERY_WRITER)):
        return _by_model(search, writer, queries, fit.reason)
    return refusal(search, fit.reason)


def _answered(search: Search, recognised: Recognised, queries: Queries) -> Answer:
    if missing := _missing(recognised, search.index):
        return refusal(search, missing)
    query, template = recognised.query, recognised.template
    try:
        found = queries.run(query, recognised.most)
    except QueryError as error:
        return refusal(search, str(error), query)
    lines = [_line(row, place, recognised, search.index) for place, row in enumerate(found.rows, start=1)]
    total = int(found.rows[0]["total"]) if found.rows else 0
    text = told(query.reading, lines, total, ranks=template.ranks, groups=not template.table)
    if undated := _undated(found, recognised, search.index):
        text.paragraphs += ["", f"{counted(undated, 'other document has', 'other documents have')} no date."]
    why = "; ".join(recognised.filled.guessed) or None
    return replace(_answer(search, query, text), why=why, steps=(Call("query", template.name),))


def _undated(found: Found, recognised: Recognised, index: IndexSnapshot) -> int:
    """How many documents are left out for want of a period, where days count."""
    if not recognised.dated:
        return 0
    if recognised.template.dated and found.rows:
        return int(found.rows[0]["undated"])
    return len(index.documents) - index.once(periods_in_index)["document_id"].n_unique()


def _line(row: Mapping[str, Any], place: int, recognised: Recognised, index: IndexSnapshot) -> Line:
    template, words = recognised.template, recognised.filled.words
    values = scalars({name: value for name, value in row.items() if name not in _LEADING})
    shown = {name: scalar_told(value) for name, value in values.items()}
    if measure := words.get("measure"):
        shown["measure"] = f"{shown[measure]} {measure.replace('_', ' ')}"
    names = recognised.filled.entities if template.quotes and place <= _QUOTED else ()
    return line_of(
        template.item.format(**shown),
        values,
        place,
        of=(template.table, str(row[template.key])) if template.table else None,
        words=tuple(words_naming(index, names, row["text_unit_id"])) if names else (),
    )


def _by_model(search: Search, writer: QueryWriter, queries: Queries, reason: str) -> Answer:
    made = written(search, writer, queries)
    if made.query is None:
        answer = refusal(search, f"{reason}; no query that the model wrote could be run")
    else:
        rows = [scalars(row) for row in made.found.rows]
        lines = [line_of(_told(row), row, place) for place, row in enumerate(rows, start=1)]
        text = told(made.query.reading, lines, len(rows), groups=True)
        if made.found.more:
            text.paragraphs += ["", f"There are more than these {len(rows):,} rows."]
        answer = replace(_answer(search, made.query, text), why=f"a model wrote the query: {reason}")
    return replace(answer, engine=writer.engine, problems=made.problems, steps=made.calls, usage=made.usage)


def _told(row: Mapping[str, Scalar]) -> str:
    values = {name: scalar_told(value) for name, value in row.items()}
    return next(iter(values.values())) if len(values) == 1 else ", ".join(map(": ".join, values.items()))


def _answer(search: Search, query: Query, text: Told) -> Answer:
    return Answer(
        search.question.text,
        search.way.name,
        None,
        text.text,
        _BY_RULE,
        sources=tuple(text.sources),
        statements=tuple(text.statements),
        query=query,
    )


def _missing(recognised: Recognised, index: IndexSnapshot) -> str | None:
    """Why a template has nothing to count, where its table was not made."""
    claims = index.claims is None or index.claims.is_empty()
    if "graph.claims" in recognised.template.sql and claims:
        return "this index has no claims: set claims.enabled in corpus.yaml and index again"
    if limited(recognised.template) and (index.periods is None or index.metadata is None):
        return "this index does not tell documents apart by their dates and columns: index again"
    return None


def refusal(search: Search, reason: str, query: Query | None = None) -> Answer:
    """Return that a question has no answer by a query, why, and what can be asked of this corpus."""
    text = "No query over the tables answers this question."
    if known := suggestions(search.index):
        text += f" Questions such as these can be asked: {' · '.join(known)}"
    return Answer(
        search.question.text, search.way.name, None, text, _BY_RULE, refused=True, why=reason, query=query
    )

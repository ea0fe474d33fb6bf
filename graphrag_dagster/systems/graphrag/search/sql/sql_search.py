"""The search method ``sql``: a query template, or a query that a model writes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import polars as pl

from graphrag_dagster.errors import QueryError, QuestionError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.answer import Answer, Call, Source, Statement
from graphrag_dagster.kernel.questions.context.context_units import spans_of
from graphrag_dagster.kernel.questions.context.index_snapshot import MOST_ROWS, IndexSnapshot, Queries
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.retrieval.search_words import words as words_of
from graphrag_dagster.kernel.storage.queries import Query, QueryRows
from graphrag_dagster.kernel.tasks.answering_ports import FailedQuery, QueryWriter
from graphrag_dagster.kernel.text.evidence import Evidence, Row, Scalar, format_scalar
from graphrag_dagster.systems.graphrag.search.sql.template_matching import Recognised, match_question
from graphrag_dagster.systems.graphrag.search.sql.template_slots import properties
from graphrag_dagster.systems.graphrag.tasks import QUERY_WRITER

#: Table of a row that is none of a table of the index.
RESULT = "query"
_KIND = "row"

#: What reads as a mark of a source where it stands in a value.
_MARK = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class ResultLine:
    """A row as the answer tells it: the line, and what it rests on, the row first."""

    text: str
    record_id: str
    title: str
    evidence: tuple[Evidence, ...]


@dataclass(slots=True)
class ResultText:
    """An answer as it is written line by line; a line cites what it rests on."""

    paragraphs: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The answer."""
        return "\n".join(self.paragraphs)

    def add(self, line: ResultLine, *, listed: bool) -> None:
        """Write a line with the numbers of its sources."""
        first = len(self.sources) + 1
        self.sources += [
            Source(number, _KIND, line.record_id, line.title, evidence=one, similarity=1.0)
            for number, one in enumerate(line.evidence, start=first)
        ]
        numbers = tuple(range(first, len(self.sources) + 1))
        said = _MARK.sub(r"(\1)", line.text)
        marks = "".join(f"[{number}]" for number in numbers)
        self.paragraphs.append(f"{'- ' if listed else ''}{said} {marks}")
        # A line is made of the row that it cites.
        self.statements.append(Statement(said, numbers, 1.0, "supported", 1.0))


def result_text(
    reading: str, lines: Sequence[ResultLine], total: int, *, ranks: bool = False, groups: bool = False
) -> ResultText:
    """Return an answer.

    Args:
        reading: how the question was read.
        lines: the rows that are shown.
        total: how many rows there are.
        ranks: it was asked for the first rows, not for how many there are.
        groups: the rows are groups or values, of which the number says nothing.
    """
    answer = ResultText()
    if groups and lines:
        answer.paragraphs.append(f"{reading}:")
    else:
        number = f"{len(lines):,} of {total:,}" if ranks else f"{total:,}"
        result = Row(RESULT, "total", reading, {"rows": total, "shown": len(lines)})
        answer.add(ResultLine(f"{reading}: {number}", "total", reading, (result,)), listed=False)
    if lines:
        answer.paragraphs.append("")
    for line in lines:
        answer.add(line, listed=True)
    if lines and len(lines) < total and not ranks:
        answer.paragraphs += ["", f"The first {len(lines):,} of {total:,} rows are listed."]
    return answer


def line_of(
    text: str,
    values: Mapping[str, Scalar],
    place: int,
    *,
    of: tuple[str, str] | None = None,
    words: Sequence[Evidence] = (),
) -> ResultLine:
    """Return a row as a line of an answer.

    Args:
        text: the line.
        values: the columns that are shown.
        place: of the row, 1…
        of: whose row it is, table and key; None for one of the query's result alone.
        words: evidence beside the row.
    """
    table, key = of or (RESULT, str(place))
    title = format_scalar(values.get("title", values.get("group", f"row {place}")))
    return ResultLine(" ".join(text.split()), key, title, (Row(table, key, title, values), *words))


def words_naming(index: IndexSnapshot, names: Sequence[str], unit_id: str) -> Iterator[Evidence]:
    """Yield the first sentence of a text unit that holds all of the words, else for each its first."""
    sentences = [(span, _padded(text)) for span, text in spans_of(index, unit_id)]
    wanted = [_padded(name) for name in names]
    together = [span for span, text in sentences if all(name in text for name in wanted)]
    each = (next((span for span, text in sentences if name in text), None) for name in wanted)
    for span in together[:1] or dict.fromkeys(filter(None, each)):
        yield index.passages[unit_id].words(span.start, span.end)


def _padded(text: str) -> str:
    return f" {' '.join(words_of(text))} "


def scalars(row: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return the values of a row as JSON and people can have them."""
    return {name: value if isinstance(value, Scalar) else str(value) for name, value in row.items()}


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
            f"{search.method.name} queries the tables of the whole corpus and supports no filter; name the "
            "folder, file or period in the question, or use another search method"
        )
    queries = search.index.queries
    if queries is None:
        raise QuestionError("the tables of this index cannot be queried: it was opened without its file")
    fit = match_question(search.question.text, search.index)
    if fit.recognised:
        return _answer_by_query(search, fit.recognised, queries)
    if search.options.sql == "model" and (writer := search.engines.task(QUERY_WRITER)):
        return _by_model(search, writer, queries, fit.reason)
    return refusal(search, fit.reason)


def _answer_by_query(search: Search, recognised: Recognised, queries: Queries) -> Answer:
    query, template = recognised.query, recognised.template
    try:
        found = queries.run(query, recognised.most)
    except QueryError as error:
        return refusal(search, str(error), query)
    lines = [_line(row, place, recognised, search.index) for place, row in enumerate(found.rows, start=1)]
    total = int(found.rows[0]["total"]) if found.rows else 0
    text = result_text(query.reading, lines, total, ranks=template.ranks, groups=not template.table)
    if undated := _count_undated(found, recognised, search.index):
        text.paragraphs += ["", f"{plural(undated, 'other document has', 'other documents have')} no date."]
    why = "; ".join(recognised.filled.guessed) or None
    return replace(_answer(search, query, text), why=why, steps=(Call("query", template.name),))


def _count_undated(found: QueryRows, recognised: Recognised, index: IndexSnapshot) -> int:
    """Number of documents without a period, left out where dates matter."""
    if not recognised.dated:
        return 0
    if recognised.template.dated and found.rows:
        return int(found.rows[0]["undated"])
    return len(index.documents) - index.periods["document_id"].n_unique()


def _line(row: Mapping[str, Any], place: int, recognised: Recognised, index: IndexSnapshot) -> ResultLine:
    template, words = recognised.template, recognised.filled.words
    values = scalars({name: value for name, value in row.items() if name not in _LEADING})
    shown = {name: format_scalar(value) for name, value in values.items()}
    if measure := words.get("measure"):
        shown["measure"] = f"{shown[measure]} {measure.replace('_', ' ')}"
    names = recognised.filled.entities if row.get("text_unit_id") and place <= _QUOTED else ()
    return line_of(
        template.item.format(**shown),
        values,
        place,
        of=(template.table, str(row[template.key])) if template.table else None,
        words=tuple(words_naming(index, names, row["text_unit_id"])) if names else (),
    )


def _by_model(search: Search, writer: QueryWriter, queries: Queries, reason: str) -> Answer:
    made = write_query(search, writer, queries)
    if made.query is None:
        answer = refusal(search, f"{reason}; no query that the model wrote could be run")
    else:
        rows = [scalars(row) for row in made.found.rows]
        lines = [line_of(_row_text(row), row, place) for place, row in enumerate(rows, start=1)]
        text = result_text(made.query.reading, lines, len(rows), groups=True)
        if made.found.more:
            text.paragraphs += ["", f"There are more than these {len(rows):,} rows."]
        answer = replace(_answer(search, made.query, text), why=f"a model wrote the query: {reason}")
    return replace(answer, engine=writer.engine, problems=made.problems, steps=made.calls, usage=made.usage)


def _row_text(row: Mapping[str, Scalar]) -> str:
    values = {name: format_scalar(value) for name, value in row.items()}
    return next(iter(values.values())) if len(values) == 1 else ", ".join(map(": ".join, values.items()))


def _answer(search: Search, query: Query, text: ResultText) -> Answer:
    return Answer(
        search.question.text,
        search.method.name,
        None,
        text.text,
        _BY_RULE,
        sources=tuple(text.sources),
        statements=tuple(text.statements),
        query=query,
    )


def refusal(search: Search, reason: str, query: Query | None = None) -> Answer:
    """Return that a question has no answer by a query, why, and what can be asked of this corpus."""
    text = "No query over the tables answers this question."
    if known := suggestions(search.index):
        text += f" Questions such as these can be asked: {' · '.join(known)}"
    return Answer(
        search.question.text, search.method.name, None, text, _BY_RULE, refused=True, why=reason, query=query
    )


#: Tries after the first.
_MENDED = 2
#: What a query that a model wrote may read.
READABLE = (
    "corpus.documents",
    "corpus.document_metadata",
    "corpus.document_periods",
    "corpus.text_chunks",
    "graph.entities",
    "graph.relationships",
    "graph.claims",
    "graph.communities",
    "graph.community_members",
    "graph.community_levels",
    "reports.community_reports",
)


@dataclass(frozen=True, slots=True)
class QueryAttempt:
    """What came of asking a model for a query: it and what it gave, None where nothing could be run.

    ``problems`` says of each query that failed why, ``calls`` what was asked.
    """

    query: Query | None
    found: QueryRows
    problems: tuple[str, ...]
    calls: tuple[Call, ...]
    usage: Usage


def write_query(search: Search, writer: QueryWriter, queries: Queries) -> QueryAttempt:
    """Have a model write a query, run it, and have it mended up to two times.

    What the database says of a query goes back to the model; what a query gives does not.

    Raises:
        EndpointError: the model endpoint cannot be used.
    """
    types = "\n".join(sorted(search.index.entities["type"].unique()))
    failed: list[FailedQuery] = []
    problems: list[str] = []
    calls: list[Call] = []
    usage = Usage()
    columns = queries.columns(READABLE)
    while len(failed) <= _MENDED:
        one = writer.write(search.question.text, columns, types, failed)
        usage += one.usage
        calls.append(Call("write_sql", one.reading or "no query", used=bool(one.text), problem=one.problem))
        if not one.text:
            return QueryAttempt(
                None, QueryRows(()), (*problems, one.problem or "no query"), tuple(calls), usage
            )
        query = Query(None, one.reading, one.text)
        try:
            found = queries.run(query, MOST_ROWS, READABLE)
        except QueryError as error:
            failed.append(FailedQuery(one.text, str(error)))
            problems.append(f"{' '.join(one.text.split())}: {' '.join(str(error).split())}")
            calls[-1] = replace(calls[-1], used=False, problem=str(error))
            continue
        return QueryAttempt(query, found, tuple(problems), tuple(calls), usage)
    return QueryAttempt(None, QueryRows(()), tuple(problems), tuple(calls), usage)


_MOST = 6
#: Names and types that are tried, and the longest that is shown.
_TRIED, _LONGEST = 5, 40
_PLURALS = {"person": "people", "man": "men", "woman": "women"}
_ES = ("s", "x", "z", "ch", "sh")


def suggestions(index: IndexSnapshot) -> tuple[str, ...]:
    """Return up to six questions that queries over the tables of this corpus answer, each of another form."""
    return index.once(_suggestions)


def _suggestions(index: IndexSnapshot) -> tuple[str, ...]:
    known = (
        next((one for one in form if match_question(one, index).score == 1), None)
        for form in _question_forms(index)
    )
    return tuple(islice(filter(None, known), _MOST))


def _question_forms(index: IndexSnapshot) -> Iterator[list[str]]:
    """Questions by form, the likeliest to be understood first; forms of what the corpus lacks are empty."""
    titles, types = _titles(index), _types(index)
    numeric = [one.key for one in properties(index) if one.numeric and len(one.key) <= _LONGEST]
    grouping = [one.key for one in properties(index) if not one.numeric and len(one.key) <= _LONGEST]
    dated = not index.periods.is_empty()
    yield [f"How many {one} are there?" for one in types]
    yield [f"How many documents mention {one}?" for one in titles]
    yield [f"Which 5 {one} are most connected?" for one in types]
    yield [f"What is the highest {one}?" for one in numeric]
    yield [f"When was {one} first mentioned?" for one in titles if dated]
    yield [f"How many documents are there by {one}?" for one in grouping]
    yield [f"Who is connected with {one}?" for one in titles]
    yield ["How many documents are there by year?"] if dated else []
    yield ["How many documents are there?"]
    yield ["How many relationships are there?"] if len(index.relationships) else []


def _titles(index: IndexSnapshot) -> list[str]:
    """Names of the entities with the most connections."""
    short = pl.col("title").str.len_chars().is_between(1, _LONGEST) & ~pl.col("title").str.contains(
        r"[?!;\n]"
    )
    ordered = index.entities.filter(short).sort(["degree", "title"], descending=[True, False])
    titles: list[str] = ordered["title"].head(_TRIED).to_list()
    return titles


def _types(index: IndexSnapshot) -> list[str]:
    """Types of the entities in the plural, the commonest first."""
    counts = index.entities.filter(pl.col("type") != "")["type"].value_counts(name="many")
    ordered = counts.sort(["many", "type"], descending=[True, False])["type"].head(_TRIED)
    return [_plural(one) for one in ordered if len(one) <= _LONGEST]


def _plural(kind: str) -> str:
    *before, last = kind.lower().replace("_", " ").split() or [""]
    if last in _PLURALS:
        last = _PLURALS[last]
    elif last.endswith("y") and last[-2:-1] not in "aeiou":
        last = f"{last[:-1]}ies"
    elif last.endswith(_ES):
        last += "es"
    else:
        last += "s"
    return " ".join([*before, last])

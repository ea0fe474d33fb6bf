"""Queries that a model writes for questions that no template fits: run in the sandbox, and mended."""

from dataclasses import dataclass, replace

from graphrag_dagster.core.language.answering import FailedQuery, QueryWriter
from graphrag_dagster.core.language.tasks import Usage
from graphrag_dagster.core.search.context.answer import Call
from graphrag_dagster.core.search.context.queries import MOST_ROWS, Found, Queries, Query, QueryError
from graphrag_dagster.core.search.question import Search

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
class Attempt:
    """What came of asking a model for a query: it and what it gave, None where nothing could be run.

    ``problems`` says of each query that failed why, ``calls`` what was asked.
    """

    query: Query | None
    found: Found
    problems: tuple[str, ...]
    calls: tuple[Call, ...]
    usage: Usage


def written(search: Search, writer: QueryWriter, queries: Queries) -> Attempt:
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
            return Attempt(None, Found(()), (*problems, one.problem or "no query"), tuple(calls), usage)
        query = Query(None, one.reading, one.text)
        try:
            found = queries.run(query, MOST_ROWS, READABLE)
        except QueryError as error:
            failed.append(FailedQuery(one.text, str(error)))
            problems.append(f"{' '.join(one.text.split())}: {' '.join(str(error).split())}")
            calls[-1] = replace(calls[-1], used=False, problem=str(error))
            continue
        return Attempt(query, found, tuple(problems), tuple(calls), usage)
    return Attempt(None, Found(()), tuple(problems), tuple(calls), usage)

"""A question in plain words, answered by a guarded query over the graph, which is shown with its rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from graphrag_dagster.core.cypher.functions import FUNCTIONS
from graphrag_dagster.core.cypher.guard import Guarded
from graphrag_dagster.core.cypher.recognising import recognised
from graphrag_dagster.core.cypher.rows import GraphRows
from graphrag_dagster.core.cypher.templates import TEMPLATES
from graphrag_dagster.core.language.querying import FailedQuery, QueryWriter
from graphrag_dagster.core.language.tasks import Usage
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.queries import QueryError
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.tables import property_graph

#: Tries after the first.
_MENDED = 2


@dataclass(frozen=True, slots=True)
class Ran:
    """A query that was run: as it was given, as the guard wrote it, and what it gave."""

    text: str
    parameters: Mapping[str, Any]
    guarded: Guarded
    found: GraphRows


class Graph(Protocol):
    """Runs queries over the graph of one snapshot, which they cannot change."""

    def run(self, text: str, parameters: Mapping[str, Any]) -> Ran:
        """Return what a query gives.

        Raises:
            QueryError: it is refused, fails or reaches a limit.
        """


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """What a question about the graph gives.

    Attributes:
        question: as asked.
        reading: how it was read.
        ran: the query, and its rows.
        template: that the query was made from; None where a model wrote it.
        guessed: names that were taken for longer ones.
        problems: queries that a model wrote and that could not be run, and why.
        usage: tokens that the model took.
    """

    question: str
    reading: str
    ran: Ran
    template: str | None = None
    guessed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def asked_of(
    question: str, index: IndexSnapshot, graph: Graph, writer: QueryWriter | None = None
) -> GraphAnswer:
    """Answer a question by a query over the graph.

    Args:
        question: in plain words; templates know English.
        index: of the corpus, whose names and types are known.
        graph: runs the query.
        writer: writes the query, behind the guard; where what it writes cannot be run, and where it is None,
            a template makes it.

    Raises:
        QuestionError: the question has the form of no template, or its query cannot be run; says what can be
            asked.
        EndpointError: the model endpoint cannot be used.
    """
    problems: tuple[str, ...] = ()
    usage = Usage()
    if writer is not None:
        made = _written(question, index, graph, writer)
        if isinstance(made, GraphAnswer):
            return made
        problems, usage = made
    plain = recognised(question, index)
    if isinstance(plain, str):
        examples = " · ".join(one.examples[0] for one in TEMPLATES)
        tried = "".join(f"\nthe model wrote a query that could not be run: {one}" for one in problems)
        raise QuestionError(f"{plain}; questions such as these can be asked: {examples}{tried}")
    ran = graph.run(plain.text, plain.parameters)
    return GraphAnswer(question, plain.reading, ran, plain.template, plain.guessed, problems, usage)


def _written(
    question: str, index: IndexSnapshot, graph: Graph, writer: QueryWriter
) -> GraphAnswer | tuple[tuple[str, ...], Usage]:
    """What a query that a model writes gives, mended up to two times; else what was wrong, and what it took.

    What is said of a query goes back to the model; what a query gives does not.
    """
    types = "\n".join(sorted(index.entities["type"].unique()))
    functions = f"Functions: {', '.join(FUNCTIONS)}, and all, any, none and single"
    tables = "\n".join([*property_graph.told(), "", functions])
    failed: list[FailedQuery] = []
    problems: list[str] = []
    usage = Usage()
    while len(failed) <= _MENDED:
        one = writer.write(question, tables, types, failed)
        usage += one.usage
        if not one.text:
            problems.append(one.problem or "no query")
            break
        try:
            ran = graph.run(one.text, {})
        except QueryError as error:
            failed.append(FailedQuery(one.text, str(error)))
            problems.append(f"{' '.join(one.text.split())}: {' '.join(str(error).split())}")
            continue
        return GraphAnswer(question, one.reading, ran, problems=tuple(problems), usage=usage)
    return tuple(problems), usage

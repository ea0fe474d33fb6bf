"""Node queries: over the property graph where it can be asked, else by templates over the tables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphrag_dagster.apps.cypher.asking import GraphAnswer, written
from graphrag_dagster.apps.cypher.graph_search.trace import NodeQuery, Over
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.context.queries import MOST_ROWS
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.tasks.answering import QueryWriter
from graphrag_dagster.kernel.tasks.ports import Usage
from graphrag_dagster.systems.graphrag.search.graph_facts.tables import Rows, rows_of
from graphrag_dagster.systems.graphrag.search.graph_facts.templates import NodeQuestion

_NO_GRAPH = "there is no property graph of what is asked"


@dataclass(slots=True)
class NodeQueries:
    """Runs queries, and keeps what they were.

    Attributes:
        index: of the corpus.
        ran: the queries that were run.
        untold: why they ran over the tables; blank where they ran over the property graph.
        problems: queries of a model that could not be run, and why.
        usage: tokens that it took.
    """

    index: IndexSnapshot
    ran: list[NodeQuery] = field(default_factory=list)
    untold: str = ""
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def __post_init__(self) -> None:
        graph = self.index.graph
        self.untold = _NO_GRAPH if graph is None else graph.missing or ""

    def ask(self, question: NodeQuestion) -> Rows:
        """Return the rows of a template; what the property graph cannot answer, the tables do."""
        graph = self.index.graph
        if graph is not None and not self.untold:
            try:
                found = graph.run(question.text, question.parameters).found
            except GraphragError as error:
                self.untold = " ".join(str(error).split())
            else:
                rows = [dict(row) for row in found.objects()]
                self._keep(question, len(rows), more=found.more)
                return rows
        rows = rows_of(question, self.index)
        self._keep(question, len(rows), more=False)
        return rows

    def written(self, search: Search, writer: QueryWriter, within: str) -> GraphAnswer | None:
        """Return what a query gives that a model writes; None where none could be run.

        Raises:
            EndpointError: the model endpoint cannot be used.
        """
        graph = self.index.graph
        if graph is None or self.untold:
            return None
        made = written(search.question.text, self.index, graph, writer, within)
        if not isinstance(made, GraphAnswer):
            self.problems, self.usage = made
            return None
        self.problems, self.usage = made.problems, made.usage
        ran = made.ran
        rows = len(ran.found.rows)
        self.ran.append(NodeQuery(None, made.reading, ran.text, {}, rows, ran.found.more, "property graph"))
        return made

    def _keep(self, question: NodeQuestion, rows: int, *, more: bool) -> None:
        over: Over = "tables" if self.untold else "property graph"
        kept = NodeQuery(
            question.template,
            question.reading,
            question.text,
            question.parameters,
            rows,
            more or rows >= MOST_ROWS,
            over,
        )
        self.ran.append(kept)


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value of a row, also those of lists, nodes and paths."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from texts_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one)

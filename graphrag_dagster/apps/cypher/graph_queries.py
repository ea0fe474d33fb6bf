"""Queries of users and of questions over a corpus's graph, wherever it is."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any

from graphrag_dagster.apps.cypher.language.guard import Guarded, guarded
from graphrag_dagster.apps.cypher.port import GraphRows, Ran, within
from graphrag_dagster.apps.cypher.storage.cypher_sandbox import run_embedded
from graphrag_dagster.kernel.questions.context.queries import QueryError
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.queries.guarded_process import QueryLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphrag_dagster.apps.cypher.settings import CypherSettings
    from graphrag_dagster.kernel.settings.corpus import CorpusSettings
    from graphrag_dagster.kernel.storage.bolt import BoltServer
    from graphrag_dagster.kernel.storage.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class CorpusGraph:
    """A :class:`~graphrag_dagster.apps.cypher.port.Graph` of a corpus.

    Attributes:
        warehouse: where the tables are.
        corpus: the corpus.
        settings: where its graph is, and what a query may take.
        index: version of the published index whose graph it has to be; None: the current one.
    """

    warehouse: Warehouse
    corpus: str
    settings: CypherSettings
    index: str | None = None

    @property
    def missing(self) -> str | None:
        """Why no query can be run at all; None: they can."""
        if self.settings.backend == "embedded" and find_spec("ladybug") is None:
            return "the extra graph-db is not installed"
        return None

    def run(self, text: str, parameters: Mapping[str, Any]) -> Ran:
        """Return what a query gives.

        Raises:
            QueryError: the guard or the engine refuses it, it reaches a limit, or another index has been
                published.
            EngineError: the extra of the graph's database is not installed.
            WarehouseError: the corpus has not been indexed, or its graph cannot be made.
            EndpointError: the server of the graph cannot be used.
        """
        own = self.settings
        query = guarded(text, parameters, dialect=own.backend, most=own.most_rows)
        if own.backend == "neo4j":
            from graphrag_dagster.kernel.storage.bolt import server_of

            return Ran(text, parameters, query, _run_at_server(server_of(own), query, own.seconds))
        current = published(self.warehouse, self.corpus) if self.index else None
        if current and current.index != self.index:
            raise QueryError("another index has been published since this one was opened: open it again")
        from graphrag_dagster.apps.cypher.storage import graph_of

        limits = QueryLimits(own.seconds, own.megabytes, raisable=False)
        return Ran(
            text, parameters, query, run_embedded(graph_of(self.warehouse, self.corpus), query, limits)
        )


def graph_of_snapshot(warehouse: Warehouse, corpus: str, settings: CorpusSettings, index: str) -> CorpusGraph:
    """Return the graph of a published index."""
    from graphrag_dagster.apps.cypher.settings import CypherSettings

    return CorpusGraph(warehouse, corpus, settings.section(CypherSettings), index)


def _run_at_server(server: BoltServer, query: Guarded, seconds: float) -> GraphRows:
    from graphrag_dagster.kernel.storage.bolt import BoltGraph

    with (
        BoltGraph(server) as graph,
        closing(graph.stream(query.text, query.parameters, seconds=seconds)) as rows,
    ):
        first = next(rows, None)
        if first is None:
            return within(query, query.columns, ())
        return within(query, first, (row.values() for row in chain([first], rows)))

"""Queries of users and of questions over a corpus's graph, wherever it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.core.cypher.asking import Ran
from graphrag_dagster.core.cypher.guard import guarded
from graphrag_dagster.operations.querying.cypher_sandbox import run_embedded
from graphrag_dagster.operations.querying.guarded_process import QueryLimits
from graphrag_dagster.resources.property_graph import graph_of
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings.cypher import CypherSettings


@dataclass(frozen=True, slots=True)
class CorpusGraph:
    """A :class:`~graphrag_dagster.core.cypher.asking.Graph` of a corpus.

    Attributes:
        warehouse: where the tables are.
        corpus: the corpus.
        settings: where its graph is, and what a query may take.
    """

    warehouse: Warehouse
    corpus: str
    settings: CypherSettings

    def run(self, text: str, parameters: Mapping[str, Any]) -> Ran:
        """Return what a query gives.

        Raises:
            QueryError: the guard or the engine refuses it, or it reaches a limit.
            EngineError: the extra of the graph's database is not installed.
            WarehouseError: the corpus has not been indexed, or its graph cannot be made.
            EndpointError: the server of the graph cannot be used.
        """
        own = self.settings
        query = guarded(text, parameters, dialect=own.backend, most=own.most_rows)
        limits = QueryLimits(own.seconds, own.megabytes, raisable=False)
        return Ran(
            text, parameters, query, run_embedded(graph_of(self.warehouse, self.corpus), query, limits)
        )

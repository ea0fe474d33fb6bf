"""What queries over the graph declare of themselves."""

from types import MappingProxyType

from graphrag_dagster.kernel.catalogue.search_methods import (
    COMMUNITY_TABLES,
    FORM_OPTIONS,
    GRAPH_TABLES,
    LEVEL_TABLES,
    REPORT_TABLES,
    REPORT_VECTOR_TABLES,
    TEXT_UNIT_TABLES,
    SearchMethod,
)
from graphrag_dagster.kernel.catalogue.system import System
from graphrag_dagster.kernel.catalogue.tasks import LLM

SYSTEM = System(
    "cypher",
    "graphrag_dagster.apps.cypher",
    builds_on=("graphrag",),
    tasks="graphrag_dagster.apps.cypher.tasks:TASKS",
    derived="graphrag_dagster.apps.cypher.embedded_graph:GRAPHS",
    graph="graphrag_dagster.apps.cypher.property_graph:graph_of_snapshot",
    engines=MappingProxyType({LLM: "graphrag_dagster.apps.cypher.engine"}),
    methods=(
        SearchMethod(
            "graph",
            "nodes and edges that a query over the graph finds, summaries of communities, or both",
            "graphrag_dagster.apps.cypher.search.graph_search:graph",
            "graphrag_dagster.apps.cypher.search.graph_search:estimate_graph",
            brief="a query over the graph, or the nearest community reports",
            tasks=("graph_router", "cypher_writer", "answerer"),
            tables=(
                *(
                    *TEXT_UNIT_TABLES,
                    *GRAPH_TABLES,
                    *COMMUNITY_TABLES,
                    *LEVEL_TABLES,
                    *REPORT_TABLES,
                    *REPORT_VECTOR_TABLES,
                    "graph.context_nodes",
                    "graph.context_vectors",
                ),
                *("graph.community_members", "graph.triples", "embeddings.entities"),
            ),
            options=(*FORM_OPTIONS, "routing", "level", "retrieval", "graph"),
            levelled=True,
            features=("route", "community reports", "traversal", "query", "context nodes"),
        ),
    ),
    sections=MappingProxyType({"cypher": "graphrag_dagster.apps.cypher.settings:CypherSettings"}),
)

"""The language tasks of queries over the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrag_dagster.kernel.catalogue.tasks import LLM, Task

if TYPE_CHECKING:
    from graphrag_dagster.kernel.tasks.answering_ports import QueryWriter, Router


CYPHER_WRITER: Task[QueryWriter | None] = Task(
    "cypher_writer",
    "search",
    "answer",
    ("write_cypher_system", "write_sql_user", "write_sql_again"),
    waited_for=True,
    done_by=(LLM,),
)
GRAPH_ROUTER: Task[Router | None] = Task(
    "graph_router",
    "search",
    "route",
    ("graph_route_system", "route_user"),
    waited_for=True,
    done_by=(LLM,),
)

TASKS: tuple[Task[Any], ...] = (CYPHER_WRITER, GRAPH_ROUTER)

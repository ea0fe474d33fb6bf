"""Guarded queries over the embedded property graph, in a process that is stopped at its limits."""

from pathlib import Path

from graphrag_dagster.apps.cypher.language.guard import Guarded
from graphrag_dagster.apps.cypher.port import GraphRows, within
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.queries import QueryError
from graphrag_dagster.kernel.storage.queries.guarded_process import GuardedProcess, QueryLimits

_PROGRAM = Path(__file__).with_name("cypher_process.py")
_LONGEST_TOLD = 1500


def run_embedded(file: Path, query: Guarded, limits: QueryLimits) -> GraphRows:
    """Run a query over a graph file.

    Args:
        file: of the graph.
        query: as the guard has written it.
        limits: what it may take.

    Raises:
        QueryError: the engine refuses it, or it reaches a limit.
    """
    # One more tells that there are more.
    request = {
        "file": str(file),
        "query": query.text,
        "parameters": dict(query.parameters),
        "rows": query.most + 1,
    }
    try:
        with GuardedProcess(_PROGRAM, request, limits, _failed) as process:
            return within(query, process.begun(), process.rows())
    except QuestionError as error:
        raise QueryError(str(error)) from None


def _failed(told: dict[str, str]) -> Exception:
    text = told["text"].strip()
    if text.startswith("Runtime exception: list_extract"):
        text = "a list has no entry at that place; ask for lists that have one, such as WHERE size(list) > 0"
    return QuestionError(f"the query failed: {text[:_LONGEST_TOLD]}")

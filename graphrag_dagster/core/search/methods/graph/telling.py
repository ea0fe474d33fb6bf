"""What an answer of the way ``graph`` says of how it came about, on a line."""

from collections.abc import Iterator

from graphrag_dagster.core.search.context.graph_trace import GraphTrace
from graphrag_dagster.core.wording import counted

_CHOSEN_BY = {"rules": "", "model": " (a model chose)"}


def told(trace: GraphTrace) -> str:
    """Return how an answer came about."""
    return "; ".join(_parts(trace))


def _parts(trace: GraphTrace) -> Iterator[str]:
    yield f"{trace.route}: {trace.reason}{_CHOSEN_BY[trace.by]}"
    if trace.communities and trace.route != "local":
        yield f"{counted(len(trace.communities), 'community', 'communities')} looked into"
    for one in trace.queries:
        made = f"the template {one.template}" if one.template else "a query that the model wrote"
        more = " or more" if one.more else ""
        yield f"{made} over the {one.over}: {counted(one.rows, 'row')}{more}"
    if trace.untold and any(one.over == "tables" for one in trace.queries):
        yield trace.untold
    if trace.context_nodes:
        brought = counted(len(trace.brought_in), "relationship")
        yield f"{counted(len(trace.context_nodes), 'context node')} brought in {brought}"
    elif trace.boundary:
        yield trace.boundary

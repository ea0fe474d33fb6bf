"""What one question asks of a model, told before anything is sent."""

from graphrag_dagster.kernel.models.accounting.planning import Range, WaySize, exactly
from graphrag_dagster.kernel.questions.question import Basis

#: Tokens of a prompt without its material.
_PROMPT = 700
#: Tokens of a prompt that tells the columns of the tables.
_TABLES = 2500


def routed(basis: Basis) -> WaySize:
    """A context of its own; before it the route, and queries over the graph, where a model gives these."""
    options = basis.options
    # What a query finds is small beside what a window can hold.
    window = options.context_tokens
    size = WaySize(exactly(1), Range(window / 10, window / 2, float(window)))
    if options.routing == "model":
        size = WaySize(size.calls + Range(0.0, 1.0, 1.0), size.input_tokens + Range(0.0, _PROMPT, _PROMPT))
    if options.graph.queries == "model":
        written = Range(0.0, float(_TABLES), 3.0 * _TABLES)
        size = WaySize(size.calls + Range(0.0, 1.0, 3.0), size.input_tokens + written)
    return size

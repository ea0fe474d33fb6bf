"""What one question asks of a model, told before anything is sent."""

from graphrag_dagster.kernel.models.accounting.planning import Range, WaySize
from graphrag_dagster.kernel.questions.question import Basis
from graphrag_dagster.systems.graphrag.api import one_call
from graphrag_dagster.systems.lego.settings import PathSettings


def walked(basis: Basis) -> WaySize:
    """A context of its own; before it what a selector reads, where the instance has a model in a module."""
    size, recipe = one_call(basis), basis.settings.section(PathSettings).asked
    if not recipe.asks_selector:
        return size
    own = recipe.options
    steps = own.max_hop if own.retrieval == "isar" else 1
    calls = float((own.pruning == "llm") + steps * (own.judged == "llm"))
    window = float(basis.options.context_tokens)
    return WaySize(
        size.calls + Range(0.0, calls, 4.0 * calls),
        size.input_tokens + Range(0.0, calls * window / 4, 4.0 * calls * window),
    )

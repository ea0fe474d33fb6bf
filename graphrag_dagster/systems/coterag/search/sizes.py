"""What one question asks of a model, told before anything is sent."""

from graphrag_dagster.kernel.models.accounting.planning import Range, WaySize
from graphrag_dagster.kernel.questions.question import Basis
from graphrag_dagster.systems.coterag.settings import CoteragSettings

#: Tokens of a prompt without its material.
_PROMPT = 700
#: Tokens of a text unit of some sentences.
_ROW = 150


def looked_again(basis: Basis) -> WaySize:
    """The route, an answer, its validation, and both again after each round."""
    options = basis.settings.section(CoteragSettings)
    rounds = 0 if basis.way.name.endswith("-fallback") else options.fallback.rounds
    calls = Range(2.0, 3.0, 1.0 + 2.0 * (1 + rounds))
    texts = options.chunks + options.triples / 10 + options.communities * 3
    context = float(_PROMPT + texts * _ROW)
    return WaySize(calls, calls * context)

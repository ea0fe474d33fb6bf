"""What one question asks of a model, by the way it is answered; told before anything is sent."""

from graphrag_dagster.catalogue.engines import JudgeName
from graphrag_dagster.catalogue.ways import GLOBAL
from graphrag_dagster.core.accounting.evaluation_size import WaySize
from graphrag_dagster.core.accounting.planning import Range, exactly
from graphrag_dagster.core.search.methods.global_search import chunks_of
from graphrag_dagster.core.search.question import Basis
from graphrag_dagster.core.search.searcher import in_way
from graphrag_dagster.errors import QuestionError

#: Tokens of a prompt without its material.
_PROMPT = 700
#: Tokens of a text unit of some sentences.
_ROW = 150
#: Calls that judge the support of an answer's statements, and tokens of these with their words in one.
_JUDGING, _STATEMENTS = Range(0.0, 1.0, 4.0), 1000
#: Tokens of a prompt that tells the columns of the tables.
_TABLES = 2500


def one_call(basis: Basis) -> WaySize:
    """One call with a context of its own."""
    window = basis.options.context_tokens
    return WaySize(exactly(1), Range(window / 2, float(window), float(window)))


def whole(basis: Basis) -> WaySize:
    """All chunks of a level or of the text units, and the joining of their answers."""
    try:
        chunks = chunks_of(basis)
    except QuestionError:
        return WaySize(exactly(0), exactly(0))
    tokens = sum(sum(chunk.row_tokens) for chunk in chunks) + _PROMPT * (len(chunks) + 1)
    return WaySize(exactly(len(chunks) + 1), exactly(tokens) + Range(0.0, 1500.0, 8000.0))


def rated(basis: Basis) -> WaySize:
    """Ratings, and chunks of what they choose."""
    every = whole(basis)
    # Ratings read what they spare the answer, and more where little is relevant.
    return WaySize(Range(2.0, every.calls.expected, 2 * every.calls.high), every.input_tokens * 1.5)


def written_first(_basis: Basis) -> WaySize:
    """A context of what the model knows, and an answer from it; no statement is judged."""
    return WaySize(exactly(2), exactly(2 * _PROMPT) + Range(50.0, 600.0, 2000.0))


def followed_up(basis: Basis) -> WaySize:
    """A first answer, follow-up questions, and the joining of all answers."""
    steps = basis.options.steps * basis.options.follow_ups
    calls = Range(3.0, steps + 2.0, 2.0 * steps + 2)
    return WaySize(calls, one_call(basis).input_tokens * (steps + 2.0))


def chosen(basis: Basis) -> WaySize:
    """One call, or as many as all chunks of a level take, and one before them where a model chooses."""
    window = basis.options.context_tokens
    every = whole(in_way(basis, GLOBAL))
    calls, tokens = Range(1.0, 1.0, every.calls.high), Range(window / 2, window, every.input_tokens.high)
    if basis.options.routing == "rules":
        return WaySize(calls, tokens)
    return WaySize(calls + Range(0.0, 1.0, 1.0), tokens + Range(0.0, _PROMPT, _PROMPT))


def with_support_judged(size: WaySize, judge: JudgeName) -> WaySize:
    """Add what a chat model is asked about the support of the answer's statements, where it judges."""
    if judge != "model" or not size.calls.high:
        return size
    return WaySize(size.calls + _JUDGING, size.input_tokens + _JUDGING * (_PROMPT + _STATEMENTS))


def looked_again(basis: Basis) -> WaySize:
    """The route, an answer, its validation, and both again after each round."""
    options = basis.settings.coterag
    rounds = 0 if basis.way.name.endswith("-fallback") else options.fallback.rounds
    calls = Range(2.0, 3.0, 1.0 + 2.0 * (1 + rounds))
    texts = options.chunks + options.triples / 10 + options.communities * 3
    context = float(_PROMPT + texts * _ROW)
    return WaySize(calls, calls * context)


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


def walked(basis: Basis) -> WaySize:
    """A context of its own; before it what a selector reads, where the instance has a model in a module."""
    size, recipe = one_call(basis), basis.settings.paths.asked
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


def queried(basis: Basis) -> WaySize:
    """No call, or where a model writes queries one that reads the tables' columns, and mended ones."""
    if basis.options.sql == "templates":
        return WaySize(exactly(0), exactly(0))
    return WaySize(Range(0.0, 1.0, 3.0), Range(0.0, float(_TABLES), 3.0 * _TABLES))

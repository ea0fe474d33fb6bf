"""What of a question the index knows, by which its route is chosen."""

from collections.abc import Iterable

from graphrag_dagster.core.coterag.retrieval import AskedVector
from graphrag_dagster.core.coterag.snapshot import LONGEST_NAME
from graphrag_dagster.core.coterag.terms import folded_words
from graphrag_dagster.core.coterag.vectors import UNLIKE
from graphrag_dagster.core.language.coterag import RouteCues


def route_cues(question: str, asked: AskedVector) -> RouteCues:
    """Return the names of entities that stand in a question, and how near the nearest entity is.

    Names are compared by their words, without case and accents; one of stop words alone does not count.
    """
    known = asked.index.known_names
    names = dict.fromkeys(known[words] for words in _runs(question) if words in known)
    nearest = float(asked.entities.max()) if len(asked.entities) else UNLIKE
    return RouteCues(tuple(names), nearest, asked.index.route)


def _runs(question: str) -> Iterable[str]:
    """Every run of words, longer ones first."""
    words = list(folded_words(question))
    for length in range(min(LONGEST_NAME, len(words)), 0, -1):
        yield from (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))

"""Support judged by words alone: their shares, numbers, names and negations, weighted as people judge."""

import math
from collections.abc import Sequence

from graphrag_dagster.catalogue.support import Verdict
from graphrag_dagster.core.language.answering import Cited, Judged, SupportOf
from graphrag_dagster.core.search.support.comparing import Comparison
from graphrag_dagster.core.search.support.differences import differences
from graphrag_dagster.core.search.support.reading import read
from graphrag_dagster.core.search.support.weights import CONSTANT, PARTLY, SUPPORTED, WEIGHTS
from graphrag_dagster.core.text.embedder import Embedder

#: Most words that a reason names.
_NAMED = 3
#: Score from which on a verdict holds.
_FROM: dict[Verdict, float] = {"supported": SUPPORTED, "partly": PARTLY, "not": 0.0}


def supported_by_words(cited: Cited, embedder: Embedder | None = None) -> SupportOf:
    """Return whether words support a statement.

    The score is a logistic regression of
    :class:`~graphrag_dagster.core.search.support.comparing.Measures`; a number, name or negation in which
    the two differ takes away the better verdicts, and the share of the score that goes with them.

    Args:
        cited: the statement and what it cites.
        embedder: tells near words; None compares words alone.
    """
    words = "\n\n".join(cited.words)
    if not read(cited.statement).surfaces:
        return SupportOf("not", 0.0, "it says nothing that words could support")
    beside = Comparison(cited.statement, words, embedder, cited.about)
    score = probability(beside)
    verdict: Verdict = "supported" if score >= SUPPORTED else "partly" if score >= PARTLY else "not"
    reason = "" if verdict == "supported" else _lacking(beside)
    if found := differences(beside):
        worst = found[0]
        score *= _FROM["supported" if worst.at_most == "partly" else "partly"]
        if _FROM[worst.at_most] < _FROM[verdict]:
            verdict = worst.at_most
        reason = worst.reason
    return SupportOf(verdict, round(score, 3), reason)


def probability(beside: Comparison) -> float:
    """Return how probable it is that a person calls a statement supported, differences aside."""
    measures = zip(WEIGHTS.values(), beside.measures.values(), strict=True)
    return 1 / (1 + math.exp(-CONSTANT - math.fsum(weight * value for weight, value in measures)))


class JudgeByWords:
    """Judges by words; see :func:`supported_by_words`."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    def judge(self, statements: Sequence[Cited]) -> Judged:
        """Return whether the words support each statement; makes no call."""
        return Judged(tuple(supported_by_words(one, self._embedder) for one in statements))


def _lacking(beside: Comparison) -> str:
    missing = beside.missing_words
    if not missing:
        return "the cited words say it in no one place"
    if len(missing) == len(beside.rarities):
        return "none of its words stand in the cited words"
    named = [f"“{one}”" for one in missing[:_NAMED]]
    listed = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    return f"{listed} {'do' if len(named) > 1 else 'does'} not stand in the cited words"

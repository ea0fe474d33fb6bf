"""Support judged by words alone: their shares, numbers, names and negations, weighted as people judge.

How much each measure counts, and from which score on a statement is supported.

Fitted once and shipped, so that the same answer has the same verdict everywhere. They are what
``benchmarks/support.py fit`` prints: a logistic regression with ridge and no weight below 0, since more of a
measure never takes away, on passages that people judged to support a claim wholly or not at all. Both kinds
count alike, so that a score is the probability of support where half of all statements are supported.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

from graphrag_dagster.kernel.catalogue.engines import Verdict
from graphrag_dagster.kernel.models.embedder import Embedder
from graphrag_dagster.kernel.questions.support.comparing import Comparison
from graphrag_dagster.kernel.questions.support.names import wholly_missing_from
from graphrag_dagster.kernel.questions.support.numbers import Number, rivals
from graphrag_dagster.kernel.questions.support.reading import Sentence, opposites, read
from graphrag_dagster.kernel.tasks.answering import Cited, Judged, SupportOf
from graphrag_dagster.kernel.text.similarity import stem, words

#: By name of :class:`~graphrag_dagster.kernel.questions.support.comparing.Measures`, in their order.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"found": 1.19, "rarest": 2.06, "lacking": 2.07, "near": 3.16, "numbers": 1.44, "names": 1.16}
)
CONSTANT = -7.58
#: Best balanced accuracy; and what nine of ten statements reach that people call wholly supported.
SUPPORTED, PARTLY = 0.47, 0.33


#: Most words that a reason names.
_NAMED = 3
#: Score from which on a verdict holds.
_FROM: dict[Verdict, float] = {"supported": SUPPORTED, "partly": PARTLY, "not": 0.0}


def supported_by_words(cited: Cited, embedder: Embedder | None = None) -> SupportOf:
    """Return whether words support a statement.

    The score is a logistic regression of
    :class:`~graphrag_dagster.kernel.questions.support.comparing.Measures`; a number, name or negation in
    which the two differ takes away the better verdicts, and the share of the score that goes with them.

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


#: Share of a statement's words from which a sentence is about the same, so that a difference tells.
_SAME_MATTER = 0.5
#: Share from which a sentence has all that is said, so that its order tells, and how much more it may have.
_ALL_OF_IT, _LONGER = 0.9, 2


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference, and the best verdict that is left with it."""

    at_most: Verdict
    reason: str


def differences(beside: Comparison) -> list[Difference]:
    """Return in what a statement differs from the words it cites, what weighs most first."""
    found = [*_numbers(beside), *_names(beside), *_turned(beside)]
    return sorted(found, key=lambda one: one.at_most != "not")


def _numbers(beside: Comparison) -> Iterator[Difference]:
    for number in beside.missing_numbers:
        what = "date" if number.kind == "month" else "number"
        reason = f"the {what} {number.text} does not stand in the cited words"
        yield Difference("not" if _replaced(number, beside) else "partly", reason)


def _replaced(number: Number, beside: Comparison) -> bool:
    """Whether the closest sentence has another number in its place."""
    if beside.closest is None or beside.share(frozenset(beside.closest.stems)) < _SAME_MATTER:
        return False
    return bool(rivals(number, beside.cited.numbers))


def _names(beside: Comparison) -> Iterator[Difference]:
    close = frozenset(beside.closest.stems) if beside.closest else frozenset()
    for name in beside.missing_names:
        others = {one for word in name.words for one in (stem(word),)}
        weights = {one: weight for one, weight in beside.rarities.items() if one not in others}
        same = sum(weight for one, weight in weights.items() if one in close)
        replaced = bool(weights) and same >= _SAME_MATTER * sum(weights.values())
        reason = f"the name {name.text} does not stand in the cited words"
        gone = wholly_missing_from(name, beside.known)
        yield Difference("not" if replaced and gone else "partly", reason)


def _turned(beside: Comparison) -> Iterator[Difference]:
    """Where the closest sentences say the contrary, say it the other way round, or as a possibility."""
    near = [one for one in beside.cited.sentences if beside.share(frozenset(one.stems)) >= _SAME_MATTER]
    for said in beside.said.sentences if near else ():
        if word := _negated(said, near):
            shown = beside.said.surfaces[word]
            yield Difference("not", f"“{shown}” is negated in only one of the statement and the cited words")
        if pair := _opposite(said, near, beside):
            yield Difference("not", f"it says “{pair[0]}” where the cited words say “{pair[1]}”")
        if _swapped(said, _alike(said, near, beside), _arguments(said, beside)):
            yield Difference("not", "the cited words have it the other way round")
    hedged = bool(near) and all(one.hedged for one in near)
    if hedged and not any(one.hedged for one in beside.said.sentences):
        yield Difference("partly", "the cited words say it as a possibility only")


def _alike(said: Sentence, near: Sequence[Sentence], beside: Comparison) -> list[Sentence]:
    """The sentences that have all that is said, and little else."""
    return [
        one
        for one in near
        if beside.share(frozenset(one.stems)) >= _ALL_OF_IT and len(one.stems) <= _LONGER * len(said.stems)
    ]


def _negated(said: Sentence, near: Sequence[Sentence]) -> str | None:
    """A stem that is negated on one side only; None where there is none."""
    affirmed = {stem for one in near for stem in one.affirmed}
    negated = {stem for one in near for stem in one.negated}
    differing = (said.negated & (affirmed - negated)) | (said.affirmed & (negated - affirmed))
    return next((one for one in said.stems if one in differing), None)


def _opposite(said: Sentence, near: Sequence[Sentence], beside: Comparison) -> tuple[str, str] | None:
    """A word and its opposite that stands in its place; None where there is none."""
    known = {one for sentence in near for one in sentence.stems}
    for word in said.stems:
        if word in beside.cited.surfaces:
            continue
        for other in sorted(opposites().get(word, frozenset()) & known):
            negated = any(other in one.negated for one in near)
            if other not in said.stems and negated == (word in said.negated):
                return beside.said.surfaces[word], beside.cited.surfaces[other]
    return None


def _arguments(said: Sentence, beside: Comparison) -> list[str]:
    """Stems of what a sentence is about: the last word of each name, and what is compared by "than"."""
    named = [stem(name.words[-1]) for name in beside.names]
    left, than, right = said.text.lower().partition(" than ")
    if than:
        ends = {stem(word) for word in (*words(left)[:2], *words(right)[:2])}
        named += [one for one in said.stems if one in ends]
    return [one for one in dict.fromkeys(said.stems) if one in named and said.stems.count(one) == 1]


def _swapped(said: Sentence, near: Sequence[Sentence], arguments: Sequence[str]) -> bool:
    """Whether two arguments stand on the other sides of a word between them, and nowhere on the same."""
    for one, other in combinations(arguments, 2):
        start, end = said.stems.index(one), said.stems.index(other)
        for between in said.stems[start + 1 : end]:
            if between in arguments:
                continue
            ways = [
                (sentence.stems.index(one) < sentence.stems.index(between) < sentence.stems.index(other))
                == (sentence.passive == said.passive)
                for sentence in near
                if _in_order(sentence, one, between, other) or _in_order(sentence, other, between, one)
            ]
            if ways and not any(ways):
                return True
    return False


def _in_order(sentence: Sentence, *stems: str) -> bool:
    places = [sentence.stems.index(one) for one in stems if sentence.stems.count(one) == 1]
    return len(places) == len(stems) and places == sorted(places)

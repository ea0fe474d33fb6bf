"""Support judged by words alone: their shares, numbers, names and negations, weighted as people judge.

The weights and the score from which on a statement is supported were fitted once and are shipped, so that the
same answer has the same verdict everywhere. They are what ``benchmarks/support.py fit`` prints: a logistic
regression with ridge and no weight below 0, since more of a measure never takes away, on passages that people
judged to support a claim wholly or not at all. Both kinds count alike, so that a score is the probability of
support where half of all statements are supported.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from itertools import combinations
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.catalogue.engines import Verdict
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.questions.names_and_numbers import (
    KnownWords,
    Name,
    Number,
    is_among,
    missing_from,
    names_of,
    rivals,
    share_found,
    wholly_missing_from,
)
from graphrag_dagster.kernel.questions.statement_reading import REMEMBERED, SupportSentence, opposites, read
from graphrag_dagster.kernel.tasks.answering_ports import Cited, Judged, SupportOf
from graphrag_dagster.kernel.text.text_similarity import stem, words
from graphrag_dagster.kernel.text.tokenization import get_tokenizer

#: Rarity of words, and its sum over a statement, from which more makes no difference.
_RARE, _MUCH = 12.0, 60.0


@dataclass(frozen=True, slots=True)
class Measures:
    """What speaks for support, each 0–1 and more the better.

    Attributes:
        found: share of the statement's words that the cited words have, rare ones counting more; of a word
            that they lack, the cosine of the nearest that they have.
        rarest: 1 less the rarity of the rarest word that is lacking.
        lacking: 1 less the rarity of all words that are lacking together.
        near: cosine of the statement and the nearest sentence.
        numbers: share of its numbers that the cited words have.
        names: share of its names' words that they have.
    """

    found: float
    rarest: float
    lacking: float
    near: float
    numbers: float
    names: float

    def values(self) -> tuple[float, ...]:
        """Return them in the order of :data:`MEASURES`."""
        return tuple(getattr(self, name) for name in MEASURES)


MEASURES = tuple(one.name for one in fields(Measures))


class StatementComparison:
    """A statement beside the words it cites.

    Args:
        statement: what is said.
        words: all it cites.
        embedder: tells near words; None compares words alone.
        about: names of what the cited words are about; pronouns among them may stand for these.
    """

    def __init__(self, statement: str, words: str, embedder: Embedder | None = None, about: str = "") -> None:
        self.said, self.cited = read(statement), read(words)
        self._statement, self._words = statement, words
        self._about = about
        self._embedder = embedder
        self.rarities = {one: _rarity(word) for one, word in self.said.surfaces.items()}

    @cached_property
    def measures(self) -> Measures:
        """What speaks for support."""
        nearness, near = self._near()
        lacking = {one: weight * (1 - nearness[one]) for one, weight in self.rarities.items()}
        total = sum(self.rarities.values())
        numbers = self.said.numbers
        return Measures(
            found=1 - sum(lacking.values()) / total if total else 0.0,
            rarest=1 - min(max(lacking.values(), default=_RARE) / _RARE, 1.0),
            lacking=1 - min(sum(lacking.values()) / _MUCH, 1.0),
            near=near,
            numbers=1 - len(self.missing_numbers) / len(numbers) if numbers else 1.0,
            names=share_found(self.names, self.known),
        )

    def share(self, known: Collection[str]) -> float:
        """Return the share, 0–1, of the statement's stems among those known, rare ones counting more."""
        total = sum(self.rarities.values())
        return sum(weight for one, weight in self.rarities.items() if one in known) / total if total else 0.0

    @cached_property
    def closest(self) -> SupportSentence | None:
        """The cited sentence that has most of the statement; the first of several, None without one."""
        return max(self.cited.sentences, key=lambda one: self.share(frozenset(one.stems)), default=None)

    @cached_property
    def missing_numbers(self) -> tuple[Number, ...]:
        """Numbers of the statement that the cited words do not have."""
        return tuple(one for one in self.said.numbers if not is_among(one, self.cited.numbers))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """The names of the statement."""
        return tuple(names_of(self._statement, self._common))

    @cached_property
    def missing_names(self) -> tuple[Name, ...]:
        """Those of them that the cited words do not have."""
        others = _names_in(self._words)
        return tuple(one for one in self.names if missing_from(one, self.known, others))

    @cached_property
    def missing_words(self) -> tuple[str, ...]:
        """Words of the statement that the cited words do not have, rare ones first."""
        missing = [one for one in self.rarities if one not in self.cited.surfaces]
        return tuple(self.said.surfaces[one] for one in sorted(missing, key=lambda one: -self.rarities[one]))

    def _common(self, word: str) -> bool:
        """Whether a word is written small elsewhere: in the cited words, or more often than not."""
        return word.lower() in self.cited.lower or _written_small(word)

    @cached_property
    def known(self) -> KnownWords:
        """What its names may be found by."""
        known = self.cited.known
        return known.with_those_of(self._about) if self._about and self.cited.pronouns else known

    def _near(self) -> tuple[dict[str, float], float]:
        """How near the nearest cited word is to each stem, and the nearest sentence to the statement."""
        exact = {one: float(one in self.cited.surfaces) for one in self.rarities}
        if self._embedder is None or not exact or not self.cited.surfaces:
            return exact, self.share(self.cited.surfaces)
        sentences = [one.text for one in self.cited.sentences]
        said, cited = list(self.said.surfaces.values()), list(self.cited.surfaces.values())
        vectors = self._embedder.embed([self._statement, *sentences, *said, *cited])
        near = _likest(vectors[:1], vectors[1 : 1 + len(sentences)])[0]
        words = vectors[1 + len(sentences) :]
        likest = _likest(words[: len(said)], words[len(said) :])
        return {one: max(exact[one], like) for one, like in zip(exact, likest, strict=True)}, near


def _likest(vectors: NDArray[np.float32], others: NDArray[np.float32]) -> list[float]:
    """The largest cosine, 0–1, of each vector to one of the others."""
    cosines = (vectors.astype(np.float64) @ others.astype(np.float64).T).max(axis=1)
    return [min(max(float(one), 0.0), 1.0) for one in cosines.round(9)]


@lru_cache(maxsize=REMEMBERED)
def _names_in(words: str) -> tuple[Name, ...]:
    return tuple(names_of(words, _written_small))


def _written_small(word: str) -> bool:
    """Whether a word is more frequent without a capital."""
    return _rarity(word.lower()) < _rarity(word)


@lru_cache(maxsize=200_000)
def _rarity(word: str) -> float:
    """How rare a word is, always by the same vocabulary: the weights were fitted with it."""
    return get_tokenizer("cl100k_base").rarity(word)


#: By name of :class:`~graphrag_dagster.kernel.questions.support_by_words.Measures`, in their order.
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
    :class:`~graphrag_dagster.kernel.questions.support_by_words.Measures`; a number, name or negation in
    which the two differ takes away the better verdicts, and the share of the score that goes with them.

    Args:
        cited: the statement and what it cites.
        embedder: tells near words; None compares words alone.
    """
    words = "\n\n".join(cited.words)
    if not read(cited.statement).surfaces:
        return SupportOf("not", 0.0, "it says nothing that words could support")
    beside = StatementComparison(cited.statement, words, embedder, cited.about)
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


def probability(beside: StatementComparison) -> float:
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


def _lacking(beside: StatementComparison) -> str:
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
class StatementDifference:
    """A difference, and the best verdict that is left with it."""

    at_most: Verdict
    reason: str


def differences(beside: StatementComparison) -> list[StatementDifference]:
    """Return in what a statement differs from the words it cites, what weighs most first."""
    found = [*_numbers(beside), *_names(beside), *_turned(beside)]
    return sorted(found, key=lambda one: one.at_most != "not")


def _numbers(beside: StatementComparison) -> Iterator[StatementDifference]:
    for number in beside.missing_numbers:
        what = "date" if number.kind == "month" else "number"
        reason = f"the {what} {number.text} does not stand in the cited words"
        yield StatementDifference("not" if _replaced(number, beside) else "partly", reason)


def _replaced(number: Number, beside: StatementComparison) -> bool:
    """Whether the closest sentence has another number in its place."""
    if beside.closest is None or beside.share(frozenset(beside.closest.stems)) < _SAME_MATTER:
        return False
    return bool(rivals(number, beside.cited.numbers))


def _names(beside: StatementComparison) -> Iterator[StatementDifference]:
    close = frozenset(beside.closest.stems) if beside.closest else frozenset()
    for name in beside.missing_names:
        others = {one for word in name.words for one in (stem(word),)}
        weights = {one: weight for one, weight in beside.rarities.items() if one not in others}
        same = sum(weight for one, weight in weights.items() if one in close)
        replaced = bool(weights) and same >= _SAME_MATTER * sum(weights.values())
        reason = f"the name {name.text} does not stand in the cited words"
        gone = wholly_missing_from(name, beside.known)
        yield StatementDifference("not" if replaced and gone else "partly", reason)


def _turned(beside: StatementComparison) -> Iterator[StatementDifference]:
    """Where the closest sentences say the contrary, say it the other way round, or as a possibility."""
    near = [one for one in beside.cited.sentences if beside.share(frozenset(one.stems)) >= _SAME_MATTER]
    for said in beside.said.sentences if near else ():
        if word := _negated(said, near):
            shown = beside.said.surfaces[word]
            yield StatementDifference(
                "not", f"“{shown}” is negated in only one of the statement and the cited words"
            )
        if pair := _opposite(said, near, beside):
            yield StatementDifference("not", f"it says “{pair[0]}” where the cited words say “{pair[1]}”")
        if _swapped(said, _alike(said, near, beside), _arguments(said, beside)):
            yield StatementDifference("not", "the cited words have it the other way round")
    hedged = bool(near) and all(one.hedged for one in near)
    if hedged and not any(one.hedged for one in beside.said.sentences):
        yield StatementDifference("partly", "the cited words say it as a possibility only")


def _alike(
    said: SupportSentence, near: Sequence[SupportSentence], beside: StatementComparison
) -> list[SupportSentence]:
    """The sentences that have all that is said, and little else."""
    return [
        one
        for one in near
        if beside.share(frozenset(one.stems)) >= _ALL_OF_IT and len(one.stems) <= _LONGER * len(said.stems)
    ]


def _negated(said: SupportSentence, near: Sequence[SupportSentence]) -> str | None:
    """A stem that is negated on one side only; None where there is none."""
    affirmed = {stem for one in near for stem in one.affirmed}
    negated = {stem for one in near for stem in one.negated}
    differing = (said.negated & (affirmed - negated)) | (said.affirmed & (negated - affirmed))
    return next((one for one in said.stems if one in differing), None)


def _opposite(
    said: SupportSentence, near: Sequence[SupportSentence], beside: StatementComparison
) -> tuple[str, str] | None:
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


def _arguments(said: SupportSentence, beside: StatementComparison) -> list[str]:
    """Stems of what a sentence is about: the last word of each name, and what is compared by "than"."""
    named = [stem(name.words[-1]) for name in beside.names]
    left, than, right = said.text.lower().partition(" than ")
    if than:
        ends = {stem(word) for word in (*words(left)[:2], *words(right)[:2])}
        named += [one for one in said.stems if one in ends]
    return [one for one in dict.fromkeys(said.stems) if one in named and said.stems.count(one) == 1]


def _swapped(said: SupportSentence, near: Sequence[SupportSentence], arguments: Sequence[str]) -> bool:
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


def _in_order(sentence: SupportSentence, *stems: str) -> bool:
    places = [sentence.stems.index(one) for one in stems if sentence.stems.count(one) == 1]
    return len(places) == len(stems) and places == sorted(places)

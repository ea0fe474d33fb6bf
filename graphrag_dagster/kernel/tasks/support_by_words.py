"""Support judged by words alone: word overlap, numbers, names and negations, weighted like human judgements.

The weights and the threshold of support were fitted once and are shipped, so that the same answer always has
the same verdict. ``benchmarks/support.py fit`` prints them: a ridge logistic regression with non-negative
weights, since a higher measure never speaks against support. It was fitted on passages that people judged to
support a claim wholly or not at all. Both classes count alike, so a score is the probability of support where
half of all statements are supported.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.catalogue.engines import Verdict
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.tasks.answering_ports import Cited, Judged, SupportOf
from graphrag_dagster.kernel.text.names_and_numbers import (
    KnownWords,
    Name,
    Number,
    is_among,
    missing_from,
    names_of,
    rival_numbers,
    share_found,
    wholly_missing_from,
)
from graphrag_dagster.kernel.text.statement_reading import CACHED_TEXTS, SupportSentence, opposites, read
from graphrag_dagster.kernel.text.text_similarity import stem, words
from graphrag_dagster.kernel.text.tokenization import get_tokenizer

#: Rarity of a word, and total rarity of a statement, above which more makes no difference.
_RARE, _MUCH = 12.0, 60.0


class StatementComparison:
    """A statement compared with the words it cites.

    Args:
        statement: of an answer.
        words: everything it cites.
        embedder: finds similar words; None compares words alone.
        about: names of what the cited words are about, to which their pronouns may refer.
    """

    def __init__(self, statement: str, words: str, embedder: Embedder | None = None, about: str = "") -> None:
        self.said, self.cited = read(statement), read(words)
        self._statement, self._words = statement, words
        self._about = about
        self._embedder = embedder
        self.rarities = {key: _rarity(word) for key, word in self.said.surfaces.items()}

    @cached_property
    def measures(self) -> tuple[float, ...]:
        """The measures of support, in the order of their :data:`WEIGHTS`."""
        nearness, near = self._nearest_words()
        missing = {key: weight * (1 - nearness[key]) for key, weight in self.rarities.items()}
        total = sum(self.rarities.values())
        numbers = self.said.numbers
        return (
            1 - sum(missing.values()) / total if total else 0.0,
            1 - min(max(missing.values(), default=_RARE) / _RARE, 1.0),
            1 - min(sum(missing.values()) / _MUCH, 1.0),
            near,
            1 - len(self.missing_numbers) / len(numbers) if numbers else 1.0,
            share_found(self.names, self.known),
        )

    def share(self, known: Collection[str]) -> float:
        """Return the share, 0–1, of the statement's stems that are known, weighted by rarity."""
        total = sum(self.rarities.values())
        return sum(weight for key, weight in self.rarities.items() if key in known) / total if total else 0.0

    @cached_property
    def closest(self) -> SupportSentence | None:
        """The cited sentence with the largest share of the statement; the first of ties, None without any."""
        return max(
            self.cited.sentences, key=lambda sentence: self.share(frozenset(sentence.stems)), default=None
        )

    @cached_property
    def missing_numbers(self) -> tuple[Number, ...]:
        """Numbers of the statement that are missing from the cited words."""
        return tuple(number for number in self.said.numbers if not is_among(number, self.cited.numbers))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """The names of the statement."""
        return tuple(names_of(self._statement, self._is_common_word))

    @cached_property
    def missing_names(self) -> tuple[Name, ...]:
        """Names of the statement that are missing from the cited words."""
        others = _names_in(self._words)
        return tuple(name for name in self.names if missing_from(name, self.known, others))

    @cached_property
    def missing_words(self) -> tuple[str, ...]:
        """Words of the statement that are missing from the cited words, rarest first."""
        missing = [key for key in self.rarities if key not in self.cited.surfaces]
        return tuple(self.said.surfaces[key] for key in sorted(missing, key=lambda key: -self.rarities[key]))

    def _is_common_word(self, word: str) -> bool:
        """Whether a word is lower case elsewhere: in the cited words, or usually."""
        return word.lower() in self.cited.lower or _is_mostly_lower_case(word)

    @cached_property
    def known(self) -> KnownWords:
        """What its names are matched against."""
        known = self.cited.known
        return known.with_those_of(self._about) if self._about and self.cited.pronouns else known

    def _nearest_words(self) -> tuple[dict[str, float], float]:
        """Return the similarity of each stem to the nearest cited word, and of the nearest sentence."""
        exact = {key: float(key in self.cited.surfaces) for key in self.rarities}
        if self._embedder is None or not exact or not self.cited.surfaces:
            return exact, self.share(self.cited.surfaces)
        sentences = [sentence.text for sentence in self.cited.sentences]
        stated, cited = list(self.said.surfaces.values()), list(self.cited.surfaces.values())
        vectors = self._embedder.embed([self._statement, *sentences, *stated, *cited])
        near = _largest_cosines(vectors[:1], vectors[1 : 1 + len(sentences)])[0]
        words = vectors[1 + len(sentences) :]
        cosines = _largest_cosines(words[: len(stated)], words[len(stated) :])
        return {key: max(exact[key], cosine) for key, cosine in zip(exact, cosines, strict=True)}, near


def _largest_cosines(vectors: NDArray[np.float32], others: NDArray[np.float32]) -> list[float]:
    """Return the largest cosine, 0–1, of each vector to any of the others."""
    cosines = (vectors.astype(np.float64) @ others.astype(np.float64).T).max(axis=1)
    return [min(max(float(cosine), 0.0), 1.0) for cosine in cosines.round(9)]


@lru_cache(maxsize=CACHED_TEXTS)
def _names_in(words: str) -> tuple[Name, ...]:
    return tuple(names_of(words, _is_mostly_lower_case))


def _is_mostly_lower_case(word: str) -> bool:
    """Whether a word is more frequent in lower case."""
    return _rarity(word.lower()) < _rarity(word)


@lru_cache(maxsize=200_000)
def _rarity(word: str) -> float:
    """How rare a word is in the vocabulary that the weights were fitted with."""
    return get_tokenizer("cl100k_base").rarity(word)


#: Weights of the measures of support, each from 0 to 1, higher is better.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        # Share of the statement's words that occur in the cited words, weighted by rarity; a missing word
        # counts with the cosine of its nearest cited word.
        "found": 1.19,
        # 1 minus the rarity of the rarest missing word, and minus the total rarity of the missing words.
        "rarest": 2.06,
        "lacking": 2.07,
        # Cosine of the statement and the nearest sentence.
        "near": 3.16,
        # Share of the statement's numbers, and of the words of its names, that the cited words have.
        "numbers": 1.44,
        "names": 1.16,
    }
)
CONSTANT = -7.58
#: Thresholds: best balanced accuracy, and the score that 90 % of wholly supported statements reach.
SUPPORTED, PARTLY = 0.47, 0.33


#: Most words named in a reason.
_NAMED = 3
#: Minimum score of each verdict.
_FROM: dict[Verdict, float] = {"supported": SUPPORTED, "partly": PARTLY, "not": 0.0}


def supported_by_words(cited: Cited, embedder: Embedder | None = None) -> SupportOf:
    """Judge whether words support a statement.

    The score is a logistic regression of the measures of support. A differing number, name or negation rules
    out the better verdicts and scales the score down accordingly.

    Args:
        cited: the statement and what it cites.
        embedder: finds similar words; None compares words alone.
    """
    words = "\n\n".join(cited.words)
    if not read(cited.statement).surfaces:
        return SupportOf("not", 0.0, "it says nothing that words could support")
    comparison = StatementComparison(cited.statement, words, embedder, cited.about)
    score = probability(comparison)
    verdict: Verdict = "supported" if score >= SUPPORTED else "partly" if score >= PARTLY else "not"
    reason = "" if verdict == "supported" else _missing_words_reason(comparison)
    if found_differences := differences(comparison):
        worst = found_differences[0]
        score *= _FROM["supported" if worst.at_most == "partly" else "partly"]
        if _FROM[worst.at_most] < _FROM[verdict]:
            verdict = worst.at_most
        reason = worst.reason
    return SupportOf(verdict, round(score, 3), reason)


def probability(comparison: StatementComparison) -> float:
    """Return the probability that a person calls a statement supported, ignoring differences."""
    measures = zip(WEIGHTS.values(), comparison.measures, strict=True)
    return 1 / (1 + math.exp(-CONSTANT - math.fsum(weight * value for weight, value in measures)))


class JudgeByWords:
    """Judges by words; see :func:`supported_by_words`."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    def judge(self, statements: Sequence[Cited]) -> Judged:
        """Judge each statement; makes no model call."""
        return Judged(tuple(supported_by_words(cited, self._embedder) for cited in statements))


def _missing_words_reason(comparison: StatementComparison) -> str:
    missing = comparison.missing_words
    if not missing:
        return "the cited words say it in no one place"
    if len(missing) == len(comparison.rarities):
        return "none of its words stand in the cited words"
    quoted = [f"“{word}”" for word in missing[:_NAMED]]
    listed = " and ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
    return f"{listed} {'do' if len(quoted) > 1 else 'does'} not stand in the cited words"


#: Share of a statement's words from which a sentence is on the same matter, so that differences count.
_SAME_MATTER = 0.5
#: Share from which a sentence says everything, so that word order counts, and how much longer it may be.
_ALL_OF_IT, _LONGER = 0.9, 2


@dataclass(frozen=True, slots=True)
class StatementDifference:
    """A difference, and the best verdict that it allows."""

    at_most: Verdict
    reason: str


def differences(comparison: StatementComparison) -> list[StatementDifference]:
    """Return the differences between a statement and the words it cites, most severe first."""
    found_differences = [*_numbers(comparison), *_names(comparison), *_contradictions(comparison)]
    return sorted(found_differences, key=lambda difference: difference.at_most != "not")


def _numbers(comparison: StatementComparison) -> Iterator[StatementDifference]:
    for number in comparison.missing_numbers:
        what = "date" if number.kind == "month" else "number"
        reason = f"the {what} {number.text} does not stand in the cited words"
        yield StatementDifference("not" if _has_replaced_number(number, comparison) else "partly", reason)


def _has_replaced_number(number: Number, comparison: StatementComparison) -> bool:
    """Return whether the closest sentence is on the same matter and has a rival number."""
    if comparison.closest is None or comparison.share(frozenset(comparison.closest.stems)) < _SAME_MATTER:
        return False
    return bool(rival_numbers(number, comparison.cited.numbers))


def _names(comparison: StatementComparison) -> Iterator[StatementDifference]:
    close = frozenset(comparison.closest.stems) if comparison.closest else frozenset()
    for name in comparison.missing_names:
        name_stems = set(map(stem, name.words))
        weights = {key: weight for key, weight in comparison.rarities.items() if key not in name_stems}
        same = sum(weight for key, weight in weights.items() if key in close)
        replaced = bool(weights) and same >= _SAME_MATTER * sum(weights.values())
        reason = f"the name {name.text} does not stand in the cited words"
        gone = wholly_missing_from(name, comparison.known)
        yield StatementDifference("not" if replaced and gone else "partly", reason)


def _contradictions(comparison: StatementComparison) -> Iterator[StatementDifference]:
    """Yield where the closest sentences contradict the statement, swap its arguments or only hedge it."""
    similar = [
        sentence
        for sentence in comparison.cited.sentences
        if comparison.share(frozenset(sentence.stems)) >= _SAME_MATTER
    ]
    for stated in comparison.said.sentences if similar else ():
        if word := _negated_on_one_side(stated, similar):
            surface = comparison.said.surfaces[word]
            yield StatementDifference(
                "not", f"“{surface}” is negated in only one of the statement and the cited words"
            )
        if pair := _opposite(stated, similar, comparison):
            yield StatementDifference("not", f"it says “{pair[0]}” where the cited words say “{pair[1]}”")
        if _has_swapped_arguments(
            stated, _near_identical_sentences(stated, similar, comparison), _arguments(stated, comparison)
        ):
            yield StatementDifference("not", "the cited words have it the other way round")
    hedged = bool(similar) and all(sentence.hedged for sentence in similar)
    if hedged and not any(sentence.hedged for sentence in comparison.said.sentences):
        yield StatementDifference("partly", "the cited words say it as a possibility only")


def _near_identical_sentences(
    stated: SupportSentence, similar: Sequence[SupportSentence], comparison: StatementComparison
) -> list[SupportSentence]:
    """Return the sentences that say everything the statement says, and little else."""
    return [
        sentence
        for sentence in similar
        if comparison.share(frozenset(sentence.stems)) >= _ALL_OF_IT
        and len(sentence.stems) <= _LONGER * len(stated.stems)
    ]


def _negated_on_one_side(stated: SupportSentence, similar: Sequence[SupportSentence]) -> str | None:
    """Return a stem that is negated on one side only."""
    affirmed = {stem for sentence in similar for stem in sentence.affirmed}
    negated = {stem for sentence in similar for stem in sentence.negated}
    differing = (stated.negated & (affirmed - negated)) | (stated.affirmed & (negated - affirmed))
    return next((key for key in stated.stems if key in differing), None)


def _opposite(
    stated: SupportSentence, similar: Sequence[SupportSentence], comparison: StatementComparison
) -> tuple[str, str] | None:
    """Return a word and the antonym that takes its place."""
    known = {key for sentence in similar for key in sentence.stems}
    for word in stated.stems:
        if word in comparison.cited.surfaces:
            continue
        for other in sorted(opposites().get(word, frozenset()) & known):
            negated = any(other in sentence.negated for sentence in similar)
            if other not in stated.stems and negated == (word in stated.negated):
                return comparison.said.surfaces[word], comparison.cited.surfaces[other]
    return None


def _arguments(stated: SupportSentence, comparison: StatementComparison) -> list[str]:
    """Return the stems of a sentence's arguments: the last words of names, and what "than" compares."""
    candidates = [stem(name.words[-1]) for name in comparison.names]
    left, than, right = stated.text.lower().partition(" than ")
    if than:
        ends = {stem(word) for word in (*words(left)[:2], *words(right)[:2])}
        candidates += [key for key in stated.stems if key in ends]
    return [key for key in dict.fromkeys(stated.stems) if key in candidates and stated.stems.count(key) == 1]


def _has_swapped_arguments(
    stated: SupportSentence, similar: Sequence[SupportSentence], arguments: Sequence[str]
) -> bool:
    """Return whether two arguments are always swapped around a word between them."""
    for first, second in combinations(arguments, 2):
        start, end = stated.stems.index(first), stated.stems.index(second)
        for between in stated.stems[start + 1 : end]:
            if between in arguments:
                continue
            same_order = [
                (sentence.stems.index(first) < sentence.stems.index(between) < sentence.stems.index(second))
                == (sentence.passive == stated.passive)
                for sentence in similar
                if _in_order(sentence, first, between, second) or _in_order(sentence, second, between, first)
            ]
            if same_order and not any(same_order):
                return True
    return False


def _in_order(sentence: SupportSentence, *stems: str) -> bool:
    positions = [sentence.stems.index(key) for key in stems if sentence.stems.count(key) == 1]
    return len(positions) == len(stems) and positions == sorted(positions)

"""Relevance of sentences to a question (English), by the features of an answer."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import Scores, comparable, cosines, unit_rows
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.questions.citations import Aligned, aligned
from graphrag_dagster.kernel.retrieval.sentence_weights import ANSWER_WEIGHTS
from graphrag_dagster.kernel.text.english_words import DOCUMENTS, GENERAL, GENRES, SAYING, THEMES
from graphrag_dagster.kernel.text.quotable_sentences import ContextLines, SentenceLine, SpokenTurn, turns
from graphrag_dagster.kernel.text.text_similarity import stem, stems, words

_KIND = f"(?i:{'|'.join(sorted(DOCUMENTS))})"
_DAY = r"(?:[A-Z][a-z]+ \d{1,2},? \d{4}|\d{1,2} [A-Z][a-z]+ \d{4}|\d{4}-\d\d-\d\d|[A-Z][a-z]+ \d{4}|\d+)"
_ASKS = (
    "what|which|who|whom|whose|when|where|why|how|did|does|do|is|are|was|were|has|had|have|can|could"
    "|summari[sz]e|describe|list|name|explain"
)
#: "In the interview with Ada Rusk, what …": a kind of document, with a name or number, before what asks.
_BEFORE = re.compile(
    rf"\A\s*(?i:in|at|on|during|from|according to)\b"
    rf"(?=[^?]*?\b{_KIND}\b)(?=[^?]*?(?:\d|\b{_KIND}\b[^?,]*?[A-Z]|\b[A-Z][\w-]* {_KIND}\b))[^?]*?,\s+"
    rf"(?=(?:(?:by|in|to|of|at|for|from|on|with) )?(?i:{_ASKS})\b)"
)
#: "in the episode of March 15, 2022", "of episode 48".
_WITHIN = re.compile(
    rf"\s\b(?:in|of|on|from|during|at) (?:(?:the|this|that) )?(?:\w+ )?{_KIND}"
    rf"(?: (?:of|from|on|dated|number))? {_DAY}\b"
)
_NAME_IN_QUESTION = re.compile(r"(?<=[^.?!:]\s)[\"'“‘(]?([^\W\d_a-z][\w'’-]*)")

_GENERAL, _THEMES, _GENRES, _SAYING = (
    frozenset(map(stem, listed)) for listed in (GENERAL, THEMES, GENRES, SAYING)
)


def asks_for_overview(question: str) -> bool:
    """Return whether a question looks for nothing in particular.

    Such are "What are the main themes?", which names nothing, and "Who are the main actors in the harbour,
    and how are they connected?", which names one common word among several that ask for an overview.
    """
    asked = asked_words(question)
    general = [word for word in words(question) if set(stems(word)) & _GENERAL]
    return not asked or (len(asked) == 1 and len(general) > 1 and not _NAME_IN_QUESTION.search(question))


def asks_what_was_said(question: str) -> bool:
    """Return whether a question is about what somebody said or thought.

    >>> asks_what_was_said("What did the minister think of the curriculum?")
    True
    """
    return not _SAYING.isdisjoint(map(stem, words(question)))


def without_scope(question: str) -> str:
    """Return a question without the words that tell in which document to look.

    >>> without_scope("In the interview with Ada Rusk, what did she weld?")
    'what did she weld?'
    >>> without_scope("What was sold in the episode of March 15, 2022?")
    'What was sold?'
    """
    about = _WITHIN.sub("", _BEFORE.sub("", question))
    return about if stems(about) else question


def asked_words(question: str) -> list[str]:
    """Return the words of a question that say what to look for, each once."""
    every = set(stems(question))
    general = _GENERAL | _GENRES if every & _THEMES else _GENERAL
    return [word for word in dict.fromkeys(words(question)) if set(stems(word)) - general]


def names_in(question: str) -> frozenset[str]:
    """Return the stems of the words of a question that are written as names."""
    found = (word for name in _NAME_IN_QUESTION.findall(question) for word in words(name))
    return frozenset(stem(word) for word in found if word.isalpha())


#: What :func:`answer_features` tells of each sentence.
FEATURES = ("around", "cover", "row", "several", "pairs", "length", "reply", "self")

#: What a word counts that stands so many sentences before (after), anywhere in the row, in its title.
_AROUND: Mapping[int, float] = {2: 0.4, 1: 0.3, -1: 0.4, -2: 0.2}
_ROW, _TITLE = 0.3, 0.7
#: How often a word has to stand in a row to count half of what it could.
_HALF = 1.5
#: Sentences behind a question that may answer it; words of the question as near as they stand there.
_REPLIES, _NEAR = 3, 3
_SELF = frozenset({"i", "my", "me", "mine", "myself", "we", "our", "us"})


class AskedWords:
    """The words of a question as they are looked for in sentences.

    Args:
        asked: meaningful words, lower case, in the order of the question.
        names: stems of those that are names.
        elsewhere: those of them that tell in which document to look, and not what to look for there.
    """

    def __init__(
        self, asked: Sequence[str], names: Collection[str] = (), elsewhere: Collection[str] = ()
    ) -> None:
        self.words = tuple(asked)
        self.name_stems = frozenset(names)
        stems = [stem(word) for word in asked]
        self._place = {one: place for place, one in reversed(list(enumerate(stems)))}
        self._same = [self._place[one] for one in stems]
        self.inside = np.array([word not in elsewhere for word in asked], dtype=np.float64)
        self.names = [place for place, one in enumerate(stems) if one in names]
        self._pairs = [
            (one, other) for one, other in zip(self._same, self._same[1:], strict=False) if one != other
        ]

    @classmethod
    def of(cls, question: str) -> "AskedWords":
        """Return those of a question."""
        asked, inside = asked_words(question), asked_words(without_scope(question))
        return cls(asked, names_in(question), frozenset(asked) - frozenset(inside))

    def found_in(self, texts: Sequence[Sequence[str]]) -> tuple[NDArray[np.bool_], Scores]:
        """Return which words stand in each text of stems, and the share of neighbours near each other.

        Returns:
            [texts, words] and [texts].
        """
        held = np.zeros((len(texts), len(self.words)), dtype=np.bool_)
        near = np.zeros(len(texts))
        for number, text in enumerate(texts):
            if at := self._places(text):
                held[number] = [place in at for place in self._same]
                near[number] = self._near(at)
        return held, near

    def in_names(self, names: Sequence[str]) -> Scores:
        """Return which words stand in each of some names [names, words]."""
        different = sorted(set(names))
        found, _ = self.found_in([list(map(stem, words(name))) for name in different])
        held = dict(zip(different, found, strict=True))
        return np.array([held[name] for name in names], dtype=np.float64)

    def _places(self, text: Sequence[str]) -> Mapping[int, list[int]]:
        """Where each word stands in a text."""
        at: dict[int, list[int]] = {}
        if not self._place.keys().isdisjoint(text):
            for number, one in enumerate(text):
                if (place := self._place.get(one)) is not None:
                    at.setdefault(place, []).append(number)
        return at

    def _near(self, at: Mapping[int, list[int]]) -> float:
        near = sum(
            any(abs(first - second) <= _NEAR for first in at.get(one, ()) for second in at.get(other, ()))
            for one, other in self._pairs
        )
        return near / max(len(self._pairs), 1)


def answer_features(
    asked: AskedWords,
    lines: Sequence[SentenceLine],
    turns: Sequence[SpokenTurn],
    held: Scores,
    weight: Scores,
    same: NDArray[np.bool_],
    pairs: Scores,
) -> Scores:
    """Return what speaks for each sentence, a column for each of ``FEATURES``.

    ``around``: share of the question that the sentence holds, what stands around it counting less;
    ``cover``: the same of the five sentences in whose midst it stands; ``row``: of its row, what is repeated
    counting more; ``several``: logarithm of the count of words; ``pairs``: of neighbouring words of the
    question that stand near each other; ``length``: logarithm of the sentence's words; ``reply``: how well
    another speaker's question right before is that of the question; ``self``: somebody whom the question
    names speaks of themselves.

    Args:
        asked: the question's words.
        lines: the sentences, at least one.
        turns: who says each.
        held: how well each sentence holds each word, 0–1 [n, w].
        weight: how rare each word is [w].
        same: where the word itself is there [n, w].
        pairs: of each sentence [n].
    """
    share = weight / max(math.fsum(weight), 1e-9)
    held, present = held * asked.inside, same * asked.inside
    rows = ContextLines(lines)
    speakers = asked.in_names([turn.speaker for turn in turns])
    titles = _TITLE * asked.in_names([line.title for line in lines])
    neighbours = {distance: rows.shifted(held, distance) for distance in _AROUND}
    fading = [part * neighbours[distance] for distance, part in _AROUND.items()]
    around = np.maximum.reduce([held, *fading, _ROW * rows.best(held), speakers, titles])
    cover = np.maximum.reduce([held, *neighbours.values(), speakers, titles])
    count = rows.sums(present)
    named = speakers[:, asked.names].max(axis=1, initial=0.0)
    speaks = [not _SELF.isdisjoint(turn.stems) for turn in turns]
    length = [len(turn.stems) for turn in turns]
    return np.column_stack(
        [
            around @ share,
            cover @ share,
            (count / (count + _HALF)) @ share,
            np.log1p(present.sum(axis=1)),
            pairs,
            np.log1p(length),
            _replies(held @ share, lines, turns),
            named * speaks,
        ]
    )


def _replies(own: Scores, lines: Sequence[SentenceLine], turns: Sequence[SpokenTurn]) -> Scores:
    """How much another speaker's question right before each sentence holds, less the farther it is."""
    added = np.zeros(len(lines))
    for place, turn in enumerate(turns):
        for distance in range(1, min(_REPLIES, place) + 1):
            before = place - distance
            asked = turns[before].asks and turns[before].speaker != turn.speaker
            if asked and lines[before].row == lines[place].row:
                added[place] += own[before] / distance
    return added


#: What speaks for a sentence; the cosines are those of the sentence and of its row.
ANSWER_FEATURES = (*FEATURES, "cosine", "row_cosine")
_WEIGHTS = np.array([ANSWER_WEIGHTS[name] for name in ANSWER_FEATURES])
#: The larger, the more the value of a likelier sentence is above that of others, and the fewer are quoted.
SHARPNESS = 0.15
#: Which sentences stand beside one, by how many places before (after) it.
_NEIGHBOURS = (-2, -1, 1, 2)
#: Least share of the question's words around a sentence from which the question is in scope, by how many of
#: them stand in it or beside it, less a share of its cosine. See ``benchmarks/refusals.py``.
_ONE_WORD, _ONE, _TWO, _MORE, _BY_COSINE = 0.99, 0.9, 0.55, 0.35, 0.4
#: Words from which a question may name something that the documents do not.
_LONG = 6
#: Words of names in or beside one sentence that are enough by themselves.
_FULL_NAME = 2
#: What a sentence must have of the best one's value to be related to a question that is in scope.
_OF_BEST = 0.35


@dataclass(frozen=True, slots=True)
class Relevance:
    """Of each sentence: its value, of any scale, and whether it has anything to do with the question."""

    value: Scores
    related: NDArray[np.bool_]
    vectors: NDArray[np.float32]

    @property
    def percentile(self) -> Scores:
        """The share, 0…1, of the related sentences whose value is not larger; 0 for the others."""
        ordered = np.sort(self.value[self.related])
        share = np.searchsorted(ordered, self.value, side="right") / max(len(ordered), 1)
        return np.where(self.related, share, 0.0)


def relevance(question: str, lines: Sequence[SentenceLine], embedder: Embedder) -> Relevance:
    """Compare a question with the sentences that could answer it.

    The meaningful words of the question, rarer ones counting more, are looked for in the sentence, in those
    beside it, in its row, its speaker and its title, by stem and else by the nearest meaning of a word
    (:mod:`graphrag_dagster.kernel.questions.citations`). What of that speaks for a sentence
    (:mod:`graphrag_dagster.kernel.retrieval.sentence_relevance`), and the cosines of the sentence and
    of its row, are weighed by ``ANSWER_WEIGHTS``; the value grows with it exponentially.

    A question that asks for an overview has no such words: there the value is the cosine to the mean of all
    sentences, larger for sentences that begin their row and for larger rows, and every sentence is related.

    Args:
        question: as asked.
        lines: all that may be quoted; they are the background for what is rare.
        embedder: makes the vectors.
    """
    if not lines:
        return Relevance(np.zeros(0), np.zeros(0, dtype=np.bool_), np.zeros((0, 1), dtype=np.float32))
    asked = asked_words(question)
    if not asked or (asks_for_overview(question) and _occurs(asked, lines)):
        return _overview(lines, embedder)
    return _focused(question, lines, embedder)


def _occurs(asked: Sequence[str], lines: Sequence[SentenceLine]) -> bool:
    wanted = {stem(word) for word in asked}
    return any(wanted.intersection(stems(line.text)) for line in lines)


def _overview(lines: Sequence[SentenceLine], embedder: Embedder) -> Relevance:
    vectors = embedder.embed([line.text for line in lines])
    middle = vectors.mean(axis=0, dtype=np.float64)
    cosine = cosines(vectors, middle / max(float(np.linalg.norm(middle)), 1e-9))
    size = np.array([line.size for line in lines], dtype=np.float64)
    begins = np.array([1.0 if line.place < 2 else 0.6 for line in lines])
    value = cosine.clip(0) * begins * (0.5 + 0.5 * size / size.max())
    return Relevance(comparable(value), np.ones(len(lines), dtype=np.bool_), vectors)


@dataclass(frozen=True, slots=True)
class _QuestionFeatures:
    """A question beside the sentences: features [n, ANSWER_FEATURES], what holds which word, vectors."""

    asked: AskedWords
    said_by: Sequence[SpokenTurn]
    found: Aligned
    features: Scores
    vectors: NDArray[np.float32]

    def feature(self, name: str) -> Scores:
        column: Scores = self.features[:, ANSWER_FEATURES.index(name)]
        return column


def sentence_features(question: str, lines: Sequence[SentenceLine], embedder: Embedder) -> Scores:
    """Return what speaks for each sentence, a column for each of ``ANSWER_FEATURES``.

    Args:
        question: which has words to look for.
        lines: the sentences, at least one.
        embedder: makes the vectors.
    """
    return _read(question, lines, embedder).features


def _read(question: str, lines: Sequence[SentenceLine], embedder: Embedder) -> _QuestionFeatures:
    asked = AskedWords.of(question)
    said_by = turns(lines)
    said = [turn.said for turn in said_by]
    found = aligned(asked.words, said, embedder, asked.name_stems)
    _, near = asked.found_in([turn.stems for turn in said_by])
    features = answer_features(asked, lines, said_by, found.held, found.weight, found.same, near)
    vectors = embedder.embed([" ".join(asked.words), *said])
    of_rows = unit_rows(ContextLines(lines).sums(vectors[1:].astype(np.float64)))
    near_ones = [cosines(own, vectors[0]).clip(0) for own in (vectors[1:], of_rows)]
    return _QuestionFeatures(asked, said_by, found, np.column_stack([features, *near_ones]), vectors[1:])


def _focused(question: str, lines: Sequence[SentenceLine], embedder: Embedder) -> Relevance:
    read = _read(question, lines, embedder)
    spoken = comparable(read.features @ _WEIGHTS)
    value = comparable(np.exp(SHARPNESS * (spoken - spoken.max())))
    related = np.zeros(len(lines), dtype=np.bool_)
    if _concerns(read, lines):
        related = value >= comparable(_OF_BEST * value.max())
    return Relevance(value, related, read.vectors)


def _concerns(read: _QuestionFeatures, lines: Sequence[SentenceLine]) -> bool:
    """Whether a question is in the scope of the sentences."""
    asked, found = read.asked, read.found
    there = np.maximum.reduce(
        [
            found.same,
            asked.in_names([turn.speaker for turn in read.said_by]),
            asked.in_names([line.title for line in lines]),
        ]
    )
    same, rows = found.same.astype(np.float64), ContextLines(lines)
    neighbours = np.maximum.reduce([there, *(rows.shifted(same, distance) for distance in _NEIGHBOURS)])
    if (neighbours[:, asked.names].sum(axis=1) >= _FULL_NAME).any():
        return True
    all_known = len(asked.words) >= _LONG or bool(there[:, asked.names].any(axis=0).all())
    return all_known and _in_scope(
        neighbours.sum(axis=1), read.feature("around"), read.feature("cosine"), len(asked.words)
    )


def _in_scope(held: Scores, around: Scores, cosine: Scores, asked: int) -> bool:
    """Whether any sentence holds enough of the question's words."""
    least = np.select([held < 1, held < 2, held < 3], [np.inf, _ONE, _TWO], _MORE) - _BY_COSINE * cosine
    if asked == 1:
        least = np.where(held < 1, np.inf, _ONE_WORD)
    return bool((comparable(around) >= comparable(least)).any())

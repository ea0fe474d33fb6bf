"""Relevance of sentences to a question (English), by features of likely answers."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import Scores, cosines, round_for_comparison, unit_rows
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.retrieval.sentence_weights import ANSWER_WEIGHTS
from graphrag_dagster.kernel.retrieval.word_alignment import Aligned, align_words
from graphrag_dagster.kernel.text.english_words import (
    DOCUMENTS,
    GENERAL,
    GENRES,
    OVERVIEW,
    SAYING,
    THEMES,
    THINGS,
)
from graphrag_dagster.kernel.text.languages import ENGLISH, function_words, language_of
from graphrag_dagster.kernel.text.quotable_sentences import ContextLines, SentenceLine, SpokenTurn, turns
from graphrag_dagster.kernel.text.text_similarity import stem, stems, words

_KIND = f"(?i:{'|'.join(sorted(DOCUMENTS))})"
_DAY = r"(?:[A-Z][a-z]+ \d{1,2},? \d{4}|\d{1,2} [A-Z][a-z]+ \d{4}|\d{4}-\d\d-\d\d|[A-Z][a-z]+ \d{4}|\d+)"
_ASKS = (
    "what|which|who|whom|whose|when|where|why|how|did|does|do|is|are|was|were|has|had|have|can|could"
    "|summari[sz]e|describe|list|name|explain"
)
#: "In the interview with Ada Rusk, what …": a document noun with a name or number before the question.
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

_GENERAL, _THEMES, _GENRES, _SAYING, _OVERVIEW = (
    frozenset(map(stem, listed)) for listed in (GENERAL, THEMES, GENRES, SAYING, OVERVIEW)
)
#: Words without meaning by which a question may speak of the texts: "What is all this about?"
_OF_TEXTS = frozenset({"about", "all", "here", "these", "this"})


def asks_for_overview(question: str) -> bool:
    """Return whether a question asks for an overview rather than something specific.

    Examples: "What are the main themes?" names nothing. "Who are the main actors in the harbour, and how are
    they connected?" has one common word among several general ones.
    """
    asked = _particular_words(question)
    general = [word for word in words(question) if set(stems(word)) & _GENERAL]
    return not asked or (len(asked) == 1 and len(general) > 1 and not _NAME_IN_QUESTION.search(question))


def asks_anything(question: str) -> bool:
    """Return whether a question has a word to look for, or one that asks for an overview of the texts.

    >>> asks_anything("What is this about?"), asks_anything("What is 2+2?")
    (True, False)
    """
    if asked_words(question) or language_of(question) not in {None, ENGLISH}:
        return True
    return any(
        word in _OF_TEXTS or set(stems(word)) & (_GENERAL | _GENRES | _OVERVIEW) for word in words(question)
    )


def asks_for_statements(question: str) -> bool:
    """Return whether a question is about what somebody said or thought.

    >>> asks_for_statements("What did the minister think of the curriculum?")
    True
    """
    return not _SAYING.isdisjoint(map(stem, words(question)))


def without_scope(question: str) -> str:
    """Return a question without the words that say in which document to look.

    >>> without_scope("In the interview with Ada Rusk, what did she weld?")
    'what did she weld?'
    >>> without_scope("What was sold in the episode of March 15, 2022?")
    'What was sold?'
    """
    about = _WITHIN.sub("", _BEFORE.sub("", question))
    return about if stems(about) else question


def asked_words(question: str) -> list[str]:
    """Return the distinct words of a question that say what to look for.

    >>> asked_words("How do I upload a file?")
    ['upload', 'file']
    >>> asked_words("Who are the main actors, and how are they connected?")
    []
    """
    asked = _particular_words(question)
    if not asked or not _OVERVIEW.isdisjoint(stems(question)):
        return asked
    return [word for word in dict.fromkeys(words(question)) if word in asked or word in THINGS]


def _particular_words(question: str) -> list[str]:
    question_stems = set(stems(question))
    general = _GENERAL | _GENRES if question_stems & _THEMES else _GENERAL
    empty = function_words(question)
    return [
        word for word in dict.fromkeys(words(question)) if word not in empty and set(stems(word)) - general
    ]


def names_in(question: str) -> frozenset[str]:
    """Return the stems of the words of a question that are written as names."""
    name_words = (word for name in _NAME_IN_QUESTION.findall(question) for word in words(name))
    return frozenset(stem(word) for word in name_words if word.isalpha())


#: The features of :func:`answer_features`.
FEATURES = ("around", "cover", "row", "several", "pairs", "length", "reply", "self")

#: Weight of a word that many sentences before (after), anywhere in the row, and in the title.
_AROUND: Mapping[int, float] = {2: 0.4, 1: 0.3, -1: 0.4, -2: 0.2}
_ROW, _TITLE = 0.3, 0.7
#: Number of occurrences in a row at which a word has half of its full weight.
_HALF = 1.5
#: Sentences after a question that may answer it, and most distance between words of a near pair.
_REPLIES, _NEAR = 3, 3
_SELF = frozenset({"i", "my", "me", "mine", "myself", "we", "our", "us"})


class AskedWords:
    """The meaningful words of a question, for finding them in sentences.

    Args:
        asked: meaningful words in lower case, in question order.
        names: stems of those that are names.
        elsewhere: words that say in which document to look, not what to look for.
    """

    def __init__(
        self, asked: Sequence[str], names: Collection[str] = (), elsewhere: Collection[str] = ()
    ) -> None:
        self.words = tuple(asked)
        self.name_stems = frozenset(names)
        stems = [stem(word) for word in asked]
        self._place = {word_stem: position for position, word_stem in reversed(list(enumerate(stems)))}
        self._same = [self._place[word_stem] for word_stem in stems]
        self.inside = np.array([word not in elsewhere for word in asked], dtype=np.float64)
        self.names = [position for position, word_stem in enumerate(stems) if word_stem in names]
        self._pairs = [
            (first, second)
            for first, second in zip(self._same, self._same[1:], strict=False)
            if first != second
        ]

    @classmethod
    def of(cls, question: str) -> "AskedWords":
        """Build from a question."""
        asked, inside = asked_words(question), asked_words(without_scope(question))
        return cls(asked, names_in(question), frozenset(asked) - frozenset(inside))

    def found_in(self, texts: Sequence[Sequence[str]]) -> tuple[NDArray[np.bool_], Scores]:
        """Return which words occur in each text of stems, and the share of word pairs that are near.

        Returns:
            [texts, words] and [texts].
        """
        held = np.zeros((len(texts), len(self.words)), dtype=np.bool_)
        near = np.zeros(len(texts))
        for number, text in enumerate(texts):
            if positions := self._places(text):
                held[number] = [word in positions for word in self._same]
                near[number] = self._near(positions)
        return held, near

    def in_names(self, names: Sequence[str]) -> Scores:
        """Return which words occur in each of the names [names, words]."""
        distinct = sorted(set(names))
        occurs, _ = self.found_in([list(map(stem, words(name))) for name in distinct])
        held = dict(zip(distinct, occurs, strict=True))
        return np.array([held[name] for name in names], dtype=np.float64)

    def _places(self, text: Sequence[str]) -> Mapping[int, list[int]]:
        """Return the positions of each word in a text."""
        positions: dict[int, list[int]] = {}
        if not self._place.keys().isdisjoint(text):
            for number, word_stem in enumerate(text):
                if (word := self._place.get(word_stem)) is not None:
                    positions.setdefault(word, []).append(number)
        return positions

    def _near(self, positions: Mapping[int, list[int]]) -> float:
        count = sum(
            any(
                abs(first - second) <= _NEAR
                for first in positions.get(word, ())
                for second in positions.get(next_word, ())
            )
            for word, next_word in self._pairs
        )
        return count / max(len(self._pairs), 1)


def answer_features(
    asked: AskedWords,
    lines: Sequence[SentenceLine],
    turns: Sequence[SpokenTurn],
    held: Scores,
    weight: Scores,
    same: NDArray[np.bool_],
    pairs: Scores,
) -> Scores:
    """Return the features of each sentence, one column for each of ``FEATURES``.

    ``around``: share of the question in the sentence and, with lower weight, its context. ``cover``: share in
    the five sentences centred on it. ``row``: share in its row, with repetition counting more. ``several``:
    logarithm of the number of words found. ``pairs``: share of neighbouring words of the question that are
    near each other. ``length``: logarithm of the sentence's length in words. ``reply``: how well another
    speaker's question right before matches. ``self``: whether a speaker whom the question names speaks of
    themselves.

    Args:
        asked: the question's words.
        lines: the sentences, at least one.
        turns: the speaker turn of each sentence.
        held: how well each sentence matches each word, 0–1 [n, w].
        weight: rarity of each word [w].
        same: whether the word itself occurs [n, w].
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
            _question_before(held @ share, lines, turns),
            named * speaks,
        ]
    )


def _question_before(own: Scores, lines: Sequence[SentenceLine], turns: Sequence[SpokenTurn]) -> Scores:
    """Return how well another speaker's question before each sentence matches, less with distance."""
    scores = np.zeros(len(lines))
    for position, turn in enumerate(turns):
        for distance in range(1, min(_REPLIES, position) + 1):
            before = position - distance
            asked = turns[before].asks and turns[before].speaker != turn.speaker
            if asked and lines[before].row == lines[position].row:
                scores[position] += own[before] / distance
    return scores


#: The features of a sentence; the cosines are those of the sentence and of its row.
ANSWER_FEATURES = (*FEATURES, "cosine", "row_cosine")
_WEIGHTS = np.array([ANSWER_WEIGHTS[name] for name in ANSWER_FEATURES])
#: Exponent of the value: the higher, the more likely sentences stand out and the fewer are quoted.
SHARPNESS = 0.15
#: Offsets of the neighbouring sentences.
_NEIGHBOURS = (-2, -1, 1, 2)
#: Minimum logit of a sentence, plus the number of the question's words in it and beside it, for a question to
#: have to do with the texts. It refuses one in twelve questions that people put to podcasts, and lets one in
#: eight through that were put to other texts (``benchmarks/left_out.py``, ``refusals.py``).
_BOUND = 10.8
#: Minimum share of the best value for a sentence to be related to a question in scope.
_OF_BEST = 0.35


@dataclass(frozen=True, slots=True)
class Relevance:
    """The value of each sentence, on any scale, whether it is related to the question, and its vector."""

    value: Scores
    related: NDArray[np.bool_]
    vectors: NDArray[np.float32]

    @property
    def percentile(self) -> Scores:
        """The share, 0…1, of the related sentences with at most the same value; 0 for unrelated ones."""
        ordered = np.sort(self.value[self.related])
        share = np.searchsorted(ordered, self.value, side="right") / max(len(ordered), 1)
        return np.where(self.related, share, 0.0)


def relevance(question: str, lines: Sequence[SentenceLine], embedder: Embedder) -> Relevance:
    """Compare a question with the sentences that could answer it.

    The meaningful words of the question, weighted by rarity, are looked up in the sentence, its neighbours,
    its row, its speaker and its title, by stem or else by the most similar word
    (:mod:`graphrag_dagster.kernel.text.citations`). The resulting features
    (:mod:`graphrag_dagster.kernel.retrieval.sentence_relevance`) and the cosines of the sentence and its row
    are weighted by ``ANSWER_WEIGHTS``; the value is exponential in the result.

    For an overview question, which has no such words, the value is the cosine to the mean of all sentences,
    higher for sentences that begin a row and for large rows, and every sentence is related.

    Args:
        question: as asked.
        lines: all sentences that may be quoted; also the background for rarity.
        embedder: makes the vectors.
    """
    if not lines:
        return Relevance(np.zeros(0), np.zeros(0, dtype=np.bool_), np.zeros((0, 1), dtype=np.float32))
    asked = asked_words(question)
    if not asked or (asks_for_overview(question) and _occurs(asked, lines)):
        return _overview_relevance(lines, embedder)
    return _focused_relevance(question, lines, embedder)


def _occurs(asked: Sequence[str], lines: Sequence[SentenceLine]) -> bool:
    wanted = {stem(word) for word in asked}
    return any(wanted.intersection(stems(line.text)) for line in lines)


def _overview_relevance(lines: Sequence[SentenceLine], embedder: Embedder) -> Relevance:
    vectors = embedder.embed([line.text for line in lines])
    middle = vectors.mean(axis=0, dtype=np.float64)
    cosine = cosines(vectors, middle / max(float(np.linalg.norm(middle)), 1e-9))
    size = np.array([line.size for line in lines], dtype=np.float64)
    begins = np.array([1.0 if line.place < 2 else 0.6 for line in lines])
    value = cosine.clip(0) * begins * (0.5 + 0.5 * size / size.max())
    return Relevance(round_for_comparison(value), np.ones(len(lines), dtype=np.bool_), vectors)


@dataclass(frozen=True, slots=True)
class _QuestionFeatures:
    """A question compared with sentences: features [n, ANSWER_FEATURES], word alignment and vectors."""

    asked: AskedWords
    said_by: Sequence[SpokenTurn]
    found: Aligned
    features: Scores
    vectors: NDArray[np.float32]

    def feature(self, name: str) -> Scores:
        column: Scores = self.features[:, ANSWER_FEATURES.index(name)]
        return column


def sentence_features(question: str, lines: Sequence[SentenceLine], embedder: Embedder) -> Scores:
    """Return the features of each sentence, one column for each of ``ANSWER_FEATURES``.

    Args:
        question: with meaningful words.
        lines: the sentences, at least one.
        embedder: makes the vectors.
    """
    return _read(question, lines, embedder).features


def _read(question: str, lines: Sequence[SentenceLine], embedder: Embedder) -> _QuestionFeatures:
    asked = AskedWords.of(question)
    said_by = turns(lines)
    spoken_texts = [turn.said for turn in said_by]
    alignment = align_words(asked.words, spoken_texts, embedder, asked.name_stems)
    _, pair_shares = asked.found_in([turn.stems for turn in said_by])
    features = answer_features(
        asked, lines, said_by, alignment.held, alignment.weight, alignment.same, pair_shares
    )
    vectors = embedder.embed([" ".join(asked.words), *spoken_texts])
    row_vectors = unit_rows(ContextLines(lines).sums(vectors[1:].astype(np.float64)))
    similarities = [cosines(unit_vectors, vectors[0]).clip(0) for unit_vectors in (vectors[1:], row_vectors)]
    return _QuestionFeatures(
        asked, said_by, alignment, np.column_stack([features, *similarities]), vectors[1:]
    )


def _focused_relevance(question: str, lines: Sequence[SentenceLine], embedder: Embedder) -> Relevance:
    parsed = _read(question, lines, embedder)
    logits = round_for_comparison(parsed.features @ _WEIGHTS)
    value = round_for_comparison(np.exp(SHARPNESS * (logits - logits.max())))
    related = np.zeros(len(lines), dtype=np.bool_)
    if _is_in_scope_of(parsed, lines, logits):
        related = value >= round_for_comparison(_OF_BEST * value.max())
    return Relevance(value, related, parsed.vectors)


def _is_in_scope_of(parsed: _QuestionFeatures, lines: Sequence[SentenceLine], logits: Scores) -> bool:
    """Return whether a question is in the scope of the sentences.

    Where it names their documents, one of its words suffices: it is no question about something else.
    """
    asked, alignment = parsed.asked, parsed.found
    if all(line.selected for line in lines) and alignment.same.any():
        return True
    occurs = np.maximum.reduce(
        [
            alignment.same,
            asked.in_names([turn.speaker for turn in parsed.said_by]),
            asked.in_names([line.title for line in lines]),
        ]
    )
    same, rows = alignment.same.astype(np.float64), ContextLines(lines)
    held = np.maximum.reduce([occurs, *(rows.shifted(same, distance) for distance in _NEIGHBOURS)])
    return bool((round_for_comparison(logits + held.sum(axis=1)) >= _BOUND).any())

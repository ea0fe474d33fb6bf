"""How much sentences have to do with a question (English)."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.ranks import comparable, cosines
from graphrag_dagster.core.text.alignment import aligned
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.core.text.english_words import GENERAL, GENRES, THEMES
from graphrag_dagster.core.text.similarity import stem, stems, words
from graphrag_dagster.core.text.turns import asks, speaker_before

Numbers = NDArray[np.float64]

#: What counts how much: the sentence's own words, those of all that stands around it, nearness of the whole.
#: This and what follows was chosen on half of the questions about podcasts, and on meetings (``benchmarks``).
_OWN, _ALL, _NEAR = 0.5, 1.5, 0.5
#: What a word counts that stands so many sentences before, anywhere in the row, in its speaker or its title.
_AROUND = {2: 0.4, 1: 0.3, -1: 0.4, -2: 0.2}
_ROW, _SPEAKER, _TITLE = 0.3, 1.0, 0.7
#: What a sentence that asks, or that is shorter than so many words, keeps of its value.
_ASKING, _SHORT, _WORDS = 0.7, 0.5, 6
#: What it keeps where the question names somebody or something that nothing beside it names.
_UNNAMED = 0.85
#: What the likeness of a question in the text adds to the sentences that another speaker answers with.
_REPLY, _REPLIES = 0.4, 3
#: Least share of the question's words around a sentence from which the question is in scope, by how many of
#: them stand in it or beside it, less a share of its cosine. See ``benchmarks/refusals.py``.
_ONE_WORD, _ONE, _TWO, _MORE, _BY_COSINE = 0.99, 0.9, 0.55, 0.35, 0.4
#: Words from which a question may name something that the documents do not.
_LONG = 6
#: Words of names in or beside one sentence that are enough by themselves.
_FULL_NAME = 2
#: What a sentence must have of the best one's value to be related to a question that is in scope.
_OF_BEST = 0.5
_NAME_IN_QUESTION = re.compile(r"(?<=[^.?!:]\s)[\"'“‘(]?([^\W\d_a-z][\w'’-]*)")

_GENERAL, _THEMES, _GENRES = (frozenset(map(stem, listed)) for listed in (GENERAL, THEMES, GENRES))


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence as it stands: its place in its row 0…, the row's sentences, number and title.

    Lines of one row follow each other.
    """

    text: str
    place: int
    size: int
    row: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Relevance:
    """Of each sentence: its value, of any scale, and whether it has anything to do with the question."""

    value: Numbers
    related: NDArray[np.bool_]
    vectors: NDArray[np.float32]

    @property
    def percentile(self) -> Numbers:
        """The share, 0…1, of the related sentences whose value is not larger; 0 for the others."""
        ordered = np.sort(self.value[self.related])
        share = np.searchsorted(ordered, self.value, side="right") / max(len(ordered), 1)
        return np.where(self.related, share, 0.0)


def asks_for_overview(question: str) -> bool:
    """Return whether a question looks for nothing in particular.

    Such are "What are the main themes?", which names nothing, and "Who are the main actors in the harbour,
    and how are they connected?", which names one common word among several that ask for an overview.
    """
    asked = asked_words(question)
    general = [word for word in words(question) if set(stems(word)) & _GENERAL]
    return not asked or (len(asked) == 1 and len(general) > 1 and not _NAME_IN_QUESTION.search(question))


def asked_words(question: str) -> list[str]:
    """Return the words of a question that say what to look for, each once."""
    every = set(stems(question))
    general = _GENERAL | _GENRES if every & _THEMES else _GENERAL
    return [word for word in dict.fromkeys(words(question)) if set(stems(word)) - general]


def names_in(question: str) -> frozenset[str]:
    """Return the stems of the words of a question that are written as names."""
    found = (word for name in _NAME_IN_QUESTION.findall(question) for word in words(name))
    return frozenset(stem(word) for word in found if word.isalpha())


def relevance(question: str, lines: Sequence[Line], embedder: Embedder) -> Relevance:
    """Compare a question with the sentences that could answer it.

    The meaningful words of the question, rarer ones counting more, are looked for in the sentence, in those
    beside it, in its row, its speaker and its title, by stem and else by the nearest meaning of a word
    (:mod:`graphrag_dagster.core.text.alignment`); what stands farther away counts less. The value grows with
    what of them the sentence holds, what it holds with all that is around it, and the cosine of the whole. A
    sentence that asks, or says little, loses; one that answers a question like this one gains.

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
    return _focused(question, asked, lines, embedder)


def _occurs(asked: Sequence[str], lines: Sequence[Line]) -> bool:
    wanted = {stem(word) for word in asked}
    return any(wanted.intersection(stems(line.text)) for line in lines)


def _overview(lines: Sequence[Line], embedder: Embedder) -> Relevance:
    vectors = embedder.embed([line.text for line in lines])
    middle = vectors.mean(axis=0, dtype=np.float64)
    cosine = cosines(vectors, middle / max(float(np.linalg.norm(middle)), 1e-9))
    size = np.array([line.size for line in lines], dtype=np.float64)
    begins = np.array([1.0 if line.place < 2 else 0.6 for line in lines])
    value = cosine.clip(0) * begins * (0.5 + 0.5 * size / size.max())
    return Relevance(comparable(value), np.ones(len(lines), dtype=np.bool_), vectors)


@dataclass(frozen=True, slots=True)
class _Turn:
    speaker: str
    said: str
    asks: bool


def _turns(lines: Sequence[Line]) -> list[_Turn]:
    """Who says each line, as the last label in its row says."""
    found: list[_Turn] = []
    speaker, row = "", None
    for line in lines:
        named, start = speaker_before(line.text)
        if start or line.row != row:
            speaker, row = named, line.row
        said = line.text[start:]
        found.append(_Turn(speaker, said, asks(said)))
    return found


def _focused(question: str, asked: Sequence[str], lines: Sequence[Line], embedder: Embedder) -> Relevance:
    turns, names = _turns(lines), names_in(question)
    found = aligned(asked, [turn.said for turn in turns], embedder, names)
    share = found.weight / math.fsum(found.weight)
    speakers = _naming(asked, [turn.speaker for turn in turns])
    titles = _naming(asked, [line.title for line in lines])
    around = np.maximum.reduce(
        [
            found.held,
            _beside(found.held, lines),
            _anywhere(found.held, lines),
            _SPEAKER * speakers,
            _TITLE * titles,
        ]
    )
    own, whole = found.held @ share, around @ share
    vectors = embedder.embed([" ".join(asked), *(turn.said for turn in turns)])
    cosine = cosines(vectors[1:], vectors[0]).clip(0)
    there = np.maximum.reduce([found.same, speakers, titles])
    beside = np.maximum(there, _beside(found.same.astype(np.float64), lines) > 0)
    value = (_OWN * own + _ALL * whole + _NEAR * cosine + _answering(own, lines, turns)) * _sound(turns)
    value = comparable(value * _naming_it(asked, names, beside))
    related = np.zeros(len(lines), dtype=np.bool_)
    full_name = beside[:, _places(asked, names)].sum(axis=1) >= _FULL_NAME
    if full_name.any() or (
        _all_known(asked, names, there) and _in_scope(beside.sum(axis=1), whole, cosine, len(asked))
    ):
        related = value >= comparable(_OF_BEST * value.max())
    return Relevance(value, related, vectors[1:])


def _naming_it(asked: Sequence[str], names: Collection[str], beside: Numbers) -> Numbers:
    """What of its value a sentence keeps where nothing beside it names what the question names."""
    if not (named := _places(asked, names)):
        return np.ones(len(beside))
    return np.where(beside[:, named].any(axis=1), 1.0, _UNNAMED)


def _places(asked: Sequence[str], names: Collection[str]) -> list[int]:
    return [place for place, word in enumerate(asked) if stem(word) in names]


def _all_known(asked: Sequence[str], names: Collection[str], there: Numbers) -> bool:
    """Whether every name of a short question stands somewhere."""
    return len(asked) >= _LONG or all(there[:, place].any() for place in _places(asked, names))


def _in_scope(held: Numbers, whole: Numbers, cosine: Numbers, asked: int) -> bool:
    """Whether any sentence holds enough of the question's words."""
    least = np.select([held < 1, held < 2, held < 3], [np.inf, _ONE, _TWO], _MORE) - _BY_COSINE * cosine
    if asked == 1:
        least = np.where(held < 1, np.inf, _ONE_WORD)
    return bool((comparable(whole) >= comparable(least)).any())


def _beside(held: Numbers, lines: Sequence[Line]) -> Numbers:
    """What the sentences beside each hold."""
    rows = np.array([line.row for line in lines])
    places = np.array([line.place for line in lines])
    best = np.zeros_like(held)
    for distance, share in _AROUND.items():
        own, other = _apart(len(lines), distance)
        near = (rows[own] == rows[other]) & (places[own] - places[other] == distance)
        best[own] = np.maximum(best[own], share * held[other] * near[:, None])
    return best


def _apart(count: int, distance: int) -> tuple[slice, slice]:
    ahead, behind = slice(abs(distance), count), slice(0, max(count - abs(distance), 0))
    return (ahead, behind) if distance > 0 else (behind, ahead)


def _anywhere(held: Numbers, lines: Sequence[Line]) -> Numbers:
    rows = np.array([line.row for line in lines])
    starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
    best = np.maximum.reduceat(held, starts, axis=0)
    return _ROW * np.repeat(best, np.diff(np.append(starts, len(lines))), axis=0)


def _naming(asked: Sequence[str], names: Sequence[str]) -> Numbers:
    """Which words of the question stand in each name."""
    wanted = [stem(word) for word in asked]
    known = {name: frozenset(map(stem, words(name))) for name in set(names)}
    return np.array([[word in known[name] for word in wanted] for name in names], dtype=np.float64)


def _answering(own: Numbers, lines: Sequence[Line], turns: Sequence[_Turn]) -> Numbers:
    added = np.zeros(len(lines))
    for place, turn in enumerate(turns):
        for distance in range(1, min(_REPLIES, place) + 1):
            before = place - distance
            asked = turns[before].asks and turns[before].speaker != turn.speaker
            if asked and lines[before].row == lines[place].row:
                added[place] += _REPLY * own[before] / distance
    return added


def _sound(turns: Sequence[_Turn]) -> Numbers:
    return np.array(
        [
            (_ASKING if turn.asks else 1.0) * (_SHORT if len(turn.said.split()) < _WORDS else 1.0)
            for turn in turns
        ]
    )

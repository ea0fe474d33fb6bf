"""What speaks for a sentence as an answer: the words of the question that it holds, and what is around it."""

import math
import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_scores import Scores
from graphrag_dagster.kernel.text.english_words import DOCUMENTS, GENERAL, GENRES, SAYING, THEMES
from graphrag_dagster.kernel.text.lines import Line, Rows, Turn
from graphrag_dagster.kernel.text.similarity import stem, stems, words

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
    lines: Sequence[Line],
    turns: Sequence[Turn],
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
    rows = Rows(lines)
    speakers = asked.in_names([turn.speaker for turn in turns])
    titles = _TITLE * asked.in_names([line.title for line in lines])
    beside = {distance: rows.beside(held, distance) for distance in _AROUND}
    fading = [part * beside[distance] for distance, part in _AROUND.items()]
    around = np.maximum.reduce([held, *fading, _ROW * rows.best(held), speakers, titles])
    cover = np.maximum.reduce([held, *beside.values(), speakers, titles])
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


def _replies(own: Scores, lines: Sequence[Line], turns: Sequence[Turn]) -> Scores:
    """How much another speaker's question right before each sentence holds, less the farther it is."""
    added = np.zeros(len(lines))
    for place, turn in enumerate(turns):
        for distance in range(1, min(_REPLIES, place) + 1):
            before = place - distance
            asked = turns[before].asks and turns[before].speaker != turn.speaker
            if asked and lines[before].row == lines[place].row:
                added[place] += own[before] / distance
    return added

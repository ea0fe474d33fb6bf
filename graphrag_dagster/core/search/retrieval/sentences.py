"""Sentences of a text, and what of a question each of them has."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from sys import intern

import numpy as np
from numpy.typing import NDArray

# What begins with one of few characters is found fastest.
_BETWEEN = re.compile(r"[.!?\n](?:(?<=[a-z0-9)\]\"”’][.!?])\s+|(?<=\n)\n*)")
_WORD = re.compile(r"\w+")
_LONGEST_ENDING = 5


@dataclass(frozen=True, slots=True)
class SentenceWords:
    """The words of a text in lower case, ascending, each with the sentence in which it stands."""

    words: tuple[str, ...]
    at: tuple[int, ...]
    sentences: int


def sentence_starts(text: str) -> list[int]:
    """Return where the sentences of a text begin, by its full stops and line breaks."""
    return [0, *(between.end() for between in _BETWEEN.finditer(text))]


def sentences(text: str) -> list[str]:
    """Return a text sentence by sentence, with nothing left out.

    >>> sentences("One of 2. Then \\nthree")
    ['One of 2. ', 'Then \\n', 'three']
    """
    return [text[start:end] for start, end in pairwise([*sentence_starts(text), len(text)])]


def sentence_words(text: str) -> SentenceWords:
    """Return the words of the :func:`sentences` of a text."""
    words: list[str] = []
    at: list[int] = []
    whole = sentences(text)
    for place, one in enumerate(whole):
        found = set(_WORD.findall(one.lower()))
        words += map(intern, found)
        at += [place] * len(found)
    order = sorted(range(len(words)), key=words.__getitem__)
    return SentenceWords(tuple([words[i] for i in order]), tuple([at[i] for i in order]), len(whole))


class TermFinder:
    """Finds a question's stems in texts, by what words begin with.

    Args:
        stems: the stems.
    """

    def __init__(self, stems: Sequence[str]) -> None:
        # Of two stems of which one begins with the other, the longer is found first.
        self._order = sorted(range(len(stems)), key=lambda place: (-len(stems[place]), place))
        likely = "|".join(f"({_pattern(stems[place])})" for place in self._order)
        self._pattern = re.compile(rf"(?:{likely})\w{{0,{_LONGEST_ENDING}}}")
        self._beginnings = tuple(dict.fromkeys(map(_beginning, stems)))
        self._stem_of: dict[str, int | None] = {}

    def found(self, text: SentenceWords) -> NDArray[np.bool_]:
        """Return which sentence has which stem [sentences, stems]."""
        found = np.zeros((text.sentences, len(self._order)), dtype=np.bool_)
        words = text.words
        for beginning in self._beginnings:
            for at in range(bisect_left(words, beginning), len(words)):
                if not words[at].startswith(beginning):
                    break
                if (stem := self._stem(words[at])) is not None:
                    found[text.at[at], stem] = True
        return found

    def _stem(self, word: str) -> int | None:
        if word not in self._stem_of:
            found = self._pattern.fullmatch(word)
            self._stem_of[word] = None if found is None else self._order[(found.lastindex or 1) - 1]
        return self._stem_of[word]


def _pattern(stem: str) -> str:
    beginning = re.escape(_beginning(stem))
    return beginning if len(_beginning(stem)) == len(stem) else f"{beginning}[iy]"


def _beginning(stem: str) -> str:
    """What all words of a stem begin with: a stem of "happy" is "happi"."""
    return stem[:-1] if len(stem) > 2 and stem.endswith("i") else stem

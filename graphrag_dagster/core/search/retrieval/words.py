"""Words as names are compared by: without case, accents and punctuation."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

# Letters that have no decomposition into a base letter and an accent.
_PLAIN = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "’": "'", "ʼ": "'"}
)
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"'s\b")


@dataclass(frozen=True, slots=True)
class WordForms:
    """The words of a text, folded, and as it writes them."""

    folded: tuple[str, ...]
    written: tuple[str, ...]


def fold(text: str) -> str:
    """Return the text without case, accents and the possessive ``'s``.

    >>> fold("Henry I of Ziębice's")
    'henry i of ziebice '
    """
    if text.isascii():
        return _POSSESSIVE.sub(" ", text.lower())
    plain = unicodedata.normalize("NFKD", text.casefold().translate(_PLAIN))
    return _POSSESSIVE.sub(" ", "".join(char for char in plain if not unicodedata.combining(char)))


def words(text: str) -> list[str]:
    """Return the folded words of a text in order."""
    return _WORD.findall(fold(text))


def words_with_case(text: str) -> WordForms:
    """Return the folded words of a text and, place by place, the words as written."""
    folded: list[str] = []
    written: list[str] = []
    for piece in re.findall(r"\S+", text):
        inner = words(piece)
        plain = _WORD.findall(piece)
        for place, word in enumerate(inner):
            folded.append(word)
            written.append(plain[place] if place < len(plain) else piece)
    return WordForms(tuple(folded), tuple(written))


class WordRarity:
    """How rare words are among some texts, between 0 (in every text) and 1 (in none).

    ``log((n + 1) / (d + 1)) / log(n + 1)`` for a word that d of the n texts contain.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        counts: dict[str, int] = {}
        size = 0
        for text in texts:
            size += 1
            for word in set(words(text)):
                counts[word] = counts.get(word, 0) + 1
        self._counts = counts
        self._size = size

    def of(self, word: str) -> float:
        """Return the rarity of one folded word."""
        if not self._size:
            return 1.0
        return log((self._size + 1) / (self._counts.get(word, 0) + 1)) / log(self._size + 1)

    def of_all(self, found: Iterable[str]) -> NDArray[np.float64]:
        """Return the rarity of each word, in order."""
        return np.array([self.of(word) for word in found], dtype=np.float64)

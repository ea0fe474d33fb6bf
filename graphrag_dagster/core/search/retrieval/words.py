"""Words as names are compared by: without case, accents and punctuation."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from math import log

# Letters that have no decomposition into a base letter and an accent.
_PLAIN = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "’": "'", "ʼ": "'"}
)
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"'s\b")
# A word with what may be its possessive.
_PIECE = re.compile(r"[^\W_]+(?:['’ʼ][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.?!:]['\"”’)]*$")


@dataclass(frozen=True, slots=True)
class WordForms:
    """The words of a text: folded, as it writes them, whether each begins a sentence, and where it stands."""

    folded: tuple[str, ...]
    written: tuple[str, ...]
    begins: tuple[bool, ...]
    spans: tuple[tuple[int, int], ...]
    whole: str

    def text(self, start: int, end: int) -> str:
        """Return words ``start`` to ``end`` as they stand in the text."""
        return self.whole[self.spans[start][0] : self.spans[end - 1][1]]

    def capital(self, place: int) -> bool:
        """Return whether a word is written like a name: with a capital or a digit at its beginning."""
        first = self.written[place][:1]
        return first.isupper() or first.isdigit()


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
    spans: list[tuple[int, int]] = []
    begins: list[bool] = []
    new = True
    for piece in re.finditer(r"\S+", text):
        plain = [found.span() for found in _WORD.finditer(piece[0])]
        for place, word in enumerate(words(piece[0])):
            start, end = plain[place] if place < len(plain) else (0, len(piece[0]))
            folded.append(word)
            written.append(piece[0][start:end])
            spans.append((piece.start() + start, piece.start() + end))
            begins.append(new)
            new = False
        new = new or bool(_SENTENCE_END.search(piece[0]))
    return WordForms(tuple(folded), tuple(written), tuple(begins), tuple(spans), text)


class WordRarity:
    """How rare words are among some texts, between 0 (in every text) and 1 (in none).

    ``log((n + 1) / (d + 1)) / log(n + 1)`` for a word that d of the n texts contain.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        counts: dict[str, int] = {}
        plain: dict[str, int] = {}
        folds: dict[str, tuple[str, ...]] = {}
        size = 0
        for text in texts:
            size += 1
            found: dict[str, bool] = {}
            for piece in set(_PIECE.findall(text)):
                if piece not in folds:
                    folds[piece] = tuple(words(piece))
                for word in folds[piece]:
                    found[word] = found.get(word, False) or piece[0].islower()
            for word, lower in found.items():
                counts[word] = counts.get(word, 0) + 1
                if lower:
                    plain[word] = plain.get(word, 0) + 1
        self._counts = counts
        self._plain = plain
        self._size = size

    def of(self, word: str) -> float:
        """Return the rarity of one folded word."""
        if not self._size:
            return 1.0
        return log((self._size + 1) / (self._counts.get(word, 0) + 1)) / log(self._size + 1)

    def knows(self, word: str) -> bool:
        """Return whether any of the texts has the folded word."""
        return word in self._counts

    def is_plain(self, word: str) -> bool:
        """Return whether at least half of the texts that have a folded word have it in lower case."""
        return 2 * self._plain.get(word, 0) >= self._counts.get(word, 1)

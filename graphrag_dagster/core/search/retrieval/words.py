"""Words as names are compared by: without case, accents and punctuation."""

import re
import unicodedata
from dataclasses import dataclass

# Letters that have no decomposition into a base letter and an accent.
_PLAIN = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "’": "'", "ʼ": "'"}
)
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"'s\b")
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

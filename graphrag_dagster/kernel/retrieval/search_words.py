"""Words, stems and sentences of texts, as they are searched."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from sys import intern
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

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


# As bm25s cuts and leaves out, which takes a tenth of a second to be imported.
_TOKEN = re.compile(r"(?u)\b\w\w+\b")
#: What Lucene leaves out.
STOP_WORDS = frozenset(
    (
        *(
            "a",
            "an",
            "and",
            "are",
            "as",
            "at",
            "be",
            "but",
            "by",
            "for",
            "if",
            "in",
            "into",
            "is",
            "it",
            "no",
        ),
        *("not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this"),
        *("to", "was", "will", "with"),
    )
)


def stems_of(texts: Sequence[str]) -> list[list[str]]:
    """Return the stems of the words of each text, without those that have no meaning of their own.

    >>> stems_of(["The red foxes?"])
    [['red', 'fox']]
    """
    found = [[word for word in _TOKEN.findall(text.lower()) if word not in STOP_WORDS] for text in texts]
    different = list(dict.fromkeys(word for words in found for word in words))
    stem_of = dict(zip(different, _stemmer().stemWords(different), strict=True))
    return [[stem_of[word] for word in words] for words in found]


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


# What begins with one of few characters is found fastest.
_BETWEEN = re.compile(r"[.!?\n](?:(?<=[a-z0-9)\]\"”’][.!?])\s+|(?<=\n)\n*)")
_WORD_OR_NUMBER = re.compile(r"\w+")
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
        found = set(_WORD_OR_NUMBER.findall(one.lower()))
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
        self._prefixes = tuple(dict.fromkeys(map(_prefix, stems)))
        self._stem_of: dict[str, int | None] = {}

    def found(self, text: SentenceWords) -> NDArray[np.bool_]:
        """Return which sentence has which stem [sentences, stems]."""
        found = np.zeros((text.sentences, len(self._order)), dtype=np.bool_)
        words = text.words
        for prefix in self._prefixes:
            for at in range(bisect_left(words, prefix), len(words)):
                if not words[at].startswith(prefix):
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
    prefix = re.escape(_prefix(stem))
    return prefix if len(_prefix(stem)) == len(stem) else f"{prefix}[iy]"


def _prefix(stem: str) -> str:
    """What all words of a stem begin with: a stem of "happy" is "happi"."""
    return stem[:-1] if len(stem) > 2 and stem.endswith("i") else stem


#: Words at which a clause begins, or the other side of a choice.
_BEGINS = frozenset(
    ["who", "whom", "whose", "which", "that", "what", "where", "when", "why", "how", "whether"]
)
_JOINS = frozenset(["and", "or", "than"])


class Decomposer(Protocol):
    """Takes questions apart."""

    def parts(self, question: str) -> Sequence[str]:
        """Return the parts of a question, in its words; the whole where it has none."""


class Clauses:
    """Takes questions apart at the words that begin clauses and join them, by rule (English)."""

    def parts(self, question: str) -> Sequence[str]:
        """Return the clauses of a question.

        >>> Clauses().parts("Where was the man who built the Tallow born, or his wife?")
        ('was the man', 'built the Tallow born', 'his wife')
        """
        found = words_with_case(question)
        cuts = [at for at, word in enumerate(found.folded) if word in _BEGINS or word in _JOINS]
        bounds = zip([-1, *cuts], [*cuts, len(found.folded)], strict=True)
        return tuple(found.text(start + 1, end) for start, end in bounds if end > start + 1)

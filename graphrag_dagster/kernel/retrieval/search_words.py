"""Words, stems and sentences of texts for search."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from sys import intern
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.text.east_asian import has_east_asian, in_pairs, pairs
from graphrag_dagster.kernel.text.folding import INDIAN, WORD, FoldedText, fold, fold_case
from graphrag_dagster.kernel.text.languages import ENGLISH, FUNCTION_WORDS

_POSSESSIVE = re.compile(r"'s\b")
_SENTENCE_END = re.compile(r"[.?!:]['\"”’)]*$")


@dataclass(frozen=True, slots=True)
class WordForms:
    """The words of a text: folded, as written, whether each begins a sentence, and its span."""

    folded: tuple[str, ...]
    written: tuple[str, ...]
    begins: tuple[bool, ...]
    spans: tuple[tuple[int, int], ...]
    whole: str

    def text(self, start: int, end: int) -> str:
        """Return words ``start`` to ``end`` as written in the text."""
        return self.whole[self.spans[start][0] : self.spans[end - 1][1]]

    def capital(self, place: int) -> bool:
        """Return whether a word begins with a capital or a digit, like a name."""
        first = self.written[place][:1]
        return first.isupper() or first.isdigit()


def fold_name(text: str) -> str:
    """Return the folded text without the possessive ``'s``.

    >>> fold_name("Henry I of Ziębice's")
    'henry i of ziebice  '
    """
    # As long as before, so that places stay.
    return _POSSESSIVE.sub("  ", fold(text))


def words(text: str) -> list[str]:
    """Return the folded words of a text in order; of Chinese and Japanese, pairs of letters."""
    found = WORD.findall(fold_name(text))
    return in_pairs(found) if has_east_asian(text) else found


def words_with_case(text: str) -> WordForms:
    """Return the folded words of a text with their original spelling and positions."""
    folded: list[str] = []
    written: list[str] = []
    spans: list[tuple[int, int]] = []
    begins: list[bool] = []
    at_start, east_asian = True, has_east_asian(text)
    for piece in re.finditer(r"\S+", text):
        plain = FoldedText(piece[0])
        for match in WORD.finditer(_POSSESSIVE.sub("  ", plain.text)):
            for first, last in pairs(match[0]) if east_asian else [(0, len(match[0]))]:
                start, end = plain.original(match.start() + first, match.start() + last)
                folded.append(unicodedata.normalize("NFC", match[0][first:last]))
                written.append(piece[0][start:end])
                spans.append((piece.start() + start, piece.start() + end))
                begins.append(at_start)
                at_start = False
        at_start = at_start or bool(_SENTENCE_END.search(piece[0]))
    return WordForms(tuple(folded), tuple(written), tuple(begins), tuple(spans), text)


# The tokens and stop words of bm25s, whose import takes a tenth of a second.
_TOKEN = re.compile(rf"\w(?:\w|[{INDIAN}])+")
#: The stop words of Lucene.
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


#: Snowball's stemmers of languages; words of others, such as Chinese, have no endings, or stay with English.
_STEMMERS: Mapping[str, str] = MappingProxyType(
    {
        "de": "german",
        "es": "spanish",
        "fr": "french",
        "it": "italian",
        "pt": "portuguese",
        "nl": "dutch",
        "cs": "czech",
    }
)


def stems_of(texts: Sequence[str], language: str = ENGLISH) -> list[list[str]]:
    """Return the stems of the words of each text without stop words.

    Args:
        texts: of any language; their words are stemmed as those of one.
        language: ISO 639 code of it, as :func:`graphrag_dagster.kernel.text.languages.main_language` tells.

    >>> stems_of(["The red foxes?"])
    [['red', 'fox']]
    """
    stop_words = STOP_WORDS if language == ENGLISH else FUNCTION_WORDS.get(language, STOP_WORDS)
    tokens = [[word for word in _tokens(text) if word not in stop_words] for text in texts]
    distinct = list(dict.fromkeys(word for words in tokens for word in words))
    stemmer = _stemmer(_STEMMERS.get(language, "english"))
    stem_of = dict(zip(distinct, stemmer.stemWords(distinct), strict=True))
    # Stemmers know endings by their accents; who asks may not write them.
    folded = {word: fold(stem) for word, stem in stem_of.items()}
    return [[folded[word] for word in words] for words in tokens]


def _tokens(text: str) -> list[str]:
    found = _TOKEN.findall(fold_case(text))
    return in_pairs(found) if has_east_asian(text) else found


@cache
def _stemmer(algorithm: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(algorithm)


# A pattern that begins with one of a few characters is the fastest.
_BETWEEN = re.compile(
    r"[.!?\n。！？](?:(?<=[a-z0-9)\]\"”’][.!?])\s+|(?<=\n)\n*|(?<=[。！？])[」』”’]*+(?!\Z))"
)
_WORD_OR_NUMBER = re.compile(r"\w+")
_LONGEST_ENDING = 5


@dataclass(frozen=True, slots=True)
class SentenceWords:
    """The sorted lower-case words of a text, each with the number of its sentence."""

    words: tuple[str, ...]
    at: tuple[int, ...]
    sentences: int


def sentence_starts(text: str) -> list[int]:
    """Return where the sentences of a text begin, by full stops and line breaks."""
    return [0, *(between.end() for between in _BETWEEN.finditer(text))]


def sentences(text: str) -> list[str]:
    """Split a text into sentences without leaving anything out.

    >>> sentences("One of 2. Then \\nthree")
    ['One of 2. ', 'Then \\n', 'three']
    """
    return [text[start:end] for start, end in pairwise([*sentence_starts(text), len(text)])]


def sentence_words(text: str) -> SentenceWords:
    """Return the words of the :func:`sentences` of a text."""
    words: list[str] = []
    numbers: list[int] = []
    all_sentences = sentences(text)
    for number, sentence in enumerate(all_sentences):
        found = _WORD_OR_NUMBER.findall(fold(sentence))
        distinct = set(in_pairs(found) if has_east_asian(sentence) else found)
        words += map(intern, distinct)
        numbers += [number] * len(distinct)
    order = sorted(range(len(words)), key=words.__getitem__)
    return SentenceWords(
        tuple([words[i] for i in order]), tuple([numbers[i] for i in order]), len(all_sentences)
    )


class TermFinder:
    """Finds the stems of a question in texts by the prefixes of words.

    Args:
        stems: the stems.
    """

    def __init__(self, stems: Sequence[str]) -> None:
        # If one stem is a prefix of another, the longer one is matched first.
        self._order = sorted(range(len(stems)), key=lambda position: (-len(stems[position]), position))
        patterns = "|".join(f"({_pattern(stems[position])})" for position in self._order)
        self._pattern = re.compile(rf"(?:{patterns})\w{{0,{_LONGEST_ENDING}}}")
        self._prefixes = tuple(dict.fromkeys(map(_prefix, stems)))
        self._stem_of: dict[str, int | None] = {}

    def find(self, text: SentenceWords) -> NDArray[np.bool_]:
        """Return which sentence has which stem [sentences, stems]."""
        occurs = np.zeros((text.sentences, len(self._order)), dtype=np.bool_)
        words = text.words
        for prefix in self._prefixes:
            for position in range(bisect_left(words, prefix), len(words)):
                if not words[position].startswith(prefix):
                    break
                if (stem := self._stem(words[position])) is not None:
                    occurs[text.at[position], stem] = True
        return occurs

    def _stem(self, word: str) -> int | None:
        if word not in self._stem_of:
            match = self._pattern.fullmatch(word)
            self._stem_of[word] = None if match is None else self._order[(match.lastindex or 1) - 1]
        return self._stem_of[word]


def _pattern(stem: str) -> str:
    prefix = re.escape(_prefix(stem))
    return prefix if len(_prefix(stem)) == len(stem) else f"{prefix}[iy]"


def _prefix(stem: str) -> str:
    """Return the common prefix of all words of a stem; that of "happi", from "happy", is "happ"."""
    return stem[:-1] if len(stem) > 2 and stem.endswith("i") else stem


#: Words that begin a clause, or the other side of a choice.
_BEGINS = frozenset(
    ["who", "whom", "whose", "which", "that", "what", "where", "when", "why", "how", "whether"]
)
_JOINS = frozenset(["and", "or", "than"])


class Decomposer(Protocol):
    """Splits questions into parts."""

    def parts(self, question: str) -> Sequence[str]:
        """Return the parts of a question in its own words; the whole question if it has none."""


class Clauses:
    """Splits questions at the words that begin or join clauses, by rule (English)."""

    def parts(self, question: str) -> Sequence[str]:
        """Return the clauses of a question.

        >>> Clauses().parts("Where was the man who built the Tallow born, or his wife?")
        ('was the man', 'built the Tallow born', 'his wife')
        """
        question_words = words_with_case(question)
        cuts = [
            position
            for position, word in enumerate(question_words.folded)
            if word in _BEGINS or word in _JOINS
        ]
        bounds = zip([-1, *cuts], [*cuts, len(question_words.folded)], strict=True)
        return tuple(question_words.text(start + 1, end) for start, end in bounds if end > start + 1)

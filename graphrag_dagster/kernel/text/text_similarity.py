"""Word overlap of sentences, and selection without repetition."""

import html
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import cosines, round_for_comparison
from graphrag_dagster.kernel.text.east_asian import has_east_asian, in_pairs
from graphrag_dagster.kernel.text.english_words import BASE_FORMS, STOP_WORDS
from graphrag_dagster.kernel.text.folding import WORD, fold

_QUOTES = "\"'“”‘’«»`„‚"
_SPACES = str.maketrans("\t\n\r", "   ")


def clean(text: str) -> str:
    """Unescape HTML, drop control characters and outer quotes, collapse white space."""
    printable = html.unescape(text)
    if not printable.isprintable():
        printable = "".join(filter(str.isprintable, printable.translate(_SPACES)))
    return _strip_marks(printable)


def _strip_marks(text: str) -> str:
    return " ".join(text.split()).strip(_QUOTES).strip()


# Each name is normalised several times, for itself and for its relationships.
@lru_cache(maxsize=32_768)
def normalise(name: str) -> str:
    """Return the name by which instances are merged: cleaned, NFKC, upper case.

    >>> normalise('  "Harbour&amp;Sons Ltd" ')
    'HARBOUR&SONS LTD'
    """
    # NFKC turns some characters into blanks and others; stripping again makes this idempotent.
    return _strip_marks(unicodedata.normalize("NFKC", clean(name))).upper()


#: ROUGE-L F1 from which two sentences count as the same.
NEARLY_THE_SAME = 0.7


def words(text: str) -> tuple[str, ...]:
    """Return the runs of letters and digits, folded; of Chinese and Japanese, pairs of letters."""
    found = WORD.findall(fold(text))
    return tuple(in_pairs(found) if has_east_asian(text) else found)


def stems(text: str) -> list[str]:
    """Return the stems of the meaningful words in order."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS and len(word) > 1]


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word; irregular verbs are reduced to their base form."""
    return str(_stemmer().stemWord(BASE_FORMS.get(word, word)))


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


def rouge_l(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the F1 of the longest common subsequence of two word lists; 0 if either is empty.

    >>> rouge_l(("a", "b", "c", "d"), ("a", "b", "x", "d"))
    0.75
    """
    from rapidfuzz.distance import LCSseq

    if not one or not other:
        return 0.0
    return 2 * LCSseq.similarity(one, other) / (len(one) + len(other))


def repeats(candidate: Sequence[str], kept: Iterable[Sequence[str]]) -> bool:
    """Return whether the words of a sentence nearly repeat those of a kept one."""
    return any(
        # The shorter of the two bounds the common subsequence.
        2 * min(len(candidate), len(other)) >= NEARLY_THE_SAME * (len(candidate) + len(other))
        and rouge_l(candidate, other) >= NEARLY_THE_SAME
        for other in kept
    )


def diverse(
    relevance: NDArray[np.float64],
    vectors: NDArray[np.float32],
    most: int,
    balance: float,
    allowed: Callable[[int, Sequence[int]], bool],
) -> list[int]:
    """Return the positions of up to ``most`` items by maximal marginal relevance, in the order chosen.

    Each step takes the item with the largest ``balance · relevance − (1 − balance) · likeness``, where
    likeness is the largest cosine to a chosen item; ties go to the first.

    Args:
        relevance: of each item.
        vectors: [items, dimension], unit rows.
        most: maximum number of items.
        balance: 1 for relevance alone, 0 for diversity alone.
        allowed: whether an item may be added to those chosen so far; a refused one is not tried again.
    """
    likeness = np.zeros(len(relevance))
    available = np.ones(len(relevance), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < most and available.any():
        value = round_for_comparison(balance * relevance - (1 - balance) * likeness)
        best = int(np.where(available, value, -np.inf).argmax())
        available[best] = False
        if allowed(best, chosen):
            chosen.append(best)
            likeness = np.maximum(likeness, cosines(vectors, vectors[best]))
    return chosen

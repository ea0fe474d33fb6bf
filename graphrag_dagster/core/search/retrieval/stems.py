"""Texts as the stems of their words of meaning (English), as BM25 counts them."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

# As bm25s cuts and leaves out, which takes a tenth of a second to be imported.
_WORD = re.compile(r"(?u)\b\w\w+\b")
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
    found = [[word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS] for text in texts]
    different = list(dict.fromkeys(word for words in found for word in words))
    stem_of = dict(zip(different, _stemmer().stemWords(different), strict=True))
    return [[stem_of[word] for word in words] for words in found]


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")

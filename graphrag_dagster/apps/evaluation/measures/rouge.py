"""Distance of two claims: 1 − ROUGE-L F1 of their words (spec_graphrag §10)."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(r"[a-z0-9]+")


def tokens(text: str) -> list[str]:
    """Return the runs of ASCII letters and digits of the lower-cased text, unstemmed.

    Equal to the tokenizer of the rouge-score package, whose other letters separate words: a text without
    ASCII letters and digits has no tokens.

    >>> tokens("Café No. 7 – re-opened")
    ['caf', 'no', '7', 're', 'opened']
    """
    return _TOKEN.findall(text.lower())


def distance(one: Sequence[str], other: Sequence[str]) -> float:
    """Return 1 − ROUGE-L F1 of two token lists: (m + n − 2·LCS) / (m + n), from 0 to 1.

    Two empty lists are equal, hence 0 apart, although rouge-score gives them the F1 0; an empty and another
    list are 1 apart.

    >>> distance("abcd", "abxd")
    0.25
    """
    return float(distances([one, other])[0])


def distances(claims: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return the distances of all pairs of n token lists, n(n−1)/2 of them in SciPy's condensed order.

    Each is one division of two integers and therefore the double nearest to the fraction: equal fractions
    are equal doubles. Needs 4·n² bytes on the way.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    coded = _coded(claims)
    # The indel distance is m + n − 2·LCS.
    apart = process.cdist(coded, coded, scorer=Indel.distance, dtype=np.int32, workers=1)
    rows, columns = np.triu_indices(len(coded), 1)
    lengths = np.array([len(claim) for claim in coded], dtype=np.int64)
    together = lengths[rows] + lengths[columns]
    return np.asarray(apart[rows, columns] / np.maximum(together, 1), dtype=np.float64)


def _coded(claims: Iterable[Iterable[str]]) -> list[list[int]]:
    # Elements are compared by their hashes, and only those of integers cannot collide.
    codes: dict[str, int] = {}
    return [[codes.setdefault(token, len(codes)) for token in claim] for claim in claims]

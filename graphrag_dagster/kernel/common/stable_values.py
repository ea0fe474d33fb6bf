"""Ids and scores that are the same on every Python, NumPy and processor.

Built-in ``sum`` of floats is compensated from Python 3.12 on, and NumPy adds in the order that suits the
processor. What is added here is added exactly or in double precision, and what is compared is rounded: values
that differ by the order of their parts alone are equal, and a tie goes to what comes first.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray


def stable_id(*parts: object) -> str:
    """Return 32 hexadecimal characters that depend on the parts alone.

    Parts are rendered with ``str`` and prefixed by their length, so ``("a", "bc")`` and ``("ab", "c")``
    differ whatever the parts contain.
    """
    rendered = (str(part) for part in parts)
    joined = "".join(f"{len(part)}:{part}" for part in rendered)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:32]


_DIGITS = 12
# Numbers brought to double precision at once: few enough to stay in a processor's cache.
_AT_ONCE = 2**17

Scores = NDArray[np.float64]


def comparable(scores: NDArray[np.floating]) -> Scores:
    """Return scores rounded to 12 digits after the point, to be compared with each other."""
    return np.asarray(scores, dtype=np.float64).round(_DIGITS)


def cosines(vectors: NDArray[np.floating], other: NDArray[np.floating]) -> Scores:
    """Return the dot product of each unit row of vectors [n, d] with a unit vector [d], comparable.

    A row of zeros, which stands for a blank text, gives 0.
    """
    wanted = np.asarray(other, dtype=np.float64)
    found = np.empty(len(vectors))
    step = max(_AT_ONCE // max(len(wanted), 1), 1)
    for start in range(0, len(vectors), step):
        rows = vectors[start : start + step].astype(np.float64)
        found[start : start + len(rows)] = rows @ wanted
    return comparable(found)


def unit_rows(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return vectors [n, d] brought to length 1; rows of zeros stay so."""
    lengths = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1, keepdims=True))
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)

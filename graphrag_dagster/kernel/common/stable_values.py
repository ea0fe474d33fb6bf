"""Ids and scores that are identical on every Python, NumPy and processor.

Built-in ``sum`` of floats is compensated from Python 3.12 on, and the order of NumPy's additions depends on
the processor. So sums here are exact or in double precision, and values are rounded before comparison: values
that only differ by the order of their terms are equal, and the first wins a tie.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import VectorLengthError


def stable_id(*parts: object) -> str:
    """Return 32 hexadecimal characters that only depend on the parts.

    Parts are rendered with ``str`` and prefixed by their length, so ``("a", "bc")`` and ``("ab", "c")``
    differ whatever the parts contain.
    """
    joined = "".join([f"{len(part)}:{part}" for part in map(str, parts)])
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:32]


_DIGITS = 12
# Processors differ in a component of a unit row by some 1e-8, which this hides nearly always; a cosine moves
# by .0003.
_STEPS = 1024
# Numbers converted to double precision at a time, few enough for a processor's cache.
_AT_ONCE = 2**17

Scores = NDArray[np.float64]


def round_for_comparison(scores: NDArray[np.floating]) -> Scores:
    """Round scores to 12 decimal places, for comparison with each other."""
    return np.asarray(scores, dtype=np.float64).round(_DIGITS)


def cosines(vectors: NDArray[np.floating], other: NDArray[np.floating]) -> Scores:
    """Return the dot product of each unit row of vectors [n, d] with a unit vector [d], rounded for
    comparison.

    A row of zeros, which is the vector of a blank text, gives 0.

    Raises:
        VectorLengthError: the vector is of another length than the rows.
    """
    if len(vectors) and vectors.shape[1] != len(other):
        raise VectorLengthError(len(other), vectors.shape[1])
    target = np.asarray(other, dtype=np.float64)
    products = np.empty(len(vectors))
    step = max(_AT_ONCE // max(len(target), 1), 1)
    for start in range(0, len(vectors), step):
        rows = vectors[start : start + step].astype(np.float64)
        products[start : start + len(rows)] = rows @ target
    return round_for_comparison(products)


def unit_rows(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Normalise vectors [n, d] to length 1; rows of zeros are kept."""
    lengths = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1, keepdims=True))
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def in_steps(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Bring vectors [n, d] to length 1024 and round them to whole numbers.

    For models whose last digits depend on the processor.
    """
    return (unit_rows(vectors) * _STEPS).round()

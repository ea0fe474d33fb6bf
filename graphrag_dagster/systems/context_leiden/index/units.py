"""Vectors of length 1, made of a matrix where they are needed."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.systems.context_leiden.index.adjacency import Places

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]

_AT_ONCE = 8192


class Units:
    """The rows of a matrix, brought to length 1 in double precision a few at a time.

    Args:
        matrix: shape [n, d], finite; a row of zeros stays so, and has cosine 0 with all.
    """

    def __init__(self, matrix: Singles) -> None:
        self._matrix = matrix
        self._lengths = np.empty(len(matrix))
        for rows in blocks(len(matrix)):
            self._lengths[rows] = np.sqrt(np.square(matrix[rows], dtype=np.float64).sum(axis=1))

    def __len__(self) -> int:
        return len(self._matrix)

    @property
    def dimension(self) -> int:
        """Length of the rows."""
        return int(self._matrix.shape[1])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows are not zeros."""
        return self._lengths > 0

    def double(self, rows: Places) -> Doubles:
        """Return rows of length 1, shape [rows, d]."""
        lengths = self._lengths[rows]
        found: Doubles = self._matrix[rows] / np.where(lengths > 0, lengths, 1.0)[:, None]
        return found

    def single(self, rows: Places) -> Singles:
        """Return rows of length 1 in single precision, shape [rows, d]."""
        return self.double(rows).astype(np.float32)

    def dots(self, rows: Places, others: Doubles, which: Places) -> Doubles:
        """Return of each of the rows its product with the one of ``others`` that ``which`` names."""
        found = np.empty(len(rows))
        for some in blocks(len(rows)):
            found[some] = np.einsum("ij,ij->i", self.double(rows[some]), others[which[some]])
        return found


def blocks(count: int, size: int = _AT_ONCE) -> Iterator[slice]:
    """Split so many rows into slices of at most ``size``."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))

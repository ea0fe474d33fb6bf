"""How rare words are among some texts."""

import re
from collections.abc import Iterable
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.search.kept import mapped_arrays, write_arrays
from graphrag_dagster.core.search.retrieval.words import words
from graphrag_dagster.core.search.retrieval.words_in_order import WordsInOrder

# A word with what may be its possessive.
_PIECE = re.compile(r"[^\W_]+(?:['’ʼ][^\W_]+)*")
_TABLE = ("words", "starts")
_COUNTS = ("counts", "plain", "size")


class WordRarity:
    """How rare words are among some texts, between 0 (in every text) and 1 (in none).

    ``log((n + 1) / (d + 1)) / log(n + 1)`` for a word that d of the n texts contain.

    Args:
        table: the folded words.
        counts: how many texts have each.
        plain: how many have it in lower case.
        size: number of texts.
    """

    def __init__(
        self, table: WordsInOrder, counts: NDArray[np.int64], plain: NDArray[np.int64], size: int
    ) -> None:
        self._table = table
        self._counts = counts
        self._plain = plain
        self._size = size

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> "WordRarity":
        """Return how rare the words of texts are."""
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
        table = WordsInOrder.of(counts)
        return cls(
            table,
            np.array([counts[word] for word in table], dtype=np.int64),
            np.array([plain.get(word, 0) for word in table], dtype=np.int64),
            size,
        )

    def of(self, word: str) -> float:
        """Return the rarity of one folded word."""
        if not self._size:
            return 1.0
        number = self._table.number(word)
        texts = 0 if number is None else int(self._counts[number])
        return log((self._size + 1) / (texts + 1)) / log(self._size + 1)

    def knows(self, word: str) -> bool:
        """Return whether any of the texts has the folded word."""
        return self._table.number(word) is not None

    def is_plain(self, word: str) -> bool:
        """Return whether at least half of the texts that have a folded word have it in lower case."""
        number = self._table.number(word)
        return number is not None and bool(2 * self._plain[number] >= self._counts[number])

    def write(self, folder: Path) -> None:
        """Write it into a folder that is there; see :meth:`opened`."""
        counted = {"counts": self._counts, "plain": self._plain, "size": np.array([self._size])}
        write_arrays(folder, {**self._table.arrays(), **counted})

    @classmethod
    def opened(cls, folder: Path) -> "WordRarity":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        arrays = mapped_arrays(folder, (*_TABLE, *_COUNTS))
        table = WordsInOrder.of_arrays(*(arrays[name] for name in _TABLE))
        return cls(table, arrays["counts"], arrays["plain"], int(arrays["size"][0]))

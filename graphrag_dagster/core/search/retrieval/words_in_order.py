"""Many words in their order, and lists of numbers by words, found without reading the others."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.paths.graph_texts import Texts
from graphrag_dagster.core.search.kept import mapped_arrays, write_arrays

#: Words whose numbers are remembered, at about 100 bytes each.
_KEPT = 100_000
_WORDS, _LISTS = ("words", "starts"), ("begins", "values")


class WordsInOrder:
    """Words by number: 0… in the order of the code points, found by bisection; they may lie in a file.

    Args:
        words: different ones, in that order.
    """

    def __init__(self, words: Texts) -> None:
        self._words = words
        self._found = lru_cache(_KEPT)(self._looked_up)

    @classmethod
    def of(cls, words: Iterable[str]) -> "WordsInOrder":
        """Return words that come in any order, each once."""
        return cls(Texts.of(sorted(set(words))))

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def number(self, word: str) -> int | None:
        """Return the number of a word; None where it is not here."""
        return self._found(word)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Return them as arrays; see :meth:`of_arrays`."""
        return {"words": self._words.block, "starts": self._words.starts}

    @classmethod
    def of_arrays(cls, words: NDArray[np.uint8], starts: NDArray[np.int64]) -> "WordsInOrder":
        """Return the words of :meth:`arrays`."""
        return cls(Texts(words, starts))

    def _looked_up(self, word: str) -> int | None:
        place = bisect_left(self._words, word)
        return place if place < len(self._words) and self._words[place] == word else None


class NumbersByWord:
    """Lists of numbers by word; those of word i are ``values[begins[i]:begins[i + 1]]``.

    Args:
        words: those that have numbers.
        begins: where the numbers of each word begin, and the last end [words + 1].
        values: the numbers, for each word in the order in which they were given.
    """

    def __init__(self, words: WordsInOrder, begins: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        self.words = words
        self._begins = begins
        self._values = values

    @classmethod
    def of(cls, lists: Mapping[str, Sequence[int]]) -> "NumbersByWord":
        """Return the lists of words."""
        words = WordsInOrder.of(lists)
        ordered = [lists[word] for word in words]
        begins = np.cumsum([0, *map(len, ordered)], dtype=np.int64)
        values = np.fromiter((value for one in ordered for value in one), np.int64, int(begins[-1]))
        return cls(words, begins, values)

    def __contains__(self, word: str) -> bool:
        return self.words.number(word) is not None

    def of_word(self, word: str) -> list[int]:
        """Return the numbers of a word; none for an unknown one."""
        number = self.words.number(word)
        if number is None:
            return []
        found: list[int] = self._values[self._begins[number] : self._begins[number + 1]].tolist()
        return found

    @property
    def most(self) -> int:
        """The largest number of all; 0 without any."""
        return int(self._values.max(initial=0))

    def write(self, folder: Path) -> None:
        """Write them into a folder that is there; see :meth:`opened`."""
        write_arrays(folder, {**self.words.arrays(), "begins": self._begins, "values": self._values})

    @classmethod
    def opened(cls, folder: Path) -> "NumbersByWord":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        arrays = mapped_arrays(folder, (*_WORDS, *_LISTS))
        words = WordsInOrder.of_arrays(*(arrays[name] for name in _WORDS))
        return cls(words, *(arrays[name] for name in _LISTS))

"""Many short texts or lists in flat arrays, each readable without loading the others."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.uint8]
Starts = NDArray[np.int64]


@dataclass(eq=False, repr=False)
class Texts(Sequence[str]):
    """Texts in a block of UTF-8 bytes, which may be memory-mapped.

    Attributes:
        block: the concatenated bytes.
        starts: offset of each text, and the total length [n + 1].
    """

    block: Block
    starts: Starts

    def __post_init__(self) -> None:
        self.block, self.starts = np.asarray(self.block), np.asarray(self.starts)
        # Memoryviews read single texts several times as fast as arrays.
        self._bytes, self._begins = self.block.data, self.starts.data

    def __reduce__(self) -> tuple[type["Texts"], tuple[Block, Starts]]:
        return Texts, (self.block, self.starts)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """Build the sequence from texts."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        starts = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(text) for text in encoded], out=starts[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[str]:
        return self._read(0, len(self))

    def _read(self, first: int, last: int) -> Iterator[str]:
        ends = self.starts[first : last + 1]
        whole = self.block[ends[0] : ends[-1]].tobytes()
        for start, end in pairwise((ends - ends[0]).tolist()):
            yield whole[start:end].decode("utf-8", "surrogatepass")

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1 or first >= last:
                return [self[position] for position in range(first, last, step)]
            return list(self._read(first, last))
        if not 0 <= index < len(self._begins) - 1:
            raise IndexError(index)
        return str(self._bytes[self._begins[index] : self._begins[index + 1]], "utf-8", "surrogatepass")


Places = NDArray[np.int64]
Weights = NDArray[np.float64]


def expand_ranges(starts: Places, rows: NDArray[np.integer]) -> Places:
    """Return all positions from ``starts[row]`` to ``starts[row + 1]``, row by row."""
    sizes = starts[rows + 1] - starts[rows]
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    positions: Places = np.arange(total, dtype=np.int64) + np.repeat(starts[rows] - (ends - sizes), sizes)
    return positions


@dataclass(frozen=True, slots=True)
class WeightedLists:
    """List i is ``values[starts[i]:starts[i + 1]]``, ascending and distinct, with the same slice of
    ``weights``.
    """

    starts: Places
    values: Places
    weights: Weights

    @classmethod
    def of_pairs(cls, count: int, owners: Places, values: Places, weights: Weights) -> "WeightedLists":
        """Sort pairs into ``count`` lists; of duplicate pairs, the largest weight is kept."""
        order = np.lexsort((-weights, values, owners))
        owners, values, weights = owners[order], values[order], weights[order]
        first = np.ones(len(owners), dtype=bool)
        first[1:] = (owners[1:] != owners[:-1]) | (values[1:] != values[:-1])
        starts = np.searchsorted(owners[first], np.arange(count + 1))
        return cls(starts.astype(np.int64), values[first], weights[first])

    @property
    def owners(self) -> Places:
        """The list that each value belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def of(self, owner: int) -> Places:
        """Return the values of one list."""
        return self.values[self.starts[owner] : self.starts[owner + 1]]

    def weights_of(self, owner: int) -> Weights:
        """Return the weights of one list."""
        return self.weights[self.starts[owner] : self.starts[owner + 1]]

    def of_all(self, owners: Places) -> tuple[Places, Places, Weights]:
        """Return the concatenated lists of several owners.

        Returns:
            three arrays of equal length: index in ``owners``, value, weight.
        """
        sizes = self.starts[owners + 1] - self.starts[owners]
        indices = np.repeat(np.arange(len(owners)), sizes)
        flat = expand_ranges(self.starts, owners)
        return indices, self.values[flat], self.weights[flat]


#: Number of cached look-ups, about 100 bytes each.
_KEPT = 100_000


@dataclass(eq=False)
class WordsInOrder:
    """Words numbered from 0 in code point order, found by bisection; they may be memory-mapped.

    Attributes:
        words: distinct words in that order.
    """

    words: Texts

    def __post_init__(self) -> None:
        self._found = lru_cache(_KEPT)(self._look_up)

    @classmethod
    def of(cls, words: Iterable[str]) -> "WordsInOrder":
        """Build it from words in any order, with duplicates."""
        return cls(Texts.of(sorted(set(words))))

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def number(self, word: str) -> int | None:
        """Return the number of a word, or None."""
        return self._found(word)

    def _look_up(self, word: str) -> int | None:
        index = bisect_left(self.words, word)
        return index if index < len(self.words) and self.words[index] == word else None


@dataclass(frozen=True, eq=False)
class NumbersByWord:
    """Lists of numbers by word; those of word i are ``values[begins[i]:begins[i + 1]]``.

    Attributes:
        words: the words.
        begins: offset of each word's numbers, and the total [words + 1].
        values: the numbers, for each word in the given order.
    """

    words: WordsInOrder
    begins: NDArray[np.int64]
    values: NDArray[np.int64]

    @classmethod
    def of(cls, lists: Mapping[str, Sequence[int]]) -> "NumbersByWord":
        """Build it from lists of numbers by word."""
        words = WordsInOrder.of(lists)
        ordered = [lists[word] for word in words]
        begins = np.cumsum([0, *map(len, ordered)], dtype=np.int64)
        values = np.fromiter((value for numbers in ordered for value in numbers), np.int64, int(begins[-1]))
        return cls(words, begins, values)

    def __contains__(self, word: str) -> bool:
        return self.words.number(word) is not None

    def of_word(self, word: str) -> list[int]:
        """Return the numbers of a word; empty for an unknown one."""
        number = self.words.number(word)
        if number is None:
            return []
        numbers: list[int] = self.values[self.begins[number] : self.begins[number + 1]].tolist()
        return numbers

    @property
    def most(self) -> int:
        """The largest of all numbers; 0 without any."""
        return int(self.values.max(initial=0))

"""Many words and their numbers, found without reading the others."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.paths.graph_texts import Texts

_EMPTY = -1
#: Slots for a word, at least.
_ROOM = 2
#: Words whose numbers are remembered, at about 100 bytes each.
_KEPT = 100_000


class WordTable:
    """Words by number: 0… in the order of the code points, whatever order they came in.

    A table of hashes with linear probing, which may lie in a file.

    Args:
        words: in their order.
        slots: the number of the word whose hash leads here, or -1; as many as a power of two.
    """

    def __init__(self, words: Texts, slots: NDArray[np.int32]) -> None:
        self._words = words
        self._slots = slots
        self._mask = len(slots) - 1
        self._found = lru_cache(_KEPT)(self._looked_up)

    @classmethod
    def of(cls, words: Iterable[str]) -> "WordTable":
        """Return a table of different words."""
        ordered = sorted(set(words))
        slots = np.full(1 << max(1, (_ROOM * len(ordered)).bit_length()), _EMPTY, dtype=np.int32)
        mask, taken = len(slots) - 1, slots.tolist()
        for number, word in enumerate(ordered):
            at = crc32(_bytes(word)) & mask
            while taken[at] != _EMPTY:
                at = (at + 1) & mask
            taken[at] = number
        return cls(Texts.of(ordered), np.array(taken, dtype=np.int32))

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def number(self, word: str) -> int | None:
        """Return the number of a word; None where it is not here."""
        return self._found(word)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Return it as arrays; see :meth:`of_arrays`."""
        return {"words": self._words.block, "starts": self._words.starts, "slots": self._slots}

    @classmethod
    def of_arrays(
        cls, words: NDArray[np.uint8], starts: NDArray[np.int64], slots: NDArray[np.int32]
    ) -> "WordTable":
        """Return the table of :meth:`arrays`."""
        return cls(Texts(words, starts), slots)

    def _looked_up(self, word: str) -> int | None:
        at = crc32(_bytes(word)) & self._mask
        while (number := int(self._slots[at])) != _EMPTY:
            if self._words[number] == word:
                return number
            at = (at + 1) & self._mask
        return None


def _bytes(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")

"""Many texts as one block of bytes, of which any can be read without reading the others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.uint8]
Starts = NDArray[np.int64]


@dataclass(eq=False, repr=False)
class Texts(Sequence[str]):
    """Texts, read from a block of UTF-8 bytes that may lie in a file.

    Attributes:
        block: their bytes, one behind the other.
        starts: where each begins, and where the last ends [n + 1].
    """

    block: Block
    starts: Starts

    def __post_init__(self) -> None:
        self.block, self.starts = np.asarray(self.block), np.asarray(self.starts)
        # Which read single texts several times as fast as the arrays do.
        self._bytes, self._begins = self.block.data, self.starts.data

    def __reduce__(self) -> tuple[type["Texts"], tuple[Block, Starts]]:
        return Texts, (self.block, self.starts)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """Return texts as such a sequence."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        starts = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(one) for one in encoded], out=starts[1:])
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
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            if step != 1 or first >= last:
                return [self[one] for one in range(first, last, step)]
            return list(self._read(first, last))
        if not 0 <= place < len(self._begins) - 1:
            raise IndexError(place)
        return str(self._bytes[self._begins[place] : self._begins[place + 1]], "utf-8", "surrogatepass")

"""Which units stand in which chunk, as numbers, so that no token has to be counted again."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.language.tasks import ContextUnit
from graphrag_dagster.core.search.context.chunks import Chunk, cut_to, render
from graphrag_dagster.core.search.kept import mapped_arrays, write_arrays

Numbers = NDArray[np.int64]
_ARRAYS = ("begins", "numbers", "characters", "tokens")


@dataclass(frozen=True, eq=False)
class Packing:
    """Chunk i holds the units ``numbers[begins[i]:begins[i + 1]]``.

    Attributes:
        begins: where each chunk begins, and where the last ends [chunks + 1].
        numbers: of the units, 1…
        characters: of their texts that stand there.
        tokens: of their rows.
    """

    begins: Numbers
    numbers: Numbers
    characters: Numbers
    tokens: Numbers

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> "Packing":
        """Return how chunks are packed."""
        rows = [unit for chunk in chunks for unit in chunk.units]
        return cls(
            np.cumsum([0, *(len(chunk.units) for chunk in chunks)], dtype=np.int64),
            np.array([unit.id for unit in rows], dtype=np.int64),
            np.array([len(unit.text) for unit in rows], dtype=np.int64),
            np.array([tokens for chunk in chunks for tokens in chunk.row_tokens], dtype=np.int64),
        )

    def chunks(self, units: Sequence[ContextUnit]) -> list[Chunk]:
        """Return the chunks of the units that were packed, all of them in the order of their numbers."""
        return [self._chunk(units, begin, end) for begin, end in pairwise(self.begins.tolist())]

    def _chunk(self, units: Sequence[ContextUnit], begin: int, end: int) -> Chunk:
        numbers, characters = self.numbers[begin:end].tolist(), self.characters[begin:end].tolist()
        taken = (units[number - 1] for number in numbers)
        chosen = tuple(
            unit if len(unit.text) == kept else cut_to(unit, kept)
            for unit, kept in zip(taken, characters, strict=True)
        )
        return Chunk(chosen, render(chosen), tuple(self.tokens[begin:end].tolist()))

    def write(self, folder: Path) -> None:
        """Write it into a folder that is there; see :meth:`opened`."""
        write_arrays(folder, {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def opened(cls, folder: Path) -> "Packing":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        return cls(**mapped_arrays(folder, _ARRAYS))

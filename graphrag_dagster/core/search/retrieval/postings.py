"""Which texts have which stems, with their scores by BM25."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.paths.store import spans
from graphrag_dagster.core.search.kept import mapped_arrays, write_arrays
from graphrag_dagster.core.search.retrieval.stems import stems_of
from graphrag_dagster.core.search.retrieval.words_in_order import WordsInOrder

_TABLE = ("words", "starts")
_LISTS = ("begins", "texts", "scores")


@dataclass(frozen=True, eq=False)
class Postings:
    """The texts of stem i and its scores there are from ``begins[i]`` to ``begins[i + 1]``.

    Attributes:
        stems: all stems.
        begins: where the texts of each stem begin, and the last end [stems + 1].
        texts: places of texts, ascending for each stem.
        scores: as many.
    """

    stems: WordsInOrder
    begins: NDArray[np.int64]
    texts: NDArray[np.int32]
    scores: NDArray[np.float32]

    def of(self, stem: str) -> slice:
        """Return where the texts of a stem are; nothing for an unknown one."""
        number = self.stems.number(stem)
        if number is None:
            return slice(0, 0)
        return slice(int(self.begins[number]), int(self.begins[number + 1]))

    def write(self, folder: Path) -> None:
        """Write it into a folder that is there; see :meth:`opened`."""
        lists = {name: getattr(self, name) for name in _LISTS}
        write_arrays(folder, {**self.stems.arrays(), **lists})

    @classmethod
    def opened(cls, folder: Path) -> "Postings":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        arrays = mapped_arrays(folder, (*_TABLE, *_LISTS))
        return cls(WordsInOrder.of_arrays(*(arrays.pop(name) for name in _TABLE)), **arrays)


def postings_of(texts: Sequence[str]) -> Postings:
    """Return the BM25 scores of texts (Robertson & Zaragoza 2009, as Lucene has it: k1 = 1.5, b = 0.75)."""
    stems = stems_of(texts)
    if not any(stems):
        empty = np.zeros(0)
        return Postings(
            WordsInOrder.of(()), np.zeros(1, np.int64), empty.astype(np.int32), empty.astype(np.float32)
        )
    import bm25s

    # On import it asks for every debug message of its own.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    index = bm25s.BM25(backend="numpy", csc_backend="numpy", auto_compile=False)
    index.index(stems, show_progress=False)
    begins = index.scores["indptr"].astype(np.int64)
    # A number without texts stands for what no text has; the others change from run to run.
    numbered = {stem: number for stem, number in index.vocab_dict.items() if number < len(begins) - 1}
    table = WordsInOrder.of(numbered)
    numbers = np.array([numbered[stem] for stem in table], dtype=np.int64)
    places = spans(begins, numbers)
    ends = np.zeros(len(numbers) + 1, dtype=np.int64)
    np.cumsum(np.diff(begins)[numbers], out=ends[1:])
    return Postings(table, ends, index.scores["indices"][places], index.scores["data"][places])

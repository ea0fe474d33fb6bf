"""What is known of the pieces of a graph: their tokens, made when a piece is met for the first time."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.graph.arrays import Longs, spans
from graphrag_dagster.kernel.graph.verbalised import NO_PIECE, Verbalised

#: Slot of no piece; it has no tokens.
NO_SLOT = 0
_UNMET = -1


class PieceTokens(ABC):
    """The tokens of the pieces that were met, each in a slot of its own.

    Args:
        most: pieces that are remembered; when there are more, all are forgotten.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._labels: object = None
        self._relations: object = None
        self._slot_of = np.zeros(0, dtype=np.int32)
        self._forget()

    @abstractmethod
    def _learnt(self, texts: Sequence[str]) -> list[Sequence[int]]:
        """Take note of pieces that get the next slots, and return the tokens of each."""

    def _forget(self) -> None:
        """Begin anew, with the slot of no piece alone."""
        self.starts: Longs = np.zeros(2, dtype=np.int64)
        self.tokens: Longs = np.zeros(0, dtype=np.int64)
        self._slot_of.fill(_UNMET)
        self._slot_of[-1:] = NO_SLOT

    @property
    def lengths(self) -> Longs:
        """Tokens of the piece in each slot."""
        return np.diff(self.starts)

    def slots(self, candidates: Verbalised) -> NDArray[np.int32]:
        """Return the slots of the pieces of candidates [n, width]; :data:`NO_SLOT` where there is none."""
        vocabulary, rows = candidates.vocabulary, candidates.rows
        if vocabulary.labels is not self._labels or vocabulary.relations is not self._relations:
            self._labels, self._relations = vocabulary.labels, vocabulary.relations
            self._slot_of = np.empty(len(vocabulary) + 1, dtype=np.int32)
            self._forget()
        found = self._slot_of[rows]
        if (found == _UNMET).any():
            met = len(self.starts) - 1
            fresh = np.unique(rows[found == _UNMET])
            if met + len(fresh) > self._most:
                self._forget()
                met, fresh = 1, np.unique(rows)
                fresh = fresh[fresh != NO_PIECE]
            texts = [vocabulary.piece(place) for place in fresh]
            tokens = self._learnt(texts)
            ends = self.starts[-1] + np.cumsum([len(one) for one in tokens], dtype=np.int64)
            self.starts = np.concatenate([self.starts, ends])
            more = np.fromiter(chain.from_iterable(tokens), dtype=np.int64)
            self.tokens = np.concatenate([self.tokens, more])
            self._slot_of[fresh] = np.arange(met, met + len(fresh), dtype=np.int32)
            found = self._slot_of[rows]
        return found

    def spread(self, slots: NDArray[np.int32]) -> tuple[Longs, Longs]:
        """Return the candidate of each token, and the token, candidate after candidate."""
        flat = slots.ravel()
        of = np.repeat(np.arange(len(slots), dtype=np.int64), self.lengths[slots].sum(axis=1))
        return of, self.tokens[spans(self.starts, flat)]

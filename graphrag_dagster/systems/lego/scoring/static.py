"""The packaged static vectors, composed from those of pieces."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_scores import Scores, comparable
from graphrag_dagster.kernel.graph.verbalised import ARROW, Verbalised
from graphrag_dagster.kernel.models.local.embedders import StaticEmbedder, shared_static
from graphrag_dagster.systems.lego.scoring.pieces import PieceTokens

_MOST = 200_000
_BLANK = "\u2581"
#: Candidates whose vectors are made at a time: few enough to stay in a processor's cache.
_AT_ONCE = 512

Vectors = NDArray[np.float32]


class StaticScorer:
    """Cosine of question and text by :class:`StaticEmbedder`, without making the text.

    Its tokens never reach over a blank into the word before, so that those of ``label -> relation`` are those
    of its pieces and of the arrows. A piece that begins or ends with a blank, or holds a mark of the
    tokenizer itself, is the exception: texts with one are embedded as they are. The sums of the vectors of
    tokens are of single precision: scores are those of the texts to about 1e-6.

    Args:
        most: pieces whose sums are remembered.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._pieces = _PieceSums(most)

    @property
    def name(self) -> str:
        """That of the embedder."""
        return shared_static().name

    def scores(self, question: str, candidates: Verbalised) -> Scores:
        """Return the cosine of each candidate [n]; see the port."""
        slots = self._pieces.slots(candidates)
        asked = shared_static().embed([question])[0].astype(np.float64)
        found = self._pieces.cosines(slots, asked)
        (whole,) = np.nonzero(self._pieces.irregular[slots].any(axis=1))
        if len(whole):
            texts = candidates.at(whole).texts
            found[whole] = shared_static().embed(texts).astype(np.float64) @ asked
        return comparable(found)

    def tokens(self, candidates: Verbalised) -> int:
        """Return the tokens of all candidates."""
        slots = self._pieces.slots(candidates)
        arrows = np.maximum((slots != 0).sum(axis=1) - 1, 0)
        return int(self._pieces.lengths[slots].sum() + arrows.sum() * self._pieces.arrow_tokens)


class _PieceSums(PieceTokens):
    """The sum of the vectors of each piece's tokens."""

    def __init__(self, most: int) -> None:
        self._tokenizer, self._table = StaticEmbedder().model
        self._reaching = any(_BLANK in token.lstrip(_BLANK) for token in self._tokenizer.get_vocab())
        self._marks = tuple(one.content for one in self._tokenizer.get_added_tokens_decoder().values())
        arrow = self._encoded([ARROW.strip()])[0]
        self.arrow_tokens = len(arrow)
        self._arrow = self._summed([arrow])[0].astype(np.float64)
        super().__init__(most)

    def _forget(self) -> None:
        super()._forget()
        self._sums: Vectors = np.zeros((1, self._table.shape[1]), dtype=np.float32)
        self.irregular: NDArray[np.bool_] = np.zeros(1, dtype=np.bool_)

    def _learnt(self, texts: Sequence[str]) -> list[Sequence[int]]:
        tokens = self._encoded(texts)
        met = len(self.irregular)
        self.irregular = np.append(self.irregular, [self._is_irregular(text) for text in texts])
        if len(self.irregular) > len(self._sums):
            wide = np.zeros((2 * len(self.irregular), self._sums.shape[1]), dtype=np.float32)
            wide[:met] = self._sums[:met]
            self._sums = wide
        for start in range(0, len(tokens), _AT_ONCE):
            some = tokens[start : start + _AT_ONCE]
            self._sums[met + start : met + start + len(some)] = self._summed(some)
        return tokens

    def _is_irregular(self, text: str) -> bool:
        blank = not text or text != text.strip() or _BLANK in text
        return self._reaching or blank or any(one in text for one in self._marks)

    def _encoded(self, texts: Sequence[str]) -> list[Sequence[int]]:
        return [one.ids for one in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def _summed(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        """The sum of the vectors of each list of tokens."""
        lengths = np.array([len(one) for one in tokens])
        found = np.zeros((len(tokens), self._table.shape[1]), dtype=np.float32)
        flat = np.fromiter(chain.from_iterable(tokens), dtype=np.int64)
        if len(flat):
            begins = (np.cumsum(lengths) - lengths)[lengths > 0]
            found[lengths > 0] = np.add.reduceat(self._table[flat], begins, axis=0, dtype=np.float64)
        return found

    def cosines(self, slots: NDArray[np.int32], asked: NDArray[np.float64]) -> Scores:
        """Return the cosine of each row of slots [n, width] with a unit vector."""
        sums = self._added(slots)
        arrows = np.maximum((slots != 0).sum(axis=1) - 1, 0)
        found = np.zeros(len(slots))
        for start in range(0, len(slots), _AT_ONCE):
            block = sums[start : start + _AT_ONCE].astype(np.float64)
            block += arrows[start : start + _AT_ONCE, None] * self._arrow
            lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
            found[start : start + _AT_ONCE] = (block @ asked) / np.where(lengths > 0, lengths, 1.0)
        return found

    def _added(self, slots: NDArray[np.int32]) -> Vectors:
        """The sums of rows of slots; what a row shares with the one before it is added once.

        Always from left to right, so that it does not matter what is shared.
        """
        if not len(slots):
            return np.zeros((0, self._sums.shape[1]), dtype=np.float32)
        differs = np.ones(slots.shape, dtype=np.bool_)
        differs[1:] = np.logical_or.accumulate(slots[1:] != slots[:-1], axis=1)
        sums, group = (
            np.zeros((1, self._sums.shape[1]), dtype=np.float32),
            np.zeros(len(slots), dtype=np.int64),
        )
        for column in range(slots.shape[1]):
            (first,) = np.nonzero(differs[:, column])
            grown = sums if len(first) == len(sums) else sums[group[first]]
            grown += self._sums[slots[first, column]]
            sums, group = grown, np.cumsum(differs[:, column]) - 1
        return sums if len(sums) == len(slots) else sums[group]

"""Okapi BM25 over the candidates themselves."""

from collections.abc import Sequence

import numpy as np

from graphrag_dagster.kernel.common.stable_scores import Scores, comparable
from graphrag_dagster.kernel.graph.verbalised import Verbalised
from graphrag_dagster.kernel.text.similarity import words
from graphrag_dagster.systems.lego.scoring.pieces import PieceTokens

#: Saturation of a word's frequency, how much the length counts, and the share of the mean rarity that a word
#: in more than half of the texts is given (spec_lego §2).
K1, B, EPSILON = 1.5, 0.75, 0.25
_MOST = 1_000_000


class Bm25Scorer:
    """Okapi BM25 with the candidates as its texts; relations such as ``directed_by`` are read as their words.

    The rarity of a word is ln(N − n + ½) − ln(n + ½) of N texts, n of which have it; one below 0 is replaced
    by a quarter of the mean of all, and never makes a text worse.

    Args:
        most: pieces whose words are remembered.
    """

    name = f"bm25/k1={K1} b={B} epsilon={EPSILON}"

    def __init__(self, most: int = _MOST) -> None:
        self._pieces = _PieceWords(most)

    def scores(self, question: str, candidates: Verbalised) -> Scores:
        """Return the weight of the question's words in each candidate [n]; see the port."""
        count = len(candidates)
        found = np.zeros(count)
        of, terms = self._pieces.spread(self._pieces.slots(candidates))
        if not len(terms):
            return found
        lengths = np.bincount(of, minlength=count)
        known = len(self._pieces.numbers)
        pairs, frequency = np.unique(of * known + terms, return_counts=True)
        of, terms = pairs // known, pairs % known
        texts_with = np.bincount(terms, minlength=known)
        rarity = np.log(count - texts_with + 0.5) - np.log(texts_with + 0.5)
        common = EPSILON * max(float(rarity[texts_with > 0].mean()), 0.0)
        rarity = np.where(rarity < 0, common, rarity)
        longer = K1 * (1 - B + B * lengths / lengths.mean())
        for word in words(question):
            number = self._pieces.numbers.get(word)
            if number is not None and number < known and texts_with[number]:
                (here,) = np.nonzero(terms == number)
                times, texts = frequency[here], of[here]
                found[texts] += rarity[number] * times * (K1 + 1) / (times + longer[texts])
        return comparable(found)

    def tokens(self, candidates: Verbalised) -> int:  # noqa: ARG002 - no model reads them.
        """Return 0."""
        return 0


class _PieceWords(PieceTokens):
    """The words of each piece, as numbers."""

    def _forget(self) -> None:
        super()._forget()
        self.numbers: dict[str, int] = {}

    def _learnt(self, texts: Sequence[str]) -> list[Sequence[int]]:
        numbers = self.numbers
        return [[numbers.setdefault(word, len(numbers)) for word in words(text)] for text in texts]

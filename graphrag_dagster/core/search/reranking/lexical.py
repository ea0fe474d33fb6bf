"""Reranking by words: what of the question stands close together in a text."""

from collections.abc import Sequence

import numpy as np

from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.search.reranking.port import Sought
from graphrag_dagster.core.search.retrieval.sentences import TermFinder, sentence_starts


class LexicalReranker:
    """Scores a text by its best two neighbouring sentences.

    They are worth the share of the question's stems that they hold, 0–1, each stem weighted by its rarity. A
    text that holds all of the question, but far apart, falls behind one that holds it in one place.
    """

    name = "lexical"

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return one score per text, 0–1; zeros for a question without words."""
        weights = np.array(sought.weights, dtype=np.float64)
        if not weights.sum():
            return np.zeros(len(texts))
        finder = TermFinder(sought.stems)
        best = np.array([_best_pair(text, finder, weights) for text in texts], dtype=np.float64)
        shares: Scores = best / weights.sum()
        return shares


def _best_pair(text: str, finder: TermFinder, weights: Scores) -> float:
    found = finder.found(text, sentence_starts(text))
    pairs = found[:-1] | found[1:] if len(found) > 1 else found
    return float((pairs * weights).sum(axis=1).max())

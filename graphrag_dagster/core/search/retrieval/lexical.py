"""Words: BM25 over stemmed English words."""

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


class LexicalIndex:
    """BM25 (Robertson & Zaragoza 2009, in the form of Lucene: k1 = 1.5, b = 0.75) over texts.

    The index is made on the first question. A word that no text contains counts nothing.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return one score ≥ 0 per text, higher for texts with more of the question's rare words."""
        found = self._stems([question])[0]
        if self._index is None or not found:
            return np.zeros(len(self._texts), dtype=np.float64)
        known = [stem for stem in found if stem in self._index.vocab_dict]
        if not known:
            return np.zeros(len(self._texts), dtype=np.float64)
        return np.asarray(self._index.get_scores(known), dtype=np.float64)

    @cached_property
    def _stemmer(self) -> Any:
        import Stemmer

        return Stemmer.Stemmer("english")

    def _stems(self, texts: Sequence[str]) -> list[list[str]]:
        import bm25s

        # On import it asks for every debug message of its own.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        stems: list[list[str]] = bm25s.tokenize(
            list(texts), stopwords="en", stemmer=self._stemmer, return_ids=False, show_progress=False
        )
        return stems

    @cached_property
    def _index(self) -> Any:
        import bm25s

        stems = self._stems(self._texts) if self._texts else []
        if not any(stems):
            return None
        index = bm25s.BM25(backend="numpy", csc_backend="numpy", auto_compile=False)
        index.index(stems, show_progress=False)
        return index

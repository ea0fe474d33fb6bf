"""Words: BM25 over stemmed English words."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Terms:
    """The stems of a question; for each the places of the ``texts`` that have it, its ``scores`` there."""

    stems: tuple[str, ...]
    texts: tuple[NDArray[np.int64], ...]
    scores: tuple[NDArray[np.float64], ...]
    size: int

    @property
    def weights(self) -> NDArray[np.float64]:
        """How much each stem counts: the inverse frequency of BM25."""
        often = np.array([len(found) for found in self.texts], dtype=np.float64)
        return np.log(1 + (self.size - often + 0.5) / (often + 0.5))

    def present(self) -> NDArray[np.bool_]:
        """Return which text has which stem [stems, texts]."""
        found = np.zeros((len(self.stems), self.size), dtype=np.bool_)
        for place, texts in enumerate(self.texts):
            found[place, texts] = True
        return found

    def sums(self, counted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the BM25 score of each text by the stems that are counted."""
        found = np.zeros(self.size)
        for place in np.flatnonzero(counted).tolist():
            found[self.texts[place]] += self.scores[place]
        return found


class LexicalIndex:
    """BM25 (Robertson & Zaragoza 2009, in the form of Lucene: k1 = 1.5, b = 0.75) over texts.

    The index is made on the first question. A word that no text contains counts nothing.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return one score ≥ 0 per text, higher for texts with more of the question's rare words."""
        return self.scores_of(self.stems(question))

    def scores_of(self, stems: Sequence[str]) -> NDArray[np.float64]:
        """Return :meth:`scores` for the stems of a question."""
        if self._index is None or not stems:
            return np.zeros(len(self._texts), dtype=np.float64)
        known = [stem for stem in stems if stem in self._index.vocab_dict]
        if not known:
            return np.zeros(len(self._texts), dtype=np.float64)
        return np.asarray(self._index.get_scores(known), dtype=np.float64)

    def terms(self, question: str) -> "Terms":
        """Return the question's words, each once, with the texts that have them."""
        return self.terms_of(self.stems(question))

    def terms_of(self, stems: Sequence[str]) -> "Terms":
        """Return the stems of a question, each once, with the texts that have them."""
        stems = list(dict.fromkeys(stems))
        texts: list[NDArray[np.int64]] = []
        scores: list[NDArray[np.float64]] = []
        for stem in stems:
            number = self._index.vocab_dict.get(stem) if self._index is not None else None
            begin, end = (0, 0) if number is None else self._index.scores["indptr"][number : number + 2]
            inside = slice(int(begin), int(end))
            texts.append(np.asarray(self._index.scores["indices"][inside] if end else [], dtype=np.int64))
            scores.append(np.asarray(self._index.scores["data"][inside] if end else [], dtype=np.float64))
        return Terms(tuple(stems), tuple(texts), tuple(scores), len(self._texts))

    def stems(self, text: str) -> list[str]:
        """Return the stems of a text's words, without those that have no meaning of their own."""
        return self.stems_of([text])[0]

    def stems_of(self, texts: Sequence[str]) -> list[list[str]]:
        """Return :meth:`stems` of each text."""
        import bm25s

        # On import it asks for every debug message of its own.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        stems: list[list[str]] = bm25s.tokenize(
            list(texts), stopwords="en", stemmer=self._stemmer, return_ids=False, show_progress=False
        )
        return stems

    @cached_property
    def _stemmer(self) -> Any:
        import Stemmer

        return Stemmer.Stemmer("english")

    @cached_property
    def _index(self) -> Any:
        import bm25s

        stems = self.stems_of(self._texts) if self._texts else []
        if not any(stems):
            return None
        index = bm25s.BM25(backend="numpy", csc_backend="numpy", auto_compile=False)
        index.index(stems, show_progress=False)
        return index

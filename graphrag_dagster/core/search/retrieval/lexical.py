"""Words: BM25 over stemmed English words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.search.kept import Shelf, kept
from graphrag_dagster.core.search.retrieval.postings import Postings, postings_of
from graphrag_dagster.core.search.retrieval.stems import stems_of


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
    """BM25 over texts; see :func:`.postings.postings_of`. A word that no text contains counts nothing.

    Args:
        texts: the texts.
        shelf: where the index of them is kept; None: it is made on the first question.
        name: of the texts, on the shelf.
    """

    def __init__(self, texts: Sequence[str], shelf: Shelf | None = None, name: str = "") -> None:
        self._texts = texts
        self._shelf = shelf
        self._name = name

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return one score ≥ 0 per text, higher for texts with more of the question's rare words."""
        return self.scores_of(self.stems(question))

    def scores_of(self, stems: Sequence[str]) -> NDArray[np.float64]:
        """Return :meth:`scores` for the stems of a question."""
        found = np.zeros(len(self._texts), dtype=np.float32)
        for stem in stems:
            inside = self.postings.of(stem)
            found[self.postings.texts[inside]] += self.postings.scores[inside]
        return found.astype(np.float64)

    def terms(self, question: str) -> "Terms":
        """Return the question's words, each once, with the texts that have them."""
        return self.terms_of(self.stems(question))

    def terms_of(self, stems: Sequence[str]) -> "Terms":
        """Return the stems of a question, each once, with the texts that have them."""
        stems = list(dict.fromkeys(stems))
        places = [self.postings.of(stem) for stem in stems]
        return Terms(
            tuple(stems),
            tuple(self.postings.texts[inside].astype(np.int64) for inside in places),
            tuple(self.postings.scores[inside].astype(np.float64) for inside in places),
            len(self._texts),
        )

    def stems(self, text: str) -> list[str]:
        """Return the stems of a text's words, without those that have no meaning of their own."""
        return self.stems_of([text])[0]

    def stems_of(self, texts: Sequence[str]) -> list[list[str]]:
        """Return :meth:`stems` of each text."""
        return stems_of(texts)

    @cached_property
    def postings(self) -> Postings:
        """Which texts have which stems, as they are kept."""
        return kept(self._shelf, self._name, lambda: postings_of(self._texts), Postings.opened)

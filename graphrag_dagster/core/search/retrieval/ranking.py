"""Ranking texts by a question: by words, by meaning, or by both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.ranks import Scores, comparable, cosines
from graphrag_dagster.core.search.kept import Shelf
from graphrag_dagster.core.search.retrieval.lexical import LexicalIndex
from graphrag_dagster.core.search.retrieval.vectors import Vectors

Mode = Literal["hybrid", "vector", "lexical"]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ids in descending order of score; equal scores in the order of the table."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Likeness:
    """Likeness of each row to a question, by words and by meaning; None where that does not count."""

    words: Scores | None
    meaning: Scores | None

    @property
    def whole(self) -> Scores:
        """One score per row: of the one that counts, or the sum of the z-scores of both."""
        if self.words is not None and self.meaning is not None:
            return z_scores(self.meaning) + z_scores(self.words)
        found = self.words if self.meaning is None else self.meaning
        return np.zeros(0) if found is None else found


class TextRanker:
    """Ranks the rows of one kind, e.g. text units, by a question.

    Args:
        ids: ids of the rows.
        texts: as many texts.
        vectors: their unit vectors [n, d], or None; a row of zeros stands for a blank text.
        shelf: where what is made of the texts is kept.
        name: of the texts, on the shelf.
    """

    def __init__(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        vectors: Vectors | None = None,
        shelf: Shelf | None = None,
        name: str = "",
    ) -> None:
        if len(ids) != len(texts) or (vectors is not None and len(vectors) != len(ids)):
            raise ValueError("ids, texts and vectors must be as many")
        self.ids = tuple(ids)
        self.vectors = vectors
        self.lexical = LexicalIndex(texts, shelf, name)

    def scores(
        self, question: str, question_vector: NDArray[np.float32] | None, mode: Mode = "hybrid"
    ) -> Scores:
        """Return one score per row, higher is better.

        Args:
            question: the question.
            question_vector: its unit vector [d], or None.
            mode: ``lexical`` is BM25, ``vector`` the cosine, ``hybrid`` the sum of the z-scores of both
                among the rows. Without vectors every mode is lexical.
        """
        return self.likeness(self.lexical.stems(question), question_vector, mode).whole

    def likeness(
        self, stems: Sequence[str], question_vector: NDArray[np.float32] | None, mode: Mode = "hybrid"
    ) -> Likeness:
        """Return what :meth:`scores` are made of, for the stems of a question."""
        if self.vectors is None or question_vector is None or mode == "lexical":
            return Likeness(self.lexical.scores_of(stems), None)
        words = None if mode == "vector" else self.lexical.scores_of(stems)
        return Likeness(words, cosines(self.vectors, question_vector))


def z_scores(values: Scores) -> Scores:
    """Return the values with mean 0 and standard deviation 1; zeros where all are alike."""
    if not len(values):
        return values
    spread = values.std()
    # The rounding of a mean makes equal values differ from it by less than this.
    if spread <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return np.zeros_like(values)
    found: Scores = (values - values.mean()) / spread
    return found


def first_places(scores: Scores, most: int | None = None) -> NDArray[np.int64]:
    """Return the places of the highest scores in descending order, at most so many; equal ones by place."""
    falling = -comparable(scores)
    if most is None or most >= len(scores):
        return np.argsort(falling, kind="stable")
    if most == 0:
        return np.zeros(0, dtype=np.int64)
    last = np.partition(falling, most - 1)[most - 1]
    good = np.flatnonzero(falling <= last)
    found: NDArray[np.int64] = good[np.argsort(falling[good], kind="stable")[:most]]
    return found


def ranked(
    ids: Sequence[str], scores: Scores, most: int | None = None, *, prior: Scores | None = None
) -> Ranking:
    """Return the ids in descending order of score, at most so many; equal scores keep their order.

    Args:
        ids: what is ranked.
        scores: as many.
        most: how many to return; None: all.
        prior: what each score, counted from the lowest, is multiplied by; 0 leaves out.
    """
    if prior is None or not len(scores):
        order = first_places(scores, most)
    else:
        scores, kept = (scores - scores.min()) * prior, np.flatnonzero(prior > 0)
        order = kept[first_places(scores[kept], most)]
    return Ranking(tuple(map(ids.__getitem__, order.tolist())), tuple(scores[order].tolist()))

"""Ranking texts by a question: by words, by meaning, or by both."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.packed_arrays import Places
from graphrag_dagster.kernel.common.stable_values import Scores, comparable, cosines
from graphrag_dagster.kernel.retrieval.index_cache import Shelf
from graphrag_dagster.kernel.retrieval.lexical_index import LexicalIndex

Vectors = NDArray[np.float32]
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


#: Of reciprocal rank fusion (Cormack et al. 2009, who take 60): the smaller, the more the first ones count.
#: This and what follows was chosen on meetings and articles (``benchmarks/README.md``, rerankers).
_SMOOTHING = 5
#: How much the order by likeness counts where units are small parts of their documents.
_LIKENESS = 2.0
#: What of its likeness the better of the two units beside one adds to it.
_NEIGHBOUR_SHARE = 0.4


def fused(
    followed: Places, likeness: Scores, length: float, prior: Scores | None = None
) -> tuple[Places, Scores]:
    """Return units in order, with scores that fall.

    What leads from unit to unit was fitted on passages that are each about one thing. A unit of a long
    document is about whatever stands there, and its own words say more of it than its name and beginning.

    Args:
        followed: the units in the order of following the question; those that are left out are not there.
        likeness: of every unit to the question.
        length: how little of its document a unit is, 0 (all of it) to 1: so much the likeness counts.
        prior: weight of every unit, by which its likeness is multiplied; None: all 1.
    """
    by_following = 1 / (_SMOOTHING + np.arange(len(followed)))
    if not length:
        return followed, by_following
    weighed = likeness if prior is None else (likeness - likeness.min(initial=0.0)) * prior
    by_likeness = np.empty(len(likeness), dtype=np.int64)
    by_likeness[first_places(weighed)] = np.arange(len(likeness))
    scores = by_following + _LIKENESS * length / (_SMOOTHING + by_likeness[followed])
    order = first_places(scores)
    return followed[order], scores[order]


def with_neighbours(likeness: Scores, documents: NDArray[np.int64]) -> Scores:
    """Return the likeness of units with that of those beside them: talk about something goes on.

    Args:
        likeness: of every unit to the question, in the order of the documents.
        documents: a number for the document of each.
    """
    before, after = (np.full(len(likeness), likeness.min(initial=0.0)) for _ in range(2))
    same = documents[1:] == documents[:-1]
    before[1:][same] = likeness[:-1][same]
    after[:-1][same] = likeness[1:][same]
    spread: Scores = likeness + _NEIGHBOUR_SHARE * np.maximum(before, after)
    return spread


def rows_of(ids: Sequence[str] | pl.Series, frame: pl.DataFrame | None, key: str) -> Vectors | None:
    """Return the vectors of ids [n, d] in their order, zeros where the frame has none.

    Those of a frame that lie in the same order are not copied.

    Args:
        ids: what the rows are for.
        frame: columns ``key`` and ``vector``, a list or array of floats.
        key: the column with the ids.

    Returns:
        the array, or None where there is no frame or it has no row for any of the ids.
    """
    if frame is None or frame.is_empty():
        return None
    wanted = pl.Series(key, ids, dtype=pl.String)
    if frame[key].equals(wanted):
        return _array(frame["vector"])
    known = frame.select(pl.col(key), source=pl.int_range(pl.len())).unique(key, keep="last")
    places = pl.DataFrame({key: wanted, "row": pl.int_range(len(wanted), eager=True)})
    taken = places.join(known, on=key).sort("row")
    if taken.is_empty():
        return None
    found = _array(frame["vector"])
    rows = np.zeros((len(wanted), found.shape[1]), dtype=np.float32)
    rows[taken["row"].to_numpy()] = found[taken["source"].to_numpy()]
    return rows


def _array(column: pl.Series) -> Vectors:
    if isinstance(column.dtype, pl.List):
        column = column.list.to_array(len(column[0]))
    found: Vectors = column.to_numpy().astype(np.float32, copy=False)
    return found


class RowTexts(Sequence[str]):
    """A text for each row, of two of its columns.

    Args:
        first: one column.
        second: the other.
        join: puts what a row has in both together.
    """

    def __init__(self, first: pl.Series, second: pl.Series, join: Callable[[str, str], str]) -> None:
        self._first = first
        self._second = second
        self._join = join

    def __len__(self) -> int:
        return len(self._first)

    def __iter__(self) -> Iterator[str]:
        return map(self._join, self._first.to_list(), self._second.to_list())

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return list(RowTexts(self._first[place], self._second[place], self._join))
        return self._join(self._first[place], self._second[place])

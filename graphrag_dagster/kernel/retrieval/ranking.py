"""Lexical, vector and hybrid ranking of texts for a question."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.lazy_values import AsRead
from graphrag_dagster.kernel.common.packed_arrays import Places
from graphrag_dagster.kernel.common.stable_values import Scores, cosines, round_for_comparison
from graphrag_dagster.kernel.retrieval.lexical_index import LexicalIndex
from graphrag_dagster.kernel.storage.index_cache import Shelf

Vectors = NDArray[np.float32]
Mode = Literal["hybrid", "vector", "lexical"]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ids in descending order of score; ties in table order."""

    ids: Sequence[str]
    scores: Sequence[float]


@dataclass(frozen=True, slots=True)
class Likeness:
    """Similarity of each row to a question, lexical and by vectors; None if not used."""

    words: Scores | None
    meaning: Scores | None

    @property
    def combined(self) -> Scores:
        """One score per row: that of the only kind used, or the sum of the z-scores of both."""
        if self.words is not None and self.meaning is not None:
            return z_scores(self.meaning) + z_scores(self.words)
        scores = self.words if self.meaning is None else self.meaning
        return np.zeros(0) if scores is None else scores


class TextRanker:
    """Ranks rows of one kind, such as text units, by their similarity to a question.

    Args:
        ids: of the rows.
        texts: one per row.
        vectors: their unit vectors [n, d], or None; zeros for a blank text.
        shelf: stores the lexical index.
        name: of the texts on the shelf.
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
        return self.likeness(self.lexical.stems(question), question_vector, mode).combined

    def likeness(
        self, stems: Sequence[str], question_vector: NDArray[np.float32] | None, mode: Mode = "hybrid"
    ) -> Likeness:
        """Return the components of :meth:`scores` for the stems of a question."""
        if self.vectors is None or question_vector is None or mode == "lexical":
            return Likeness(self.lexical.scores_of(stems), None)
        words = None if mode == "vector" else self.lexical.scores_of(stems)
        return Likeness(words, cosines(self.vectors, question_vector))


def z_scores(values: Scores) -> Scores:
    """Return the values with mean 0 and standard deviation 1; zeros if all are equal."""
    if not len(values):
        return values
    spread = values.std()
    # Rounding of the mean makes equal values differ from it by less than this.
    if spread <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return np.zeros_like(values)
    scores: Scores = (values - values.mean()) / spread
    return scores


def first_places(scores: Scores, most: int | None = None) -> NDArray[np.int64]:
    """Return the positions of the ``most`` highest scores in descending order; ties by position."""
    descending = -round_for_comparison(scores)
    if most is None or most >= len(scores):
        return np.argsort(descending, kind="stable")
    if most == 0:
        return np.zeros(0, dtype=np.int64)
    last = np.partition(descending, most - 1)[most - 1]
    above = np.flatnonzero(descending < last)
    # Most texts may share the last score, as those without a word of the question do.
    alike = np.flatnonzero(descending == last)[: most - len(above)]
    return np.concatenate((above[np.argsort(descending[above], kind="stable")], alike))


#: A question reads a few dozen text units, and seldom so many that all are worth ranking.
_PARTS = (1_000, 30_000, None)


def _places_in_parts(scores: Scores) -> Iterator[int]:
    """Yield all positions in the order of :func:`first_places`, ranked only as far as they are read."""
    ranked = 0
    for most in _PARTS:
        places = first_places(scores, most)
        yield from places[ranked:].tolist()
        ranked = len(places)
        if ranked == len(scores):
            return


def rank_by_score(
    ids: Sequence[str], scores: Scores, most: int | None = None, *, prior: Scores | None = None
) -> Ranking:
    """Return up to ``most`` ids in descending order of score, ranked as they are read; ties keep their order.

    Args:
        ids: to rank.
        scores: one per id.
        most: how many to return; None: all.
        prior: factor for each score, counted from the lowest; 0 excludes the id.
    """
    allowed = len(scores)
    if prior is not None and len(scores):
        allowed = int(np.count_nonzero(prior > 0))
        scores = np.where(prior > 0, (scores - scores.min()) * prior, -np.inf)
    order, of_scores = (
        islice(_places_in_parts(scores), allowed if most is None else min(most, allowed)) for _ in range(2)
    )
    return Ranking(AsRead(map(ids.__getitem__, order)), AsRead(map(scores.item, of_scores)))


#: The constant of reciprocal rank fusion (60 in Cormack et al. 2009): smaller favours the first ranks more.
#: This and the next ones were chosen on meetings and articles (measured by ``benchmarks/left_out.py``).
_SMOOTHING = 5
#: Weight of the order by similarity where units are small parts of their documents.
_LIKENESS = 2.0
#: Share of the similarity of the better neighbouring unit that is added to a unit.
_NEIGHBOUR_SHARE = 0.4


def fuse_rankings(
    followed: Places, likeness: Scores, length: float, prior: Scores | None = None
) -> tuple[Places, Scores]:
    """Fuse the order of following a question with that by similarity; return units and falling scores.

    Multi-hop retrieval was fitted on passages that are each about one thing. A unit of a long document covers
    whatever comes up there, so its own words say more than its title and beginning.

    Args:
        followed: the units in the order of following the question, without excluded units.
        likeness: of every unit to the question.
        length: how small units are within their documents, 0 (the whole) to 1; scales the similarity.
        prior: factor for the similarity of every unit; None: all 1.
    """
    by_following = 1 / (_SMOOTHING + np.arange(len(followed)))
    if not length:
        return followed, by_following
    weighted = likeness if prior is None else (likeness - likeness.min(initial=0.0)) * prior
    by_likeness = np.empty(len(likeness), dtype=np.int64)
    by_likeness[first_places(weighted)] = np.arange(len(likeness))
    scores = by_following + _LIKENESS * length / (_SMOOTHING + by_likeness[followed])
    order = first_places(scores)
    return followed[order], scores[order]


def with_neighbours(likeness: Scores, documents: NDArray[np.int64]) -> Scores:
    """Add to the similarity of units a share of their neighbours', since a topic continues across units.

    Args:
        likeness: of every unit to the question, in document order.
        documents: a number for the document of each unit.
    """
    before, after = (np.full(len(likeness), likeness.min(initial=0.0)) for _ in range(2))
    same = documents[1:] == documents[:-1]
    before[1:][same] = likeness[:-1][same]
    after[:-1][same] = likeness[1:][same]
    combined_likeness: Scores = likeness + _NEIGHBOUR_SHARE * np.maximum(before, after)
    return combined_likeness


def rows_of(ids: Sequence[str] | pl.Series, frame: pl.DataFrame | None, key: str) -> Vectors | None:
    """Return the vectors of ids [n, d] in order, zeros for missing ones.

    Vectors that are already in this order are not copied.

    Args:
        ids: of the rows.
        frame: columns ``key`` and ``vector``, a list or array of floats.
        key: the column with the ids.

    Returns:
        The array; None without a frame or if it has none of the ids.
    """
    if frame is None or frame.is_empty():
        return None
    wanted = pl.Series(key, ids, dtype=pl.String)
    if frame[key].equals(wanted):
        return _array(frame["vector"])
    known = frame.select(pl.col(key), source=pl.int_range(pl.len())).unique(key, keep="last")
    positions = pl.DataFrame({key: wanted, "row": pl.int_range(len(wanted), eager=True)})
    matched = positions.join(known, on=key).sort("row")
    if matched.is_empty():
        return None
    vectors = _array(frame["vector"])
    rows = np.zeros((len(wanted), vectors.shape[1]), dtype=np.float32)
    rows[matched["row"].to_numpy()] = vectors[matched["source"].to_numpy()]
    return rows


def _array(column: pl.Series) -> Vectors:
    if isinstance(column.dtype, pl.List):
        column = column.list.to_array(len(column[0]))
    vectors: Vectors = column.to_numpy().astype(np.float32, copy=False)
    return vectors


class RowTexts(Sequence[str]):
    """A text for each row, made from two of its columns.

    Args:
        first: one column.
        second: the other column.
        join: combines the two cells of a row.
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

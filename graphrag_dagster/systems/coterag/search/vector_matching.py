"""Vectors of rows of one kind, ranked by similarity to a question."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError, VectorLengthError
from graphrag_dagster.kernel.common.stable_values import Scores, cosines, unit_rows
from graphrag_dagster.systems.coterag.coterag_options import CoverageRule, Thresholds

#: Below every cosine: what has no vector is like nothing.
UNLIKE = -1.0
#: Digits of a cosine that float32 vectors tell: one that reaches a threshold does not seem to exceed it.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Vectors:
    """Unit vectors of rows.

    Attributes:
        ids: of the rows.
        matrix: float32 [rows, dimension]; a row of zeros stands for a blank text and is like nothing.
        embedder: that made them.
    """

    ids: Sequence[str]
    matrix: NDArray[np.float32]
    embedder: str
    places: dict[str, int] = field(init=False, repr=False)
    zero: NDArray[np.bool_] = field(init=False, repr=False)
    order: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.ids):
            raise GraphragError(
                f"{len(self.ids)} rows have vectors of the shape {self.matrix.shape}; materialise them again"
            )
        if not np.isfinite(self.matrix).all():
            raise GraphragError(
                f"vectors of {self.embedder} hold values that are no numbers; materialise them again"
            )
        unit = unit_rows(self.matrix)
        object.__setattr__(self, "matrix", unit)
        object.__setattr__(self, "zero", ~unit.any(axis=1))
        object.__setattr__(self, "order", _order(self.ids))
        object.__setattr__(self, "places", {one: place for place, one in enumerate(self.ids)})

    @classmethod
    def of(cls, frame: pl.DataFrame, key: str, embedder: str) -> "Vectors":
        """Return the vectors of a table.

        Args:
            frame: ``key``, ``embedder`` and ``vector``.
            key: column of ids.
            embedder: that will embed the questions.

        Raises:
            GraphragError: some were made by another embedder.
        """
        others = frame.filter(pl.col("embedder") != embedder)["embedder"].unique().sort()
        if len(others):
            raise GraphragError(
                f"vectors of {key.removesuffix('_id')} rows were made by {others[0]!r}, questions are "
                f"embedded by {embedder!r}: vectors of two embedders cannot be compared; set `embeddings` "
                "back, or materialise the embeddings again"
            )
        matrix = frame["vector"].to_numpy() if len(frame) else np.zeros((0, 0), dtype=np.float32)
        return cls(frame[key].to_list(), np.asarray(matrix, dtype=np.float32), embedder)

    def similarities(self, question: NDArray[np.floating]) -> Scores:
        """Return the cosine of every row with a question's vector; -1 where either is all zeros.

        Raises:
            VectorLengthError: the question's vector is of another length, hence of another embedder.
        """
        if not len(self.ids):
            return np.zeros(0)
        if question.shape != self.matrix.shape[1:]:
            raise VectorLengthError(question.size, self.matrix.shape[1], self.embedder)
        asked = unit_rows(question.reshape(1, -1))[0]
        if not asked.any():
            return np.full(len(self.ids), UNLIKE)
        found: Scores = np.where(self.zero, UNLIKE, cosines(self.matrix, asked).round(_DIGITS))
        return found


def by_rank(ids: Sequence[str], scores: Scores, most: int | None = None) -> list[int]:
    """Return places by score descending, then id."""
    order = np.lexsort((_order(ids), -scores))
    return [int(place) for place in order[:most]]


def _order(ids: Sequence[str]) -> NDArray[np.int64]:
    """Of each id its place were they sorted."""
    found: NDArray[np.int64] = np.argsort(np.argsort(np.asarray(ids, dtype=object)))
    return found


MatchClass = Literal["high_confidence", "high_similarity", "dropped"]


@dataclass(frozen=True, slots=True)
class CommunityMatch:
    """How well a community matches a question, and whether it was selected; ``score`` ranks its class."""

    community_id: str
    similarity: float
    coverage: float
    score: float
    match_class: MatchClass
    selected: bool


def match_communities(
    ids: Sequence[str],
    similarity: Scores,
    coverage: Scores,
    thresholds: Thresholds,
    *,
    rule: CoverageRule = "class",
    most: int = 3,
    scores: Scores | None = None,
    by_terms: bool = False,
) -> list[CommunityMatch]:
    """Return the communities whose similarity exceeds its threshold, selected ones first, in order.

    High confidence: the coverage exceeds its threshold too; the similarity of these need only exceed
    ``covered``. These come first, then those of high similarity alone, each by score descending, then id.

    Args:
        ids: of the communities.
        similarity: cosine of the question with each summary.
        coverage: share of the question's terms in each community's.
        thresholds: both must be exceeded, not only reached.
        rule: ``class`` as above; ``strict`` drops what is of high similarity alone; ``all`` has both in one
            order.
        most: how many are selected.
        scores: of the communities; default: the similarity.
        by_terms: a community of high similarity alone is to share at least one of the question's terms.
    """
    ranked = similarity if scores is None else scores
    alone = similarity > thresholds.community
    if by_terms:
        alone &= coverage > 0
    covering = (coverage > thresholds.coverage) & (similarity > thresholds.covered) & (rule != "all")
    near = np.flatnonzero(alone | covering).tolist()
    classes: dict[int, MatchClass] = {
        place: "high_confidence"
        if coverage[place] > thresholds.coverage
        else "dropped"
        if rule == "strict"
        else "high_similarity"
        for place in near
    }
    ranks = ("high_confidence", "high_similarity", "dropped")

    def key(place: int) -> tuple[int, float, str]:
        rank = 0 if rule == "all" else ranks.index(classes[place])
        return rank, -float(ranked[place]), ids[place]

    found = []
    for rank, place in enumerate(sorted(near, key=key)):
        kept = rank < most and classes[place] != "dropped"
        found.append(
            CommunityMatch(
                ids[place],
                float(similarity[place]),
                float(coverage[place]),
                float(ranked[place]),
                classes[place],
                kept,
            )
        )
    return found

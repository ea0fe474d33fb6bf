"""The first text units of a ranking in a new order, and what moved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from graphrag_dagster.core.ranks import Scores, comparable
from graphrag_dagster.core.search.reranking.port import Reranker, Sought
from graphrag_dagster.core.search.retrieval.lists import Places
from graphrag_dagster.core.search.retrieval.ranking import first_places
from graphrag_dagster.core.wording import counted
from graphrag_dagster.errors import EngineError

#: Of reciprocal rank fusion (Cormack et al. 2009, who take 60): the smaller, the more the first ones count.
_SMOOTHING = 10


@dataclass(frozen=True, slots=True)
class Moved:
    """A text unit that was put elsewhere; ranks count from 1."""

    text_unit_id: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Reranked:
    """What a reranker did to the first text units that were found.

    Attributes:
        question: that they were found by.
        reranker: its name, which tells kind, model and version.
        units: how many it looked at.
        moved: those that it put elsewhere, in their new order.
    """

    question: str
    reranker: str
    units: int
    moved: tuple[Moved, ...] = ()


def reordered(
    found: Sequence[str], texts: Callable[[str], str], sought: Sought, reranker: Reranker, first: int
) -> tuple[list[str], Reranked]:
    """Return all text units, the first of them in a new order, and what moved.

    The order that they were found in and that of the reranker's scores are made one by reciprocal rank
    fusion, in which the latter counts as much as the reranker says. Equal scores have the same rank, so that
    a reranker that tells nothing apart moves nothing. Units beyond the first stay where they are.

    Args:
        found: ids of text units, best first.
        texts: gives the text of a unit.
        sought: what they were found by.
        reranker: scores the first of them.
        first: how many these are, at most.

    Raises:
        EngineError: it gave something else than one finite score for each.
    """
    head = list(found[:first])
    scores = np.asarray(reranker.scores(sought, [texts(one) for one in head]), dtype=np.float64)
    if scores.shape != (len(head),) or not np.isfinite(scores).all():
        raise EngineError(
            f"the reranker {reranker.name} gave no finite score for each of {counted(len(head), 'text unit')}"
        )
    order = _fused(scores, reranker.counts(sought)).tolist()
    moved = tuple(
        Moved(head[before], before + 1, after) for after, before in enumerate(order, 1) if before + 1 != after
    )
    made = Reranked(sought.question, reranker.name, len(head), moved)
    return [*(head[place] for place in order), *found[first:]], made


def _fused(scores: Scores, counts: float) -> Places:
    rounded = comparable(scores)
    better = np.searchsorted(np.sort(-rounded), -rounded, side="left")
    return first_places(1 / (_SMOOTHING + np.arange(len(scores))) + counts / (_SMOOTHING + better))

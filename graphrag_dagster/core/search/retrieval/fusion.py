"""One order of text units made of two: that of following a question, and that of likeness to it."""

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.search.retrieval.lists import Places
from graphrag_dagster.core.search.retrieval.ranking import first_places

#: Of reciprocal rank fusion (Cormack et al. 2009, who take 60): the smaller, the more the first ones count.
#: This and what follows was chosen on meetings and articles (``benchmarks/README.md``, rerankers).
_SMOOTHING = 5
#: How much the order by likeness counts where units are small parts of their documents.
_LIKENESS = 2.0
#: What of its likeness the better of the two units beside one adds to it.
_BESIDE = 0.4


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
    spread: Scores = likeness + _BESIDE * np.maximum(before, after)
    return spread

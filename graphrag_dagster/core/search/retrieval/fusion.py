"""One order of text units made of two: that of following a question, and that of likeness to it."""

import numpy as np

from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.search.retrieval.lists import Places
from graphrag_dagster.core.search.retrieval.ranking import first_places

#: Of reciprocal rank fusion (Cormack et al. 2009, who take 60): the smaller, the more the first ones count.
_SMOOTHING = 10


def fused(
    followed: Places, likeness: Scores, length: float, prior: Scores | None = None
) -> tuple[Places, Scores]:
    """Return units in order, with scores that fall.

    What leads from unit to unit was fitted on passages that are each about one thing. A unit of a long
    document is about whatever stands there, and its own words say more of it than its name and beginning.

    Args:
        followed: the units in the order of following the question; those that are left out are not there.
        likeness: of every unit to the question.
        length: how much the order by likeness counts, 0 to 1.
        prior: weight of every unit, by which its likeness is multiplied; None: all 1.
    """
    by_following = 1 / (_SMOOTHING + np.arange(len(followed)))
    if not length:
        return followed, by_following
    weighed = likeness if prior is None else (likeness - likeness.min(initial=0.0)) * prior
    by_likeness = np.empty(len(likeness), dtype=np.int64)
    by_likeness[first_places(weighed)] = np.arange(len(likeness))
    scores = by_following + length / (_SMOOTHING + by_likeness[followed])
    order = first_places(scores)
    return followed[order], scores[order]

"""Cross-cluster similarity (spec_context_leiden §7)."""

import numpy as np

from graphrag_dagster.core.graph.context.adjacency import Places
from graphrag_dagster.core.graph.context.metrics.memberships import NONE
from graphrag_dagster.core.graph.context.similarity import community_means
from graphrag_dagster.core.graph.context.units import Doubles, Units


def cross_similarity(units: Units, members: Places, home: Places, also: Places | None = None) -> Doubles:
    """Return of each member the mean cosine with those outside its community; not a number without any.

    Args:
        units: vectors of all nodes.
        members: those of the level that have one.
        home: of each of these its community, 0….
        also: of each a second community that is left out, -1 for none.
    """
    means, sizes = community_means(units, members, home)
    sums = means * sizes[:, None]
    whole = sums.sum(axis=0, keepdims=True)
    total = units.dots(members, whole, np.zeros(len(members), dtype=np.int64))
    total -= units.dots(members, sums, home)
    outside = len(members) - sizes[home]
    if also is not None:
        second = np.flatnonzero(also != NONE)
        total[second] -= units.dots(members[second], sums, also[second])
        outside[second] -= sizes[also[second]]
    found = np.full(len(total), np.nan)
    np.divide(total, outside, out=found, where=outside > 0)
    return found

"""The pull of edges, in proportion to their length.

A long edge would take a point out of its group, the farther the larger the graph. So of an edge that leaves
groups, what is pulled beyond a length is shared by all points of the outermost groups that it leaves: those
move as a whole.
"""

import numpy as np

from graphrag_dagster.core.graph.layout.bodies import Bodies, Floats, Places, summed

#: Length at which half of the pull is shared.
_LONG = 10.0


class Springs:
    """The edges between points, of which masses and groups stay the same."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        first = np.cumsum([0, *(int(group.max()) + 1 for group in bodies.groups)])
        self._shared_by = [first[level] + group for level, group in enumerate(bodies.groups)]
        self._mass = np.zeros(int(first[-1]))
        for group in self._shared_by:
            self._mass += np.bincount(group, bodies.mass, len(self._mass))
        self._edges, self._ends = self._leaving()

    def of(self, places: Floats) -> Floats:
        """Return the pull on each point by its mass, shape [points, 2]."""
        bodies, count = self._bodies, len(places)
        along = places[bodies.target] - places[bodies.source]
        pull = along * bodies.pull[:, None]
        length = np.sqrt((along[self._edges] ** 2).sum(axis=1))
        shared = pull[self._edges] * (length / (length + _LONG))[:, None]
        pull[self._edges] -= shared
        own = summed(bodies.source, pull, count) - summed(bodies.target, pull, count)
        moved: Floats = own / bodies.mass[:, None]
        if len(self._edges):
            source, target = self._ends
            whole = summed(source, shared, len(self._mass)) - summed(target, shared, len(self._mass))
            whole /= self._mass[:, None]
            for group in self._shared_by:
                moved += whole[group]
        return moved

    def _leaving(self) -> tuple[Places, tuple[Places, Places]]:
        """Return the edges that leave groups, and the outermost group of each end that it leaves."""
        source, target = self._bodies.source, self._bodies.target
        ends = np.full((2, len(source)), -1, dtype=np.int64)
        for group in reversed(self._shared_by):
            leaves = group[source] != group[target]
            ends[:, leaves] = group[source[leaves]], group[target[leaves]]
        edges = np.flatnonzero(ends[0] >= 0)
        return edges, (ends[0, edges], ends[1, edges])

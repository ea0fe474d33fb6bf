"""A layout from scratch: communities level by level, each starting within its parent, then entities."""

import numpy as np

from graphrag_dagster.systems.graphrag.layout.bodies import Bodies, Floats, Places, discs
from graphrag_dagster.systems.graphrag.layout.settling import settled

#: Of the outermost groups, of those within them, and of the nodes.
_FIRST_STEPS, _GROUP_STEPS, _NODE_STEPS = 200, 50, 80
#: How many times as many groups a level must have for a pass of its own.
_MORE = 1.2


def from_nothing(bodies: Bodies) -> Floats:
    """Return places around 0, shape [points, 2]; a function of the points alone."""
    nodes = len(bodies.mass)
    places, parents = np.zeros((1, 2)), np.zeros(nodes, dtype=np.int64)
    for level, groups in enumerate([*bodies.groups, np.arange(nodes, dtype=np.int64)]):
        if level < bodies.levels and groups.max(initial=-1) + 1 < _MORE * len(places):
            continue
        points = _together(bodies, groups, level)
        parent = np.zeros(len(points.mass), dtype=np.int64)
        parent[groups] = parents
        steps = _NODE_STEPS if level == bodies.levels else _GROUP_STEPS if level else _FIRST_STEPS
        places = settled(points, discs(places, parent, points.mass), steps)
        parents = groups
    return places


def _together(bodies: Bodies, groups: Places, level: int) -> Bodies:
    """Return the points of a level: each what the nodes of a group are together."""
    count = int(groups.max(initial=-1)) + 1
    source, target = groups[bodies.source], groups[bodies.target]
    low, high = np.minimum(source, target), np.maximum(source, target)
    pairs, place = np.unique(low * count + high, return_inverse=True)
    mass = np.bincount(groups, bodies.mass, count).astype(np.float64)
    pull = np.bincount(place.reshape(-1), bodies.pull, len(pairs))
    apart = pairs // count != pairs % count
    first = np.zeros(count, dtype=np.int64)
    first[groups] = np.arange(len(groups))
    return Bodies(
        mass=mass,
        source=(pairs // count)[apart],
        target=(pairs % count)[apart],
        pull=pull[apart],
        groups=[outer[first] for outer in bodies.groups[:level]],
        levels=bodies.levels,
    )

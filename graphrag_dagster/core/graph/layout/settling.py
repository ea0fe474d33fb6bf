"""Points that move until what holds them together and what drives them apart are equal.

Every pair repels by mass over distance, as in ForceAtlas2 (Jacomy et al. 2014, PLoS ONE 9(6) e98679); edges,
the centres of the groups and the middle of the picture attract in proportion to the distance. Under such
forces a group becomes a disc of even density, the same for large groups and small ones: the stronger the
pull of its centre is beside that of the middle, the smaller the disc is beside the gaps.
"""

import numpy as np

from graphrag_dagster.core.graph.layout.bodies import Bodies, Floats, Places, summed
from graphrag_dagster.core.graph.layout.repulsion import Repulsion
from graphrag_dagster.core.graph.layout.springs import Springs

#: Pull of the middle, beside that of the centres of a point's groups, which together are the rest to 1.
_MIDDLE = 0.35
#: Of the rest, the share of the innermost groups; the others have even parts of what is left.
_INNERMOST = 0.7
#: Pull of all edges of an average point together.
_EDGES = 0.6
_FIRST_STEP, _LAST_STEP = 0.5, 0.1
#: How far a point may go at a time; the unit is the distance of neighbours.
_FIRST_REACH, _LAST_REACH = 4.0, 0.2
#: Places are rounded at each step, so that last bits, in which processors differ, do not add up.
_GRAIN = 2.0**-16


def settled(
    bodies: Bodies, start: Floats, steps: int, *, warm: bool = False, home: Floats | None = None
) -> Floats:
    """Return the places to which points go.

    Args:
        bodies: the points.
        start: where they are, shape [points, 2], around 0.
        steps: how often all of them move.
        warm: begin with the steps of the end.
        home: pull of each point's start, shape [points].
    """
    if not len(start):
        return start
    repulsion, springs = Repulsion(len(start)), Springs(bodies)
    rates = pulls(bodies.levels)
    places = start.copy()
    for done in np.linspace(float(warm), 1.0, steps):
        force = repulsion.of(places, bodies.mass) / np.pi - _MIDDLE * places
        for group, rate in zip(bodies.groups, rates, strict=False):
            force += rate * (_centres(places, bodies.mass, group)[group] - places)
        force += _EDGES * springs.of(places)
        if home is not None:
            force += home[:, None] * (start - places)
        step = force * (_FIRST_STEP + done * (_LAST_STEP - _FIRST_STEP))
        reach = _FIRST_REACH + done * (_LAST_REACH - _FIRST_REACH)
        length = np.maximum(np.sqrt((step**2).sum(axis=1)), 1e-9)
        places += step * np.minimum(1.0, reach / length)[:, None]
        places = np.round(places / _GRAIN) * _GRAIN
    return places


def pulls(levels: int) -> list[float]:
    """Return the pull of the centres of each level of groups, the outermost first."""
    if not levels:
        return []
    rest = 1 - _MIDDLE
    if levels == 1:
        return [rest]
    outer = rest * (1 - _INNERMOST) / (levels - 1)
    return [outer] * (levels - 1) + [rest * _INNERMOST]


def _centres(places: Floats, mass: Floats, group: Places) -> Floats:
    whole = np.bincount(group, mass)
    centres: Floats = summed(group, mass[:, None] * places, len(whole)) / whole[:, None]
    return centres

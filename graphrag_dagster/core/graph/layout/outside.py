"""Entities that nothing is linked to lie around the others, each where it was as long as there is room."""

import numpy as np

from graphrag_dagster.core.graph.layout.bodies import Floats
from graphrag_dagster.core.graph.layout.discs import spiral

#: Around what is linked stays free: at first, and at least once it has grown.
_GAP, _LEAST_GAP = 1.1, 1.03
_AREA = 2.0


def around(radius: float, before: Floats) -> Floats:
    """Return places outside a circle, shape [points, 2].

    Args:
        radius: of the circle.
        before: where each point was, NaN for those that were not there, shape [points, 2].
    """
    distance = np.sqrt((before**2).sum(axis=1))
    known = np.isfinite(distance)
    inner = float(distance[known].min()) if known.any() else np.inf
    places = before * max(1.0, _LEAST_GAP * radius / max(inner, 1e-9))
    outer = float(np.sqrt((places[known] ** 2).sum(axis=1).max())) if known.any() else _GAP * radius
    new = np.arange(int((~known).sum()))
    area = np.pi * outer**2 + _AREA * (new + 1)
    places[~known] = spiral(new + int(known.sum()), area.astype(np.float64))
    return places

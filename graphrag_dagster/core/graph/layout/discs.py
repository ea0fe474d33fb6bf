"""Even discs of points: the start of a layout, and the place of what nothing is known of."""

import numpy as np

from graphrag_dagster.core.graph.layout.bodies import Floats, Places

_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def discs(centres: Floats, parent: Places, mass: Floats) -> Floats:
    """Return points in discs of even density around the centres of their parents, the heaviest in the middle.

    Args:
        centres: shape [parents, 2].
        parent: of each point, shape [points].
        mass: of each point.
    """
    order = np.lexsort((np.arange(len(parent)), -mass, parent))
    counts = np.bincount(parent, minlength=len(centres))
    first = (np.cumsum(counts) - counts)[parent[order]]
    rank = np.arange(len(parent)) - first
    before = np.cumsum(mass[order]) - mass[order]
    inside = before - before[first] + mass[order] / 2
    points = np.empty((len(parent), 2))
    points[order] = centres[parent[order]] + spiral(rank, inside)
    return points


def spiral(rank: Places, area: Floats) -> Floats:
    """Return points on a spiral of golden angles: of each its number, and the area times π within it."""
    angle = rank * _GOLDEN_ANGLE
    points: Floats = np.sqrt(area / np.pi)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return points

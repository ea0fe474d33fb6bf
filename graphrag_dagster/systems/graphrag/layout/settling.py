"""Points that move until what holds them together and what drives them apart are equal.

Every pair repels by mass over distance, as in ForceAtlas2 (Jacomy et al. 2014, PLoS ONE 9(6) e98679); edges,
the centres of the groups and the middle of the picture attract in proportion to the distance. Under such
forces a group becomes a disc of even density, the same for large groups and small ones: the stronger the
pull of its centre is beside that of the middle, the smaller the disc is beside the gaps.

The pull of edges, in proportion to their length.

A long edge would take a point out of its group, the farther the larger the graph. So of an edge that leaves
groups, what is pulled beyond a length is shared by all points of the outermost groups that it leaves: those
move as a whole.

Repulsion between all points, by mass over distance, summed on a grid.

The masses are spread over the four nearest cells, the potential is their convolution with a logarithm, and
its slope is read off again between the cells: the time grows with the points and the cells, not with the
pairs. Below the width of a cell points hardly repel each other.
"""

import numpy as np

from graphrag_dagster.systems.graphrag.layout.bodies import Bodies, Floats, summed

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
            mass = np.bincount(group, bodies.mass)
            centres = summed(group, bodies.mass[:, None] * places, len(mass)) / mass[:, None]
            force += rate * (centres[group] - places)
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
        # The edges that leave groups, and the outermost group of each end that they leave.
        ends = np.full((2, len(bodies.source)), -1, dtype=np.int64)
        for group in reversed(self._shared_by):
            leaves = group[bodies.source] != group[bodies.target]
            ends[:, leaves] = group[bodies.source[leaves]], group[bodies.target[leaves]]
        self._edges = np.flatnonzero(ends[0] >= 0)
        self._ends = ends[0, self._edges], ends[1, self._edges]

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


_FEWEST_CELLS, _MOST_CELLS = 32, 512
_CELLS_PER_SPACING = 2.5


class Repulsion:
    """The forces between points, of which the number stays the same.

    Args:
        points: how many there are; decides how fine the grid is.
    """

    def __init__(self, points: int) -> None:
        wanted = _CELLS_PER_SPACING * np.sqrt(max(points, 1))
        self._cells = int(2 ** np.clip(np.ceil(np.log2(wanted)), *np.log2([_FEWEST_CELLS, _MOST_CELLS])))
        side = 2 * self._cells
        offset = np.minimum(np.arange(side), side - np.arange(side)).astype(np.float64)
        potential = -0.5 * np.log(offset[:, None] ** 2 + offset[None] ** 2 + 0.5)
        self._kernel = np.fft.rfft2(potential)

    def of(self, places: Floats, mass: Floats) -> Floats:
        """Return for every point the sum over the others of mass over distance, away from them.

        Args:
            places: shape [points, 2].
            mass: shape [points].
        """
        cells = self._cells
        reach = float(np.abs(places).max()) + 1e-3
        # A cell is left free at each side: slopes are taken across two.
        width = 2 * reach / (cells - 5)
        x, y = (places.T + reach) / width + 2
        column, row = x.astype(np.int64), y.astype(np.int64)
        right, up = x - column, y - row
        near = column * cells + row
        corners = (
            (near, (1 - right) * (1 - up)),
            (near + 1, (1 - right) * up),
            (near + cells, right * (1 - up)),
            (near + cells + 1, right * up),
        )
        spread = np.zeros(cells * cells)
        for corner, share in corners:
            spread += np.bincount(corner, mass * share, cells * cells)
        waves = np.fft.rfft2(spread.reshape(cells, cells), (2 * cells, 2 * cells))
        potential = np.fft.irfft2(waves * self._kernel, (2 * cells, 2 * cells))[:cells, :cells]
        force = np.empty_like(places)
        for axis in (0, 1):
            slope = (np.roll(potential, 1, axis) - np.roll(potential, -1, axis)).ravel()
            force[:, axis] = sum(slope[corner] * share for corner, share in corners)
        return force / (2 * width)

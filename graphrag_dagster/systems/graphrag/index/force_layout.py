"""Force-directed layout, from scratch or from previous positions.

Every pair repels by mass over distance, as in ForceAtlas2 (Jacomy et al. 2014, PLoS ONE 9(6) e98679); edges,
the centres of the groups and the middle of the picture attract in proportion to the distance. Under such
forces a group becomes a disc of even density, the same for large groups and small ones: the stronger the
pull of its centre is beside that of the middle, the smaller the disc is beside the gaps.

**Edges.** A long edge would take a point out of its group, the farther the larger the graph. So of an edge
that leaves groups, what is pulled beyond a length is shared by all points of the outermost groups that it
leaves: those move as a whole.

**Repulsion** is summed on a grid. The masses are spread over the four nearest cells, the potential is their
convolution with a logarithm, and its slope is read off again between the cells: the time grows with the
points and the cells, not with the pairs. Below the width of a cell points hardly repel each other.
"""

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.systems.graphrag.index.layout_bodies import (
    Bodies,
    Floats,
    Places,
    discs,
    spiral,
    sum_by_index,
)

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


def run_forces(
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
    rates = pull_strengths(bodies.levels)
    places = start.copy()
    for done in np.linspace(float(warm), 1.0, steps):
        force = repulsion.of(places, bodies.mass) / np.pi - _MIDDLE * places
        for group, rate in zip(bodies.groups, rates, strict=False):
            mass = np.bincount(group, bodies.mass)
            centres = sum_by_index(group, bodies.mass[:, None] * places, len(mass)) / mass[:, None]
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


def pull_strengths(levels: int) -> list[float]:
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
        own = sum_by_index(bodies.source, pull, count) - sum_by_index(bodies.target, pull, count)
        moved: Floats = own / bodies.mass[:, None]
        if len(self._edges):
            source, target = self._ends
            whole = sum_by_index(source, shared, len(self._mass)) - sum_by_index(
                target, shared, len(self._mass)
            )
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


#: Of the outermost groups, of those within them, and of the nodes.
_FIRST_STEPS, _GROUP_STEPS, _NODE_STEPS = 200, 50, 80
#: How many times as many groups a level must have for a pass of its own.
_MORE = 1.2


def layout_cold(bodies: Bodies) -> Floats:
    """Return places around 0, shape [points, 2]; a function of the points alone."""
    nodes = len(bodies.mass)
    places, parents = np.zeros((1, 2)), np.zeros(nodes, dtype=np.int64)
    for level, groups in enumerate([*bodies.groups, np.arange(nodes, dtype=np.int64)]):
        if level < bodies.levels and groups.max(initial=-1) + 1 < _MORE * len(places):
            continue
        points = _merge_groups(bodies, groups, level)
        parent = np.zeros(len(points.mass), dtype=np.int64)
        parent[groups] = parents
        steps = _NODE_STEPS if level == bodies.levels else _GROUP_STEPS if level else _FIRST_STEPS
        places = run_forces(points, discs(places, parent, points.mass), steps)
        parents = groups
    return places


def _merge_groups(bodies: Bodies, groups: Places, level: int) -> Bodies:
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


_STEPS = 40
#: Pull of the place where a point was; that of its groups and the middle together is 1.
_HOME = 0.5
#: How far from the centre of its group a point may have been to stay, in radii of the group's disc and one.
_NEAR = 3.0


def layout_warm(bodies: Bodies, before: Floats) -> Floats:
    """Return places around 0, shape [points, 2].

    Args:
        bodies: the points.
        before: where each of them was, NaN for those that are new.
    """
    known = np.isfinite(before[:, 0])
    start = _start_positions(bodies, before, known)
    return run_forces(bodies, start, _STEPS, warm=True, home=np.where(known, _HOME, 0.0))


def inside_their_groups(bodies: Bodies, before: Floats) -> NDArray[np.bool_]:
    """Return which points were near the others of their innermost groups: the rest belonged elsewhere.

    Args:
        bodies: the points.
        before: where each of them was, NaN for those that are new.
    """
    known, group = np.isfinite(before[:, 0]), bodies.groups[-1]
    count = np.bincount(group[known], minlength=int(group.max(initial=-1)) + 1)
    centres = sum_by_index(group[known], before[known], len(count)) / np.maximum(count, 1)[:, None]
    disc = np.sqrt(np.bincount(group, bodies.mass) / np.pi)
    away = np.sqrt(((before - centres[group]) ** 2).sum(axis=1))
    near: NDArray[np.bool_] = away <= _NEAR * (disc[group] + 1)
    return near


def _start_positions(bodies: Bodies, before: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return a start for new points: beside those of their groups, else beside what is linked, or outside."""
    places, placed = before.copy(), known.copy()
    inside = bodies.groups[-1][bodies.source] == bodies.groups[-1][bodies.target]
    while not placed.all():
        found, positions = _near_linked(bodies, inside, places, placed)
        if not len(found):
            found, positions = _near_group_members(bodies, places, placed)
        if not len(found):
            found, positions = _near_linked(bodies, ~inside, places, placed)
        if not len(found):
            found, positions = _outside_positions(bodies, places, placed)
        places[found], placed[found] = positions, True
    return places


def _near_linked(
    bodies: Bodies, edges: NDArray[np.bool_], places: Floats, placed: NDArray[np.bool_]
) -> tuple[Places, Floats]:
    nodes = len(placed)
    whole, sums = np.zeros(nodes), np.zeros((nodes, 2))
    for one, other in ((bodies.source, bodies.target), (bodies.target, bodies.source)):
        counts = edges & placed[one] & ~placed[other]
        whole += np.bincount(other[counts], bodies.pull[counts], nodes)
        sums += sum_by_index(other[counts], bodies.pull[counts, None] * places[one[counts]], nodes)
    found = np.flatnonzero(whole)
    return found, _spread_around(found, sums[found] / whole[found, None])


def _near_group_members(bodies: Bodies, places: Floats, placed: NDArray[np.bool_]) -> tuple[Places, Floats]:
    for group in reversed(bodies.groups):
        count = np.bincount(group[placed], minlength=int(group.max(initial=0)) + 1)
        found = np.flatnonzero(~placed & (count[group] > 0))
        if len(found):
            centres = sum_by_index(group[placed], places[placed], len(count)) / np.maximum(count, 1)[:, None]
            return found, _spread_around(found, centres[group[found]])
    return np.empty(0, dtype=np.int64), np.empty((0, 2))


def _outside_positions(bodies: Bodies, places: Floats, placed: NDArray[np.bool_]) -> tuple[Places, Floats]:
    found = np.flatnonzero(~placed)
    own, parent = np.unique(bodies.groups[0][found], return_inverse=True)
    edge = np.sqrt((places[placed] ** 2).sum(axis=1).max(initial=0.0))
    centres = spiral(own, np.full(len(own), np.pi * edge**2))
    return found, discs(centres, parent.reshape(-1).astype(np.int64), bodies.mass[found])


def _spread_around(points: Places, centres: Floats) -> Floats:
    """Return the points a little beside the centres, no two of one centre alike."""
    return centres + spiral(points, np.full(len(points), np.pi / 4))

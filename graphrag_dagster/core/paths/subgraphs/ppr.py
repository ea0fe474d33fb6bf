"""Personalised PageRank, as exact as asked (spec_lego §3).

``π = (1 - d)·s + d·(Pᵀπ + dangling·s)``, where ``d`` is the probability of following an edge and ``s`` the
seeds. What dead ends hold returns to the seeds, so that π is in proportion to the solution of
``x = (1 - d)·s + d·Pᵀx``, which is solved here and brought to a sum of 1.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from graphrag_dagster.core.paths.store import Followed, PathStore
from graphrag_dagster.core.paths.subgraphs.adjacency import Adjacency, Mass, adjacency_of, sums
from graphrag_dagster.errors import GraphragError

#: Bound of the L1 distance from the solution.
ERROR = 1e-8
MOST_ROUNDS = 200
#: Numbers in a block of vectors that are solved together: few enough to stay in a cache.
BLOCK = 2**19
#: Bytes of vectors that are remembered.
REMEMBERED = 2**28

Seeds = tuple[int, ...]


class PageRanks:
    """Vectors of personalised PageRank on one graph; the last ones are remembered by their seeds.

    Args:
        adjacency: where a walk can go.
        damping: probability of following an edge.

    Raises:
        GraphragError: the damping is not between 0 and 1.
    """

    def __init__(self, adjacency: Adjacency, damping: float = 0.8) -> None:
        if not 0 < damping < 1:
            raise GraphragError(f"damping {damping} is no probability of following an edge: 0 < damping < 1")
        self._adjacency, self._damping = adjacency, damping
        self._known: OrderedDict[Seeds, Mass] = OrderedDict()
        self._kept = max(REMEMBERED // (8 * max(adjacency.nodes, 1)), 1)
        self._lock = Lock()

    def ranks(self, seeds: Seeds) -> Mass:
        """Return the probability of each node [n], by which a seed is as probable as another.

        It is 0 for nodes that cannot be reached, and for them alone. Without a seed all are 0.
        """
        asked = tuple(sorted(set(seeds)))
        with self._lock:
            if (known := self._known.get(asked)) is not None:
                self._known.move_to_end(asked)
                return known
        return self._solved([asked])[0]

    def prepare(self, seed_sets: Iterable[Seeds]) -> None:
        """Solve many sets of seeds in blocks, which is faster than one by one; the results are the same."""
        asked = dict.fromkeys(tuple(sorted(set(seeds))) for seeds in seed_sets)
        with self._lock:
            missing = [seeds for seeds in asked if seeds not in self._known][: self._kept]
        width = max(BLOCK // max(self._adjacency.nodes, 1), 1)
        for start in range(0, len(missing), width):
            self._solved(missing[start : start + width])

    def _solved(self, seed_sets: Sequence[Seeds]) -> list[Mass]:
        resets = np.zeros((self._adjacency.nodes, len(seed_sets)))
        for column, seeds in enumerate(seed_sets):
            if seeds:
                resets[list(seeds), column] = 1 / len(seeds)
        found = page_ranks(self._adjacency, resets, self._damping)
        vectors = [found[:, column].copy() for column in range(len(seed_sets))]
        with self._lock:
            for seeds, ranks in zip(seed_sets, vectors, strict=True):
                ranks.flags.writeable = False
                self._known[seeds] = ranks
                self._known.move_to_end(seeds)
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return vectors


def page_ranks_of(store: PathStore, followed: Followed, damping: float) -> PageRanks:
    """Return the vectors of a graph, the same for all who ask for them; errors as of :class:`PageRanks`."""
    made = _MADE.setdefault(store, {})
    if (followed, damping) not in made:
        made[followed, damping] = PageRanks(adjacency_of(store, followed), damping)
    return made[followed, damping]


def page_ranks(adjacency: Adjacency, resets: Mass, damping: float) -> Mass:
    """Return the personalised PageRank of each column [n, k], bit by bit as if it were alone.

    Where edges are followed in both directions, the walk is reversible, and its solution is found by
    conjugate gradients (Hestenes and Stiefel 1952): in a round an error halves at least. By power iteration,
    which is used otherwise, it falls by ``damping`` at least. A column is ready as soon as another step of
    the walk changes it by no more than ``(1 - damping)·``:data:`ERROR` in L1, so that it is within
    :data:`ERROR` of the solution; at the latest after :data:`MOST_ROUNDS`.

    Args:
        adjacency: where a walk can go.
        resets: where it begins anew [n, k]; columns sum to 1, or are 0.
        damping: probability of following an edge.
    """
    found = np.zeros_like(resets)
    columns = np.flatnonzero(resets.any(axis=0))
    rounds = _conjugate_gradients if adjacency.followed == "both" else _power_iteration
    state = [(1 - damping) * resets[:, columns]]
    wanted = (1 - damping) * ERROR
    for turn in range(1, MOST_ROUNDS + 1):
        if not len(columns):
            break
        ranks, change, state = rounds(adjacency, damping, state)
        # Dead ends: the sum of a change is a change of what they give back.
        missed = 2 * sums(np.abs(change))
        ready = missed <= wanted
        if ready.any() or turn == MOST_ROUNDS:
            ready = (missed <= wanted * np.minimum(sums(ranks), 1)) | (turn == MOST_ROUNDS)
            found[:, columns[ready]] = _probabilities(ranks[:, ready])
            columns, state = columns[~ready], [one[..., ~ready] for one in state]
    return found


#: Ranks after a step of the walk [n, k], by how much it changed them [n, k], and what the next round needs.
_Round = tuple[Mass, Mass, list[Mass]]


def _power_iteration(adjacency: Adjacency, damping: float, state: list[Mass]) -> _Round:
    """Make a round from the source, then from what a round returned: source and ranks."""
    source, ranks = state[0], state[-1]
    image = adjacency.spread(ranks)
    image *= damping
    image += source
    return image, image - ranks, [source, image]


def _conjugate_gradients(adjacency: Adjacency, damping: float, state: list[Mass]) -> _Round:
    """Make a round from the source, then from what a round returned: ranks, residue, direction, its length.

    The system is symmetric by the inner product that divides by degrees.
    """
    if len(state) == 1:
        residue = damping * adjacency.spread(state[0])
        return state[0] + residue, residue, [state[0], residue, residue, adjacency.product(residue, residue)]
    ranks, residue, direction, length = state
    moved = direction - damping * adjacency.spread(direction)
    step = length / _positive(adjacency.product(direction, moved))
    ranks, residue = ranks + step * direction, residue - step * moved
    left = adjacency.product(residue, residue)
    return ranks + residue, residue, [ranks, residue, residue + left / _positive(length) * direction, left]


def _positive(products: Mass) -> Mass:
    """Return products of which those that are 0 divide zeros only."""
    return np.where(products > 0, products, 1.0)


def _probabilities(solved: Mass) -> Mass:
    """Return columns that sum to 1; what was reached and cannot be told from 0 stays above it."""
    above = np.where(solved != 0, np.maximum(solved, np.finfo(np.float64).tiny), 0.0)
    found: Mass = above / sums(above)
    return np.where(above > 0, np.maximum(found, np.finfo(np.float64).tiny), 0.0)


_MADE: WeakKeyDictionary[PathStore, dict[tuple[Followed, float], PageRanks]] = WeakKeyDictionary()

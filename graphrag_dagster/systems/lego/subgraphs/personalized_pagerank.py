"""Personalized PageRank to a requested accuracy (SBE-PPR of the paper).

``π = (1 - d)·s + d·(Pᵀπ + dangling·s)``, where ``d`` is the probability of following an edge and ``s`` the
seeds. What dead ends hold returns to the seeds, so that π is in proportion to the solution of
``x = (1 - d)·s + d·Pᵀx``, which is solved here and brought to a sum of 1.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from math import ceil, log
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.adjacency_arrays import Followed, PathStore
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import (
    Mass,
    WalkProducts,
    WalkTransitions,
    adjacency_of,
)

#: Bound of the L1 distance from the solution.
ERROR = 1e-8
MOST_ROUNDS = 200
#: Bytes of vectors that are cached.
CACHE_BYTES = 2**28

Seeds = tuple[int, ...]


class PageRanks:
    """Vectors of personalised PageRank on one graph; the last ones are cached by their seeds.

    Args:
        adjacency: where a walk can go.
        damping: probability of following an edge.

    Raises:
        GraphragError: the damping is not between 0 and 1.
    """

    def __init__(self, adjacency: WalkTransitions, damping: float = 0.8) -> None:
        if not 0 < damping < 1:
            raise GraphragError(f"damping {damping} is no probability of following an edge: 0 < damping < 1")
        self._adjacency, self._damping = adjacency, damping
        self._known: OrderedDict[Seeds, Mass] = OrderedDict()
        self._kept = max(CACHE_BYTES // (8 * max(adjacency.nodes, 1)), 1)
        self._lock = Lock()

    @property
    def known(self) -> int:
        """How many vectors are cached."""
        return len(self._known)

    def ranks(self, seeds: Seeds) -> Mass:
        """Return the probability of each node [n], by which a seed is as probable as another.

        It is 0 for nodes that cannot be reached, and for them alone. Without a seed all are 0.
        """
        asked = tuple(sorted(set(seeds)))
        with self._lock:
            if (known := self._known.get(asked)) is not None:
                self._known.move_to_end(asked)
                return known
        reset = np.zeros(self._adjacency.nodes)
        if asked:
            reset[list(asked)] = 1 / len(asked)
        found = page_ranks(self._adjacency, reset, self._damping)
        found.flags.writeable = False
        with self._lock:
            self._known[asked] = found
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return found

    def prepare(self, seed_sets: Iterable[Seeds]) -> None:
        """Solve several sets of seeds beforehand, one after the other: blocks of them take longer."""
        for seeds in islice(dict.fromkeys(seed_sets), self._kept):
            self.ranks(seeds)


def page_ranks_of(store: PathStore, followed: Followed, damping: float) -> PageRanks:
    """Return the vectors of a graph, the same for all who ask for them; errors as of :class:`PageRanks`."""
    made = _MADE.setdefault(store, {})
    if (followed, damping) not in made:
        made[followed, damping] = PageRanks(adjacency_of(store, followed), damping)
    return made[followed, damping]


def page_ranks(adjacency: WalkTransitions, reset: Mass, damping: float) -> Mass:
    """Return the personalised PageRank of a graph [n].

    Where edges are followed in both directions, the walk is reversible, and its solution is found by
    conjugate gradients (Hestenes and Stiefel 1952): in a round an error halves at least. By power iteration,
    which is used otherwise, it falls by ``damping`` at least. It is ready as soon as another step of the walk
    changes it by no more than ``(1 - damping)·``:data:`ERROR` in L1, so that it is within :data:`ERROR` of
    the solution; at the latest after :data:`MOST_ROUNDS`, or as many as power iteration needs for that.

    Args:
        adjacency: where a walk can go.
        reset: where it begins anew [n]; sums to 1, or is 0.
        damping: probability of following an edge.
    """
    products = adjacency.products
    source = (1 - damping) * products.ordered(reset)
    rounds = _conjugate_gradients if adjacency.followed == "both" else _power_iteration
    most = max(MOST_ROUNDS, ceil(log((1 - damping) * ERROR / 2) / log(damping)))
    for turn, (ranks, missed) in enumerate(rounds(products, source, damping), start=1):
        # Dead ends: the sum of a change is a change of what they give back.
        near = 2 * missed <= (1 - damping) * ERROR * min(ranks.sum(), 1.0)
        if near or turn == most:
            break
    return products.unordered(_probabilities(ranks))


def _power_iteration(products: WalkProducts, source: Mass, damping: float) -> Iterator[tuple[Mass, float]]:
    """Yield ranks [n], and by how much the last step of the walk changed them in L1."""
    ranks = source
    while True:
        image = products.step(ranks * products.part)
        image *= damping
        image += source
        yield image, float(np.abs(image - ranks).sum())
        ranks = image


def _conjugate_gradients(
    products: WalkProducts, source: Mass, damping: float
) -> Iterator[tuple[Mass, float]]:
    """Yield ranks [n], and by how much a step of the walk changes them in L1.

    The system is symmetric by the inner product that divides by degrees.
    """
    ranks, residue = source.copy(), damping * products.step(source * products.part)
    direction, shares = residue.copy(), residue * products.part
    length = float(np.einsum("i,i->", residue, shares))
    part = np.empty_like(source)
    while True:
        yield ranks, float(np.abs(residue, out=part).sum())
        np.multiply(direction, products.part, out=shares)
        moved = products.step(shares)
        moved *= -damping
        moved += direction
        step = length / float(np.einsum("i,i->", shares, moved))
        ranks += np.multiply(direction, step, out=part)
        residue -= np.multiply(moved, step, out=moved)
        before = length
        length = float(np.einsum("i,i->", residue, np.multiply(residue, products.part, out=part)))
        direction *= length / before
        direction += residue


def _probabilities(solved: Mass) -> Mass:
    """Return ranks that sum to 1; what was reached and cannot be told from 0 stays above it."""
    least = np.finfo(np.float64).tiny
    reached = solved != 0
    above = np.maximum(solved, 0.0)
    found = above / max(float(above.sum()), least)
    return np.where(reached, np.maximum(found, least), 0.0)


_MADE: WeakKeyDictionary[PathStore, dict[tuple[Followed, float], PageRanks]] = WeakKeyDictionary()

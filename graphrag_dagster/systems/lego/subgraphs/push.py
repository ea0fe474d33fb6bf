"""Personalised PageRank from below, by forward push (spec_lego §8)."""

import numpy as np

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.arrays import Longs
from graphrag_dagster.systems.lego.subgraphs.adjacency import Adjacency, Mass

Seeds = tuple[int, ...]


def pushed(adjacency: Adjacency, seeds: Seeds, damping: float, rmax: float) -> tuple[Mass, Mass]:
    """Return reserves and residues of the nodes [n each] after forward push.

    A node whose residue is above ``rmax`` for each of its edges keeps ``1 - damping`` of it and pushes the
    rest along these; at a dead end the rest returns to the seeds. All such nodes push at once. Reserves and
    residues sum to 1, and no reserve is above the node's PageRank: it is the reserve and, of each residue,
    the part that arrives here.

    A lower ``rmax`` alone raises no reserve for sure: a node may push earlier and keep what comes later. So
    residues are pushed down by halves: first to ``rmax·2^j`` for the largest ``j`` that makes a difference,
    at last to ``rmax``. Who halves ``rmax`` then goes on from where the other ended, and no reserve falls.

    Args:
        adjacency: where a walk can go.
        seeds: where it begins, one as probable as another; at least one.
        damping: probability of following an edge.
        rmax: residue for each edge that is left, above 0.

    Raises:
        GraphragError: ``rmax`` is not above 0.
    """
    if not rmax > 0:
        raise GraphragError(f"rmax {rmax}: residues fall below what is above 0 only")
    reserves, residues = np.zeros((2, adjacency.nodes))
    start = np.asarray(seeds, dtype=np.int64)
    residues[start] = 1 / len(start)
    each = np.maximum(adjacency.degrees, 1)
    halvings = max(int(np.ceil(-np.log2(rmax))), 0)
    for limit in [rmax * 2.0**power for power in range(halvings, -1, -1)]:
        pushing = _above(residues, limit, each, np.flatnonzero(residues))
        while len(pushing):
            mass = residues[pushing]
            residues[pushing] = 0
            reserves[pushing] += (1 - damping) * mass
            reached = spread_from(adjacency, start, pushing, damping * mass, residues)
            pushing = _above(residues, limit, each, reached)
    return reserves, residues


def push_ranks(adjacency: Adjacency, seeds: Seeds, damping: float, rmax: float) -> Mass:
    """Return the reserves of :func:`pushed`, which are at most PageRank [n]; all 0 without a seed."""
    if not seeds:
        return np.zeros(adjacency.nodes)
    return pushed(adjacency, seeds, damping, rmax)[0]


def spread_from(adjacency: Adjacency, seeds: Longs, nodes: Longs, mass: Mass, onto: Mass) -> Longs:
    """Add the mass of nodes [k], spread along their edges, onto an array [n]; that of dead ends to the seeds.

    Returns:
        The nodes that got some, in order.
    """
    degrees = adjacency.degrees[nodes]
    dead = degrees == 0
    if dead.any():
        onto[seeds] += mass[dead].sum() / len(seeds)
    if degrees.sum() * _DENSE > adjacency.edges:
        whole = np.zeros(adjacency.nodes)
        whole[nodes] = mass
        onto += adjacency.spread(whole)
        return np.flatnonzero(onto)
    places, ends = adjacency.neighbours(nodes)
    np.add.at(onto, ends, (mass / np.maximum(degrees, 1))[places])
    return np.unique(np.concatenate([ends, seeds]) if dead.any() else ends).astype(np.int64)


#: From one of so many edges on, a product of all takes less time than following some.
_DENSE = 8


def _above(residues: Mass, limit: float, each: Longs, among: Longs) -> Longs:
    return among[residues[among] > limit * each[among]]

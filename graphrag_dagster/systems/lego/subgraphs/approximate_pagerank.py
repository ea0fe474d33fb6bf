"""Approximate personalized PageRank: forward push, FORA and RBS (paper B.7).

RBS looks for the PageRank of one *target*, seen from every node: it goes from the target against the edges,
level by level; to a neighbour ``u`` of ``v`` goes ``d·r(v)/deg(u)`` of the residue, and where that is below
``α·θ/λ(u)``, this much goes by chance instead, so that the mean is the same. Here the PageRank of every node
is wanted, seen from the *seeds*, and no target is known.

- Edges in both directions: the walk is reversible, ``π_s(t)·deg(s) = π_t(s)·deg(t)``. So RBS with the seed as
  its target tells all that is wanted. With ``λ(u) = deg(u)/deg(s)`` and residues times ``deg(u)/deg(s)``,
  what goes to ``u`` is ``d·r(v)/deg(v)``, by chance where that is below ``α·θ``: that is what is done here.
- Edges in their direction: there is no such relation, and RBS proper has no answer. What is done here is its
  rule on the transposed walk: the mean is still exact; RBS's bound on the work does not carry over.

Every increment by chance is ``α·θ`` large and goes to one of the node's edges, independently but for those
of the same node, which shun each other. So with ``G(v, t)`` as the mass that a unit at ``v`` brings to ``t``,
the variance of the estimate of ``π(t)`` is at most ``θ·Σ_v π(v)·G(v, t)²``, which is at most ``θ``.
"""

from collections.abc import Iterator
from math import ceil, log, sqrt

import numpy as np

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.adjacency_arrays import Longs
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import Mass, WalkTransitions

Seeds = tuple[int, ...]


def push(adjacency: WalkTransitions, seeds: Seeds, damping: float, rmax: float) -> tuple[Mass, Mass]:
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
        pushing = _places_above(residues, limit, each, np.flatnonzero(residues))
        while len(pushing):
            mass = residues[pushing]
            residues[pushing] = 0
            reserves[pushing] += (1 - damping) * mass
            reached = spread_places(adjacency, start, pushing, damping * mass, residues)
            pushing = _places_above(residues, limit, each, reached)
    return reserves, residues


def push_ranks(adjacency: WalkTransitions, seeds: Seeds, damping: float, rmax: float) -> Mass:
    """Return the reserves of :func:`push`, which are at most PageRank [n]; all 0 without a seed."""
    if not seeds:
        return np.zeros(adjacency.nodes)
    return push(adjacency, seeds, damping, rmax)[0]


def spread_places(adjacency: WalkTransitions, seeds: Longs, nodes: Longs, mass: Mass, onto: Mass) -> Longs:
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


def _places_above(residues: Mass, limit: float, each: Longs, among: Longs) -> Longs:
    return among[residues[among] > limit * each[among]]


#: Walks that are made at once.
AT_ONCE = 2**20


def fora_ranks(adjacency: WalkTransitions, seeds: Seeds, damping: float, epsilon: float, seed: int) -> Mass:
    """Return estimates of personalised PageRank [n], whose mean over seeds of chance is exact.

    With ``δ = p = 1/n`` (Wang et al., KDD 2017, and the code of its authors): residues are pushed down to
    ``rmax = ε·sqrt(δ / (3·m·ln(2/p)))``; then ``⌈r(u)·ω⌉`` walks begin at each node ``u``,
    ``ω = (2 + ε)·ln(2/p) / (δ·ε²)``. A PageRank above ``δ`` is missed by more than ``ε`` of itself with a
    probability of at most ``p``. The walks of a question depend on its seeds and the seed of chance alone.

    Args:
        adjacency: where a walk can go.
        seeds: where it begins, one as probable as another; without any all is 0.
        damping: probability of following an edge.
        epsilon: relative error, above 0.
        seed: of chance.

    Raises:
        GraphragError: ``epsilon`` is not above 0.
    """
    if not epsilon > 0:
        raise GraphragError(f"epsilon {epsilon}: an error that is met is above 0")
    if not seeds:
        return np.zeros(adjacency.nodes)
    edges = max(adjacency.edges, 1)
    share, unsure = 1 / adjacency.nodes, log(2 * adjacency.nodes)
    reserves, residues = push(adjacency, seeds, damping, epsilon * sqrt(share / (3 * edges * unsure)))
    nodes = np.flatnonzero(residues)
    counts = np.ceil(residues[nodes] * ((2 + epsilon) * unsure / (share * epsilon**2))).astype(np.int64)
    worth = residues[nodes] / counts
    start = np.array(sorted(seeds), dtype=np.int64)
    drawn = np.random.default_rng([seed, *start.tolist()])
    for places in _in_batches(counts):
        ends = walk_ends(adjacency, nodes[places], start, damping, drawn)
        reserves += np.bincount(ends, weights=worth[places], minlength=adjacency.nodes)
    return reserves


def walk_ends(
    adjacency: WalkTransitions, starts: Longs, seeds: Longs, damping: float, drawn: np.random.Generator
) -> Longs:
    """Return where walks end that go on with a probability of ``damping``, from dead ends to a seed [k]."""
    found, going = starts.copy(), np.arange(len(starts))
    while len(going := going[drawn.random(len(going)) < damping]):
        found[going] = step_walks(adjacency, found[going], drawn, seeds)
    return found


def step_walks(
    adjacency: WalkTransitions, nodes: Longs, drawn: np.random.Generator, seeds: Longs | None = None
) -> Longs:
    """Return one neighbour of each node by chance; of a dead end a seed, or itself without seeds [k]."""
    degrees, chance = adjacency.degrees[nodes], drawn.random(len(nodes))
    found = nodes.copy()
    open_ = degrees > 0
    turns = np.minimum((chance[open_] * degrees[open_]).astype(np.int64), degrees[open_] - 1)
    found[open_] = adjacency.neighbour(nodes[open_], turns)
    if seeds is not None:
        found[~open_] = seeds[np.minimum((chance[~open_] * len(seeds)).astype(np.int64), len(seeds) - 1)]
    return found


def _in_batches(counts: Longs) -> Iterator[Longs]:
    """Yield places, each as often as it counts, in order and :data:`AT_ONCE` at a time."""
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]) if len(ends) else 0, AT_ONCE):
        turns = np.arange(start, min(start + AT_ONCE, int(ends[-1])))
        yield np.searchsorted(ends, turns, side="right").astype(np.int64)


def rbs_ranks(adjacency: WalkTransitions, seeds: Seeds, damping: float, theta: float, seed: int) -> Mass:
    """Return estimates of personalised PageRank [n].

    Their mean over seeds of chance misses at most ``theta`` in sum: what is beyond the last level, of which
    there are ``⌈ln θ / ln d⌉``.

    Args:
        adjacency: where a walk can go.
        seeds: where it begins, one as probable as another; without any all is 0.
        damping: probability of following an edge, ``d``; ``α`` is 1 less it.
        theta: how small a PageRank still matters, between 0 and 1.
        seed: of chance; with the seeds it decides what is drawn.

    Raises:
        GraphragError: ``theta`` is not between 0 and 1.
    """
    if not 0 < theta < 1:
        raise GraphragError(f"rmax {theta}: what is the threshold of `rbs`, too, is between 0 and 1")
    found = np.zeros(adjacency.nodes)
    if not seeds:
        return found
    start = np.array(sorted(seeds), dtype=np.int64)
    drawn = np.random.default_rng([seed, *start.tolist()])
    unit = (1 - damping) * theta
    residues = np.zeros(adjacency.nodes)
    residues[start] = 1 / len(start)
    for _ in range(ceil(log(theta) / log(damping))):
        found += (1 - damping) * residues
        nodes = np.flatnonzero(residues)
        mass, degrees = damping * residues[nodes], adjacency.degrees[nodes]
        small = mass < unit * degrees
        residues = np.zeros(adjacency.nodes)
        spread_places(adjacency, start, nodes[~small], mass[~small], residues)
        times = drawn.binomial(degrees[small], mass[small] / (unit * degrees[small]))
        senders = np.repeat(nodes[small], times)
        ends = adjacency.neighbour(senders, drawn.integers(adjacency.degrees[senders]))
        residues += unit * np.bincount(ends, minlength=adjacency.nodes)
    return found + (1 - damping) * residues

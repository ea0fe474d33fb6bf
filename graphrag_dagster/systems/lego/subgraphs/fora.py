"""Personalised PageRank by forward push and random walks from what it leaves (FORA, spec_lego §8)."""

from collections.abc import Iterator
from math import log, sqrt

import numpy as np

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.arrays import Longs
from graphrag_dagster.systems.lego.subgraphs.adjacency import Adjacency, Mass
from graphrag_dagster.systems.lego.subgraphs.push import Seeds, pushed

#: Walks that are made at once.
AT_ONCE = 2**20


def fora_ranks(adjacency: Adjacency, seeds: Seeds, damping: float, epsilon: float, seed: int) -> Mass:
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
    reserves, residues = pushed(adjacency, seeds, damping, epsilon * sqrt(share / (3 * edges * unsure)))
    nodes = np.flatnonzero(residues)
    counts = np.ceil(residues[nodes] * ((2 + epsilon) * unsure / (share * epsilon**2))).astype(np.int64)
    worth = residues[nodes] / counts
    start = np.array(sorted(seeds), dtype=np.int64)
    drawn = np.random.default_rng([seed, *start.tolist()])
    for places in _by_turns(counts):
        ends = walk_ends(adjacency, nodes[places], start, damping, drawn)
        reserves += np.bincount(ends, weights=worth[places], minlength=adjacency.nodes)
    return reserves


def walk_ends(
    adjacency: Adjacency, starts: Longs, seeds: Longs, damping: float, drawn: np.random.Generator
) -> Longs:
    """Return where walks end that go on with a probability of ``damping``, from dead ends to a seed [k]."""
    found, going = starts.copy(), np.arange(len(starts))
    while len(going := going[drawn.random(len(going)) < damping]):
        found[going] = stepped(adjacency, found[going], drawn, seeds)
    return found


def stepped(
    adjacency: Adjacency, nodes: Longs, drawn: np.random.Generator, seeds: Longs | None = None
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


def _by_turns(counts: Longs) -> Iterator[Longs]:
    """Yield places, each as often as it counts, in order and :data:`AT_ONCE` at a time."""
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]) if len(ends) else 0, AT_ONCE):
        turns = np.arange(start, min(start + AT_ONCE, int(ends[-1])))
        yield np.searchsorted(ends, turns, side="right").astype(np.int64)

"""Personalised PageRank by randomised search, after RBS (Wang et al., KDD 2020; spec_lego §8).

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

from math import ceil, log

import numpy as np

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.systems.lego.subgraphs.adjacency import Adjacency, Mass
from graphrag_dagster.systems.lego.subgraphs.push import Seeds, spread_from


def rbs_ranks(adjacency: Adjacency, seeds: Seeds, damping: float, theta: float, seed: int) -> Mass:
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
        spread_from(adjacency, start, nodes[~small], mass[~small], residues)
        times = drawn.binomial(degrees[small], mass[small] / (unit * degrees[small]))
        senders = np.repeat(nodes[small], times)
        ends = adjacency.neighbour(senders, drawn.integers(adjacency.degrees[senders]))
        residues += unit * np.bincount(ends, minlength=adjacency.nodes)
    return found + (1 - damping) * residues

"""Who belongs where: own communities, and those that nodes are attached to, as chosen or at random."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphrag_dagster.systems.context_leiden.index.adjacency import Places
from graphrag_dagster.systems.context_leiden.index.units import Doubles

NONE = -1


@dataclass(frozen=True, slots=True)
class Memberships:
    """The nodes of a level that have a vector.

    Attributes:
        home: of each its community, 0….
        attached: of each the community that it is a context node of, -1 for none.
        resembled: of each the community that it is misaligned with, -1 for none.
    """

    home: Places
    attached: Places
    resembled: Places

    @property
    def context(self) -> Places:
        """The context nodes."""
        return np.flatnonzero(self.attached != NONE)


def shares(home: Places, attached: Places, nodes: Places, near: Places, *, own_set: bool) -> Doubles:
    """Return of each node which share of its neighbours belongs with it.

    Args:
        home: community of every node.
        attached: community that it is a context node of, -1 for none.
        nodes: those to look at.
        near: their neighbours, shape [nodes, k].
        own_set: whether a neighbour belongs where it is in the node's own community or attached to that;
            otherwise where the two have any community in common, of those that they are in or attached to.
    """
    own, other = home[nodes][:, None], attached[nodes][:, None]
    found = (home[near] == own) | (attached[near] == own)
    if not own_set:
        found |= (other != NONE) & ((home[near] == other) | (attached[near] == other))
    means: Doubles = found.mean(axis=1)
    return means


def random_nodes(members: Memberships, draws: int, seed: int) -> Iterator[Places]:
    """Attach as many nodes to each community as there are, drawn from all that are not of it.

    A node that was drawn for its own community changes places with one for which, and in the place of which,
    that is allowed. There always is one: else all nodes of other communities were already attached to this
    one, of which there are too few.
    """
    wanted = members.attached[members.context]
    for draw in range(draws):
        rng = np.random.default_rng([seed, draw])
        order = rng.permutation(len(members.home))
        slots = np.full(len(order), NONE)
        slots[: len(wanted)] = wanted
        for place in np.flatnonzero(members.home[order] == slots).tolist():
            homes = members.home[order]
            if homes[place] == slots[place]:
                other = rng.choice(np.flatnonzero((homes != slots[place]) & (slots != homes[place])))
                order[place], order[other] = order[other], order[place]
        attached = np.full(len(order), NONE)
        attached[order] = slots
        yield attached


def random_misaligned(members: Memberships, draws: int, seed: int) -> Iterator[Places]:
    """Attach as many nodes to each community as there are, drawn from those misaligned with it."""
    nodes = np.flatnonzero(members.resembled != NONE)
    counts = np.bincount(members.attached[members.context], minlength=int(members.home.max(initial=-1)) + 1)
    for draw in range(draws):
        mixed = np.random.default_rng([seed, draw]).permutation(nodes)
        mixed = mixed[np.argsort(members.resembled[mixed], kind="stable")]
        target = members.resembled[mixed]
        rank = np.arange(len(mixed)) - np.searchsorted(target, target)
        taken = rank < counts[target]
        attached = np.full(len(members.home), NONE)
        attached[mixed[taken]] = target[taken]
        yield attached

"""Colours of communities: neighbours differ, children are shades of their parent."""

import numpy as np
from numpy.typing import NDArray

#: Red, green, blue between 0 and 1, shape [n, 3].
Colours = NDArray[np.float64]
Indices = NDArray[np.int64]

#: The "muted" scheme of Paul Tol, told apart by all kinds of sight, without its palest.
_PALETTE = ("#332288", "#cc6677", "#44aa99", "#ddaa33", "#882255", "#66aadd", "#117733", "#aa4499", "#999933")
_DARKEST, _LIGHTEST = -0.42, 0.55


def parent_colours(groups: Indices, source: Indices, target: Indices) -> Colours:
    """Return a colour per community, shape [communities, 3], alike only where few edges run between them.

    One community after the other gets the colour to whose holders it has the fewest edges, of equals the
    one with the fewest holders.

    Args:
        groups: community of each node, numbered 0…
        source: one end of each edge.
        target: the other end.
    """
    palette = _rgb(_PALETTE)
    count = int(groups.max()) + 1
    ends = np.sort(np.stack([groups[source], groups[target]]), axis=0)
    pairs, edges = np.unique(ends[:, ends[0] != ends[1]], axis=1, return_counts=True)
    shared = np.zeros((count, len(palette)))
    uses = np.zeros(len(palette))
    chosen = np.zeros(count, dtype=np.int64)
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for (one, other), number in zip(pairs.T.tolist(), edges.tolist(), strict=True):
        neighbours[one].append((other, number))
        neighbours[other].append((one, number))
    for group in range(count):
        best = int(np.lexsort((np.arange(len(palette)), uses, shared[group]))[0])
        chosen[group] = best
        uses[best] += 1
        for other, number in neighbours[group]:
            shared[other, best] += number
    return palette[chosen]


def shades(parents: Colours, roots: Indices, children: Indices) -> Colours:
    """Return the colour of each node by its child community: between dark and light of the parent's colour.

    An only child has the parent's colour.

    Args:
        parents: colour of each parent community.
        roots: parent community of each node.
        children: child community of each node, each inside one parent.
    """
    shaded = np.empty((int(children.max()) + 1, 3))
    _, first = np.unique(children, return_index=True)
    of_parent = roots[first]
    for parent in range(len(parents)):
        own = np.flatnonzero(of_parent == parent)
        mixes = np.linspace(_DARKEST, _LIGHTEST, len(own)) if len(own) > 1 else np.zeros(len(own))
        # Every other one first: communities next in size are rarely next in shade.
        order = np.concatenate([np.arange(0, len(own), 2), np.arange(1, len(own), 2)])
        shaded[own[order]] = _mixed(parents[parent], mixes)
    return shaded[children]


def _mixed(colour: Colours, mixes: NDArray[np.float64]) -> Colours:
    """Return the colour with black (below 0) or white (above 0), shape [mixes, 3]."""
    towards = (mixes > 0).astype(np.float64)[:, None]
    share = np.abs(mixes)[:, None]
    mixed: Colours = colour * (1 - share) + towards * share
    return mixed


def _rgb(codes: tuple[str, ...]) -> Colours:
    return np.array([[int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)] for code in codes])

"""Distances from nodes to communities, for the requested pairs only (paper §III.A, formula 1).

Many communities are searched from at a time: a bit stands for each, and the words of a node tell which of
them have a member within so many edges. A pair is met when a neighbour of its node has the bit.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.systems.context_leiden.index.graph_neighbours import NeighbourLists, Places

#: No member of the community is within as many edges as are looked at.
UNREACHABLE = -1
#: Words of neighbours that are looked at at once.
_AT_ONCE = 2**23
#: Words of all nodes together.
_WORDS = 2**23
_BITS = 64

_Words = NDArray[np.uint64]
_Flags = NDArray[np.bool_]


def distances(
    graph: NeighbourLists, labels: Places, nodes: Places, targets: Places, max_hops: int
) -> NDArray[np.int32]:
    """Return the fewest edges from each node to a member of its target, -1 beyond ``max_hops``.

    Args:
        graph: the edges.
        labels: of every node its community, -1 for none.
        nodes: where the pairs begin; none is a member of its target.
        targets: community of each pair.
        max_hops: most edges that are looked at, ≥ 1.
    """
    found = np.full(len(nodes), UNREACHABLE, dtype=np.int32)
    adjacent = _adjacent(graph, labels, nodes, targets)
    found[adjacent] = 1
    left = np.flatnonzero(~adjacent)
    left = left[_in_connected_component(graph, labels, nodes[left], targets[left])]
    for pairs, width in _batches(graph.nodes, targets, left):
        found[pairs] = _search_batch(graph, labels, nodes[pairs], targets[pairs], width, max_hops)
    return found


def _adjacent(graph: NeighbourLists, labels: Places, nodes: Places, targets: Places) -> _Flags:
    """Return which nodes have a neighbour in their target."""
    found = np.zeros(len(nodes), dtype=np.bool_)
    for some in graph.portions(nodes, _AT_ONCE):
        begins, around = graph.neighbours_of(nodes[some])
        counts = np.diff(begins, append=len(around))
        inside = labels[around] == np.repeat(targets[some], counts)
        held = np.flatnonzero(counts)
        found[some.start + held] = np.logical_or.reduceat(inside, begins[held]) if len(held) else False
    return found


def _in_connected_component(graph: NeighbourLists, labels: Places, nodes: Places, targets: Places) -> _Flags:
    """Return for which pairs the community has a member in the node's component."""
    from scipy.sparse.csgraph import connected_components

    if not len(nodes):
        return np.zeros(0, dtype=np.bool_)
    _, component = connected_components(graph.matrix(np.int8), directed=False)
    communities = int(labels.max()) + 1
    inside = labels >= 0
    spanned = np.unique(component[inside].astype(np.int64) * communities + labels[inside])
    found: _Flags = np.isin(component[nodes].astype(np.int64) * communities + targets, spanned)
    return found


def _batches(nodes: int, targets: Places, left: Places) -> Iterator[tuple[Places, int]]:
    """Split pairs by their targets, and return of each batch the pairs and the words of a node."""
    left = left[np.argsort(targets[left], kind="stable")]
    number = np.cumsum(np.diff(targets[left], prepend=-1) != 0) - 1
    width = max(_WORDS // nodes, 1) if nodes else 1
    ends = np.flatnonzero(np.diff(number // (width * _BITS), append=-1)) + 1
    begin = 0
    for end in ends.tolist():
        communities = int(number[end - 1] - number[begin]) + 1
        yield left[begin:end], -(-communities // _BITS)
        begin = end


def _search_batch(
    graph: NeighbourLists, labels: Places, nodes: Places, targets: Places, width: int, max_hops: int
) -> NDArray[np.int32]:
    found = np.full(len(nodes), UNREACHABLE, dtype=np.int32)
    distinct, number = np.unique(targets, return_inverse=True)
    word, bit = number // _BITS, _bit(number)
    reach = _adjacent_members(graph, labels, distinct, width)
    open_ = np.arange(len(nodes))
    for hops in range(2, max_hops + 1):
        if hops > 2:
            # Neighbours of what is still looked for first: often nothing is left to look for then.
            near = np.zeros(graph.nodes, dtype=np.bool_)
            near[graph.neighbours_of(nodes[open_])[1]] = True
            before, reach = reach, reach.copy()
            _expand(graph, before, reach, np.flatnonzero(near))
        met = _reached(graph, reach, nodes[open_], word[open_], bit[open_])
        found[open_[met]] = hops
        open_ = open_[~met]
        if not len(open_):
            break
        if hops > 2:
            _expand(graph, before, reach, np.flatnonzero(~near & (graph.degrees > 0)))
    return found


def _adjacent_members(graph: NeighbourLists, labels: Places, communities: Places, width: int) -> _Words:
    """Return the words of all nodes with the bits of those communities that have a member within an edge."""
    place = np.searchsorted(communities, labels).clip(max=len(communities) - 1)
    members = np.flatnonzero(communities[place] == labels)
    begins, around = graph.neighbours_of(members)
    number = np.repeat(place[members], np.diff(begins, append=len(around)))
    span = width * _BITS
    held = np.concatenate([members * span + place[members], around * np.int64(span) + number])
    held.sort()
    held = held[np.diff(held, prepend=-1) > 0]
    reach = np.zeros(graph.nodes * width, dtype=np.uint64)
    # Each bit is there once, so that adding sets it.
    np.add.at(reach, held // _BITS, _bit(held))
    return reach.reshape(graph.nodes, width)


def _bit(number: Places) -> _Words:
    return np.uint64(1) << (number % _BITS).astype(np.uint64)


def _expand(graph: NeighbourLists, before: _Words, after: _Words, nodes: Places) -> None:
    """Add to the words of nodes, each of which has a neighbour, what their neighbours had before."""
    for some in graph.portions(nodes, _AT_ONCE // before.shape[1]):
        begins, around = graph.neighbours_of(nodes[some])
        after[nodes[some]] |= np.bitwise_or.reduceat(np.take(before, around, axis=0), begins, axis=0)


def _reached(graph: NeighbourLists, reach: _Words, nodes: Places, word: Places, bit: _Words) -> _Flags:
    """Return which nodes, each of which has a neighbour, have one with their bit."""
    found = np.zeros(len(nodes), dtype=np.bool_)
    for some in graph.portions(nodes, _AT_ONCE):
        begins, around = graph.neighbours_of(nodes[some])
        counts = np.diff(begins, append=len(around))
        near = reach[around, np.repeat(word[some], counts)] & np.repeat(bit[some], counts)
        found[some] = np.bitwise_or.reduceat(near, begins) != 0
    return found

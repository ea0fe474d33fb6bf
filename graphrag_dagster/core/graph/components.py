"""Connected components of large graphs."""

import numpy as np
from numpy.typing import NDArray


def connected_components(
    source: NDArray[np.int64], target: NDArray[np.int64], nodes: int
) -> NDArray[np.int64]:
    """Return for each node 0…nodes-1 the smallest node of its connected component.

    Every round hooks each root to the smallest root it has an edge to and then flattens all trees, so the
    number of rounds grows with the logarithm of the nodes, not with the diameter.
    """
    root = np.arange(nodes, dtype=np.int64)
    low, high = np.minimum(source, target), np.maximum(source, target)
    while len(low):
        np.minimum.at(root, high, low)
        root = _flattened(root)
        low, high = np.minimum(root[low], root[high]), np.maximum(root[low], root[high])
        apart = low != high
        low, high = low[apart], high[apart]
    return root


def largest_component(source: NDArray[np.int64], target: NDArray[np.int64], nodes: int) -> NDArray[np.bool_]:
    """Return which nodes are in the largest component; of equals, the one with the smallest node."""
    root = connected_components(source, target, nodes)
    chosen: NDArray[np.bool_] = root == np.argmax(np.bincount(root, minlength=nodes))
    return chosen


def _flattened(root: NDArray[np.int64]) -> NDArray[np.int64]:
    while True:
        above = root[root]
        if np.array_equal(above, root):
            return root
        root = above

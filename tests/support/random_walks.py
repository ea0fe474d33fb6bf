"""Random graphs, and what walks on them come to by dense matrices."""

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.graph.adjacency_arrays import Followed, PathStore
from support.path_graphs import graph_of


def random_store(seed: int, most_nodes: int = 12) -> PathStore:
    """Return a small graph with dead ends, loops, parallel edges and nodes alone."""
    drawn = np.random.default_rng(seed)
    names = [f"n{place:02}" for place in range(int(drawn.integers(1, most_nodes + 1)))]
    count = int(drawn.integers(0, 3 * len(names)))
    rows = [
        (names[drawn.integers(len(names))], "pq"[drawn.integers(2)], names[drawn.integers(len(names))])
        for _ in range(count)
    ]
    return graph_of(rows, alone=names)


def pairs(store: PathStore, followed: Followed) -> list[tuple[int, int]]:
    """Return what can be followed, from where to where."""
    out = list(zip(store.heads.tolist(), store.tails.tolist(), strict=True))
    return out + [(tail, head) for head, tail in out] if followed == "both" else out


def walk(store: PathStore, followed: Followed) -> NDArray[np.float64]:
    """Return the probabilities of a step [n, n]; rows of dead ends are 0."""
    counted = np.zeros((store.nodes, store.nodes))
    for start, end in pairs(store, followed):
        counted[start, end] += 1
    return counted / np.maximum(counted.sum(axis=1, keepdims=True), 1)


def solved(
    store: PathStore, followed: Followed, seeds: tuple[int, ...], damping: float = 0.8
) -> NDArray[np.float64]:
    """Return the personalised PageRank by a dense solve [n]."""
    reset = np.zeros(store.nodes)
    reset[list(seeds)] = 1 / len(seeds)
    step = walk(store, followed)
    dangling = step.sum(axis=1) == 0
    step = step + np.outer(dangling, reset)
    return np.linalg.solve(np.eye(store.nodes) - damping * step.T, (1 - damping) * reset)

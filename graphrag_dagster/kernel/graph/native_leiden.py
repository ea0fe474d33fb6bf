"""Leiden by the native code: a graph at once, or, where it is too large for that, community by community.

The native hierarchical Leiden takes edges as tuples of strings, 500 to 700 bytes each. Its flat Leiden takes
arrays, and gives the same communities of level 0 if the nodes are numbered as the hierarchical one numbers
them. Each of these is then a graph of its own, and work for another process.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.worker_processes import map_in_processes, suitable_process_count
from graphrag_dagster.kernel.graph.undirected_graph import Network, groups

#: Result of a clustering. ``cluster`` numbers are unique over all levels; ``parent`` is null at level 0.
MEMBERSHIPS = {"node": pl.Int64, "cluster": pl.Int64, "level": pl.Int32, "parent": pl.Int64}

#: Most edges of a graph that is clustered at once.
MOST_AT_ONCE = 50_000_000
# The same for a community of a larger graph: each process has one in memory.
_MOST_IN_PROCESS = 1_000_000
# Communities are handed to processes by so many edges or more.
_EDGES_OF_TASK = 200_000


@dataclass(frozen=True, slots=True)
class LeidenOptions:
    """Options of Leiden.

    Attributes:
        max_cluster_size: a community of this size **or more** is split again if possible.
        seed: random seed; the same seed and graph give the same communities.
        resolution: resolution of the modularity.
        randomness: randomness of the refinement.
    """

    max_cluster_size: int = 10
    seed: int = 0xDEADBEEF
    resolution: float = 1.0
    randomness: float = 0.001


def run_native_leiden(
    part: Network, options: LeidenOptions, *, most_at_once: int = MOST_AT_ONCE, processes: int = 0
) -> pl.DataFrame:
    """Return the memberships (:data:`MEMBERSHIPS`) of native Leiden from scratch.

    Level 0 is the same whether a graph is clustered at once or not. Below it, all splits of a graph that is
    clustered at once draw from one sequence of random numbers; of a larger one, each community of level 0
    is split as if it were a graph of its own.

    Args:
        part: the clustered edges.
        options: how Leiden runs.
        most_at_once: most edges of a graph that is clustered at once.
        processes: number of processes that split communities of a larger one, which changes no result; 0
            chooses.

    Raises:
        EngineError: a process died.
    """
    if len(part.low) <= most_at_once:
        return _cluster_at_once(part, options)
    roots = _flat_communities(part, options)
    found, numbers = [roots], int(roots["cluster"].to_numpy().max()) + 1
    tasks = [(some, options) for some in _tasks(_large_communities(part, roots, options))]
    for split in _split_in_processes(tasks, processes or suitable_process_count(len(tasks), 2)):
        found.append(
            split.select(
                "node",
                pl.col("cluster") + numbers,
                pl.col("level") + 1,
                pl.coalesce(pl.col("parent") + numbers, "root").alias("parent"),
            )
        )
        numbers += split["cluster"].n_unique()
    return pl.concat(found)


def _cluster_at_once(part: Network, options: LeidenOptions) -> pl.DataFrame:
    import graspologic_native

    # The native code requires strings; short numbers are hashed faster than ids.
    labels = [str(index) for index in range(len(part.names))]
    ends = zip(part.low.tolist(), part.high.tolist(), part.weight.tolist(), strict=True)
    native = graspologic_native.hierarchical_leiden(
        [(labels[u], labels[v], w) for u, v, w in ends],
        resolution=options.resolution,
        randomness=options.randomness,
        max_cluster_size=options.max_cluster_size,
        seed=options.seed % 2**64,
    )
    return pl.DataFrame(
        {
            "node": [int(entry.node) for entry in native],
            "cluster": [entry.cluster for entry in native],
            "level": [entry.level for entry in native],
            "parent": [entry.parent_cluster for entry in native],
        },
        schema=MEMBERSHIPS,
    )


def _flat_communities(part: Network, options: LeidenOptions) -> pl.DataFrame:
    """Return the memberships of level 0."""
    nodes = _in_order_of_edges(part)
    # Without weight there is no modularity, and each node is on its own.
    cluster = _flat_leiden(part, nodes, options) if part.weight.any() else np.arange(len(nodes))
    return pl.DataFrame({"node": nodes, "cluster": cluster}).select(
        "node", "cluster", level=pl.lit(0, pl.Int32), parent=pl.lit(None, pl.Int64)
    )


def _flat_leiden(part: Network, nodes: NDArray[np.int64], options: LeidenOptions) -> NDArray[np.int64]:
    import graspologic_native
    from scipy.sparse import coo_array

    numbers = np.empty(len(part.names), dtype=np.int32)
    numbers[nodes] = np.arange(len(nodes))
    low, high = numbers[part.low], numbers[part.high]
    ends = np.concatenate([low, high]), np.concatenate([high, low])
    del low, high
    shape = len(nodes), len(nodes)
    matrix = coo_array((np.concatenate([part.weight, part.weight]), ends), shape=shape).tocsr()
    del ends
    matrix.sort_indices()
    _, found = graspologic_native.leiden_csr(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data,
        len(nodes),
        resolution=options.resolution,
        randomness=options.randomness,
        seed=options.seed % 2**64,
    )
    return np.fromiter((found[number] for number in range(len(nodes))), np.int64, len(nodes))


def _in_order_of_edges(part: Network) -> NDArray[np.int64]:
    """Return the nodes that have an edge, in the order in which the ends of the edges name them."""
    never = 2 * len(part.low)
    first = np.full(len(part.names), never, dtype=np.int64)
    places = np.arange(0, never, 2)
    np.minimum.at(first, part.low, places)
    np.minimum.at(first, part.high, places + 1)
    order = np.argsort(first)
    return order[: np.count_nonzero(first < never)]


_Community = tuple[int, Network]


def _large_communities(part: Network, roots: pl.DataFrame, options: LeidenOptions) -> Iterator[_Community]:
    """Yield the number and the graph of each community of level 0 that may be split."""
    cluster = np.full(len(part.names), -1, dtype=np.int64)
    cluster[roots["node"].to_numpy()] = roots["cluster"].to_numpy()
    sizes = np.bincount(roots["cluster"].to_numpy())
    # Where all is one community, it would be found again and again.
    if len(sizes) > 1:
        yield from groups(part, cluster, np.flatnonzero(sizes >= options.max_cluster_size).tolist())


def _tasks(communities: Iterable[_Community]) -> Iterator[list[_Community]]:
    task: list[_Community] = []
    edges = 0
    for community in communities:
        task.append(community)
        edges += len(community[1].low)
        if edges >= _EDGES_OF_TASK:
            yield task
            task, edges = [], 0
    if task:
        yield task


def _split_in_processes(
    tasks: Sequence[tuple[list[_Community], LeidenOptions]], processes: int
) -> Iterator[pl.DataFrame]:
    number = min(processes, len(tasks))
    if number < 2:
        return (_split(*task) for task in tasks)
    return map_in_processes(
        number,
        _split,
        tasks,
        whose="the clustering",
        setting="the number of processors of the run (`taskset`)",
    )


def _split(communities: Sequence[_Community], options: LeidenOptions) -> pl.DataFrame:
    """Return the memberships inside communities, and as ``root`` the number of each one's community."""
    found, numbers = [pl.DataFrame(schema={**MEMBERSHIPS, "root": pl.Int64})], 0
    for root, community in communities:
        inside = run_native_leiden(community, options, most_at_once=_MOST_IN_PROCESS, processes=1)
        if inside.filter(pl.col("level") == 0)["cluster"].n_unique() < 2:
            continue
        found.append(
            inside.with_columns(
                community.names.gather(inside["node"]).alias("node"),
                pl.col("cluster", "parent") + numbers,
                pl.lit(root, pl.Int64).alias("root"),
            )
        )
        numbers += inside["cluster"].n_unique()
    return pl.concat(found)

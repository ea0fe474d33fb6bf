"""The graph for clustering: distinct undirected edges between numbered nodes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import fsum
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError

_HEAVIEST_SUM = 1e100

Profile = Literal["default", "paper"]


@dataclass(frozen=True, slots=True)
class Network:
    """Undirected edges without loops or duplicates, ``low < high``, sorted; numbers are indices in
    ``names``.
    """

    names: pl.Series
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    weight: NDArray[np.float64]

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Number of distinct neighbours of every node."""
        return np.bincount(np.concatenate([self.low, self.high]), minlength=len(self.names))

    def only(self, kept: NDArray[np.bool_]) -> "Network":
        """Return the graph with all nodes and some of the edges."""
        return Network(self.names, self.low[kept], self.high[kept], self.weight[kept])


def network(edges: pl.DataFrame, names: pl.Series | None = None) -> Network:
    """Return a graph from ``source``, ``target`` and ``weight``, independent of row order and direction.

    Args:
        edges: the edges.
        names: all nodes, sorted; default: the ends of the edges.

    Raises:
        GraphragError: a weight is negative or not a number, or an end point is null; names the edge.
    """
    _check(edges)
    ends = pl.concat([edges["source"], edges["target"]])
    names = ends.unique().sort() if names is None else names
    indices = names.search_sorted(ends).to_numpy().astype(np.int64)
    source, target = indices[: len(edges)], indices[len(edges) :]
    low, high = np.minimum(source, target), np.maximum(source, target)
    weight = edges["weight"].cast(pl.Float64).to_numpy()
    # Sorted by weight too, because the last bits of a sum of floats depend on the order of its terms.
    order = np.lexsort((weight, high, low))
    order = order[low[order] != high[order]]
    low, high, weight = low[order], high[order], weight[order]
    first = np.flatnonzero(np.diff(low * len(names) + high, prepend=-1))
    summed = np.add.reduceat(weight, first) if len(first) else weight
    return Network(names, low[first], high[first], summed)


def network_of(relationships: pl.DataFrame, entities: pl.DataFrame | None = None) -> Network:
    """Return the graph of rows of ``graph.relationships``, with isolated ``entities`` too if they are given.

    Raises:
        GraphragError: see :func:`network`.
    """
    edges = relationships.select("weight", source="source_id", target="target_id")
    return network(edges, None if entities is None else entities["entity_id"].sort())


def clustered_part(graph: Network, profile: Profile) -> Network:
    """Return the edges to cluster: all, or those of the largest component in the paper's profile."""
    if profile == "default" or not len(graph.low):
        return graph
    return graph.only(largest_component(graph.low, graph.high, len(graph.names))[graph.low])


def groups(graph: Network, inside: NDArray[np.int64], wanted: Iterable[int]) -> Iterator[tuple[int, Network]]:
    """Yield each wanted group of nodes and the edges inside; its names are the numbers in ``graph``.

    Args:
        graph: the whole graph.
        inside: the group of each node, -1 for none.
        wanted: groups to yield.
    """
    local = np.zeros(len(inside), dtype=np.int64)
    by_node = np.argsort(inside, kind="stable")
    edge_group = np.where(inside[graph.low] == inside[graph.high], inside[graph.low], -1)
    by_edge = np.argsort(edge_group, kind="stable")
    node_groups, edge_groups = inside[by_node], edge_group[by_edge]
    del edge_group
    for group in wanted:
        places = by_node[slice(*np.searchsorted(node_groups, [group, group + 1]))]
        edges = by_edge[slice(*np.searchsorted(edge_groups, [group, group + 1]))]
        local[places] = np.arange(len(places))
        low, high = local[graph.low[edges]], local[graph.high[edges]]
        yield group, Network(pl.Series(places), low, high, graph.weight[edges])


def modularity(graph: Network, cluster: NDArray[np.int64], resolution: float) -> float:
    """Return the modularity of a partition; 0 for a graph without weight.

    Args:
        graph: the clustered edges.
        cluster: the cluster of each node, ≥ 0; nodes without an edge do not count.
        resolution: factor of the expected weight.
    """
    total = fsum(graph.weight)
    if not total:
        return 0.0
    clusters = int(cluster.max()) + 1
    source, target = cluster[graph.low], cluster[graph.high]
    inside = fsum(graph.weight[source == target])
    strength = np.bincount(source, graph.weight, clusters) + np.bincount(target, graph.weight, clusters)
    return inside / total - resolution * fsum((strength / (2 * total)) ** 2)


def _check(edges: pl.DataFrame) -> None:
    weight = pl.col("weight")
    # The sum of many weights, and its square, must be finite.
    usable = weight.is_between(0, _HEAVIEST_SUM) & pl.col("source").is_not_null()
    invalid = edges.filter((usable & pl.col("target").is_not_null()).fill_null(value=False).not_())
    if len(invalid):
        source, target, value = invalid.select("source", "target", "weight").row(0)
        raise GraphragError(
            f"{len(invalid)} edges cannot be clustered, e.g. {source!r}–{target!r} with weight {value}: "
            f"weights must be numbers from 0 to {_HEAVIEST_SUM:g}, both ends known. Negative sums come from "
            "a model's strengths; `graph.weight: count` does without them"
        )


def connected_components(
    source: NDArray[np.int64], target: NDArray[np.int64], nodes: int
) -> NDArray[np.int64]:
    """Return for each node 0…nodes-1 the smallest node of its connected component."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components as labelled

    edges = coo_array((np.ones(len(source)), (source, target)), shape=(nodes, nodes))
    _, component = labelled(edges, directed=False)
    _, smallest = np.unique(component, return_index=True)
    found: NDArray[np.int64] = smallest[component]
    return found


def largest_component(source: NDArray[np.int64], target: NDArray[np.int64], nodes: int) -> NDArray[np.bool_]:
    """Return which nodes are in the largest component; of equals, the one with the smallest node."""
    root = connected_components(source, target, nodes)
    chosen: NDArray[np.bool_] = root == np.argmax(np.bincount(root, minlength=nodes))
    return chosen

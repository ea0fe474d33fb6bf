"""Hierarchical Leiden communities of the merged graph (paper §3.1.4, spec_graphrag §5)."""

from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel.graph.hierarchy import MEMBERSHIPS, Hierarchy, as_hierarchy, empty_hierarchy
from graphrag_dagster.kernel.graph.network import Network, Profile, clustered_part, network

__all__ = ["Hierarchy", "LeidenOptions", "Profile", "clustered", "hierarchical_communities"]


@dataclass(frozen=True, slots=True)
class LeidenOptions:
    """How Leiden runs.

    Attributes:
        max_cluster_size: a community of this size **or more** is split again, where it can be.
        seed: with the same seed, the same graph gives the same communities.
        resolution: resolution of the modularity.
        randomness: randomness of the refinement.
    """

    max_cluster_size: int = 10
    seed: int = 0xDEADBEEF
    resolution: float = 1.0
    randomness: float = 0.001


def hierarchical_communities(
    edges: pl.DataFrame,
    *,
    profile: Profile = "default",
    max_cluster_size: int = 10,
    seed: int = 0xDEADBEEF,
    resolution: float = 1.0,
    randomness: float = 0.001,
) -> Hierarchy:
    """Cluster a graph level by level with modularity Leiden.

    Args:
        edges: ``source``, ``target`` (node ids), ``weight`` (≥ 0). Repeats and reversed repeats are summed,
            self-loops dropped; the order of rows and of end points does not matter.
        profile: ``default`` clusters every component, ``paper`` only the largest (of equals the one with
            the smallest id). Nodes without an edge are in no community.
        max_cluster_size: see :class:`LeidenOptions`, as the other arguments.
        seed: of the random numbers.
        resolution: of the modularity.
        randomness: of the refinement.

    Returns:
        Frames with the columns of the tables ``graph.communities`` and ``graph.community_members``. A
        community's id depends on its level and members alone; one that is not split does not reappear at a
        deeper level. Degrees count distinct neighbours in the whole graph. Small numbers go by level, then
        size descending, then id.

    Raises:
        GraphragError: a weight is negative or not a number, or an end point is null; names the edge.
    """
    graph = network(edges)
    part = clustered_part(graph, profile)
    if not len(part.low):
        return empty_hierarchy()
    options = LeidenOptions(max_cluster_size, seed, resolution, randomness)
    return as_hierarchy(graph, clustered(part, options))


def clustered(part: Network, options: LeidenOptions) -> pl.DataFrame:
    """Return the memberships (:data:`~.hierarchy.MEMBERSHIPS`) that the native Leiden finds from nothing."""
    import graspologic_native

    # The native code wants text: short numbers are hashed faster than ids and come back as they went.
    labels = [str(place) for place in range(len(part.names))]
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

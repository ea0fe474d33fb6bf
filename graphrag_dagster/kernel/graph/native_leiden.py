"""Hierarchical Leiden by the native code."""

from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel.graph.undirected_graph import Network

#: Result of a clustering. ``cluster`` numbers are unique over all levels; ``parent`` is null at level 0.
MEMBERSHIPS = {"node": pl.Int64, "cluster": pl.Int64, "level": pl.Int32, "parent": pl.Int64}


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


def run_native_leiden(part: Network, options: LeidenOptions) -> pl.DataFrame:
    """Return the memberships (:data:`MEMBERSHIPS`) of native Leiden from scratch."""
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

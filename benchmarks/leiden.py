"""Hierarchical Leiden on a synthetic graph: our time against the native call alone, memory, determinism.

Run: python benchmarks/leiden.py [edges]
"""

import hashlib
import resource
import sys
import time

import numpy as np
import polars as pl

from graphrag_dagster.kernel.graph.hierarchical_leiden import hierarchical_communities


def planted(edges: int, seed: int = 0) -> pl.DataFrame:
    """Communities of about 50 nodes, nine of ten edges inside them, and hubs with a heavy tail."""
    rng = np.random.default_rng(seed)
    nodes = max(edges // 5, 100)
    inner = int(edges * 0.9)
    source = rng.integers(0, nodes, inner)
    target = np.minimum(source // 50 * 50 + rng.integers(0, 50, inner), nodes - 1)
    hubs = np.minimum(rng.zipf(1.6, edges - inner), nodes) - 1
    source = np.concatenate([source, hubs])
    target = np.concatenate([target, rng.integers(0, nodes, edges - inner)])
    names = np.array([hashlib.sha256(str(n).encode()).hexdigest()[:32] for n in range(nodes)])
    return pl.DataFrame(
        {"source": names[source], "target": names[target], "weight": rng.integers(1, 6, edges).astype(float)}
    )


def native_seconds(graph: pl.DataFrame) -> float:
    """Seconds of the native call alone on distinct undirected edges."""
    import graspologic_native

    edges = (
        graph.filter(pl.col("source") != pl.col("target"))
        .group_by(pl.min_horizontal("source", "target"), pl.max_horizontal("source", "target").alias("other"))
        .agg(pl.sum("weight"))
        .sort("source", "other")
        .rows()
    )
    began = time.perf_counter()
    graspologic_native.hierarchical_leiden(edges, max_cluster_size=10, seed=0xDEADBEEF)
    return time.perf_counter() - began


def main() -> None:
    graph = planted(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    began = time.perf_counter()
    first = hierarchical_communities(graph)
    ours = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shuffled = graph.sample(fraction=1, shuffle=True, seed=1)
    again = hierarchical_communities(
        shuffled.select(source="target", target="source", weight="weight").vstack(shuffled.clear())
    )
    same = first.communities.equals(again.communities) and first.members.equals(again.members)
    print(f"edges {len(graph):,}; communities {len(first.communities):,}; members {len(first.members):,}")
    print(first.communities.group_by("level").agg(pl.len(), pl.max("size")).sort("level"))
    print(f"ours {ours:.1f} s; native call alone {native_seconds(graph):.1f} s; peak memory {peak:,.0f} MB")
    print(f"equal after shuffling rows and swapping ends: {same}")


if __name__ == "__main__":
    main()

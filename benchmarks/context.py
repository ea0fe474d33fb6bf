"""Context-Aware Leiden on synthetic graphs: time and memory of every step, beside what bounds it.

Communities of 50 nodes, four of five edges inside them, hubs with a heavy tail, ten edges a node; vectors of
128 dimensions around a centre for each community, three of ten nodes drawn to another one. *Bare products*
are the same blocks of the same matrices in single precision, measured before and after in the same run;
*igraph* is its betweenness from the same sources, where it is installed (``pip install igraph``; GPL, so
never a part of the package). *Of processors* are seconds of all threads; memory is the highest of a step,
with all that the process holds.

Run: python benchmarks/context.py [NODES ...]
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from graphrag_dagster.systems.context_leiden.index.betweenness import betweenness
from graphrag_dagster.systems.context_leiden.index.community_distances import distances
from graphrag_dagster.systems.context_leiden.index.context_node_selection import ContextCandidates, select
from graphrag_dagster.systems.context_leiden.index.cosine_similarity import UnitVectors, alignment, blocks
from graphrag_dagster.systems.context_leiden.index.graph_neighbours import NeighbourLists
from graphrag_dagster.systems.context_leiden.settings import ContextSettings

SIZES = (10_000, 100_000, 1_000_000)
MEMBERS, DEGREE, WIDTH, PIVOTS, TILE = 50, 10, 128, 512, 2048
T = TypeVar("T")


class Steps:
    """Prints a row for each step."""

    def __init__(self, nodes: int, edges: int) -> None:
        self._where = f"{nodes:,} | {edges:,}"
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, step: Callable[[], T]) -> T:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        load, begin, used = os.getloadavg()[0], time.perf_counter(), time.process_time()
        found = step()
        self.seconds[name] = time.perf_counter() - begin
        used = time.process_time() - used
        peak = int(Path("/proc/self/status").read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) / 1e6
        row = f"{self.seconds[name]:.2f} | {used:.2f} | {peak:.2f} | {load:.1f}"
        print(f"| {self._where} | {name} | {row} |", flush=True)
        return found


def planted(nodes: int) -> tuple[NeighbourLists, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    community = np.arange(nodes) // MEMBERS
    source = rng.integers(0, nodes, nodes * DEGREE)
    inside = np.minimum(source // MEMBERS * MEMBERS + rng.integers(0, MEMBERS, len(source)), nodes - 1)
    target = np.where(rng.random(len(source)) < 0.8, inside, rng.integers(0, nodes, len(source)))
    hubs = np.minimum(rng.zipf(1.6, len(source)), nodes) - 1
    target = np.where(rng.random(len(source)) < 0.05, hubs, target)
    pairs = np.concatenate([source * nodes + target, target * nodes + source])
    pairs.sort()
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    pairs = pairs[pairs // nodes != pairs % nodes]
    starts = np.concatenate([[0], np.cumsum(np.bincount(pairs // nodes, minlength=nodes))])
    centres = rng.standard_normal((community[-1] + 1, WIDTH), dtype=np.float32)
    vectors = rng.standard_normal((nodes, WIDTH), dtype=np.float32)
    vectors += 0.6 * centres[community]
    drawn = np.flatnonzero(rng.random(nodes) < 0.3)
    vectors[drawn] += centres[rng.integers(0, len(centres), len(drawn))]
    return NeighbourLists(starts.astype(np.int64), (pairs % nodes).astype(np.int32)), community, vectors


def bare_products(vectors: np.ndarray, communities: int) -> None:
    means = np.random.default_rng(1).standard_normal((WIDTH, communities), dtype=np.float32)
    buffer = np.empty((TILE, TILE), dtype=np.float32)
    for rows in blocks(len(vectors), TILE):
        for columns in blocks(communities, TILE):
            tile = buffer[: rows.stop - rows.start, : columns.stop - columns.start]
            np.matmul(vectors[rows], means[:, columns], out=tile)


def by_igraph(graph: NeighbourLists, sources: np.ndarray) -> list[float]:
    import igraph

    source = np.repeat(np.arange(graph.nodes), graph.degrees)
    kept = source < graph.neighbours
    edges = np.stack([source[kept], graph.neighbours[kept]], axis=1)
    return igraph.Graph(graph.nodes, edges).betweenness(directed=False, sources=sources.tolist())


def measure(nodes: int) -> None:
    graph, community, vectors = planted(nodes)
    communities = int(community[-1]) + 1
    steps = Steps(nodes, len(graph.neighbours) // 2)
    steps("input", lambda: None)
    steps("bare products, before", lambda: bare_products(vectors, communities))
    units = steps("lengths of vectors", lambda: UnitVectors(vectors))
    everyone = np.arange(nodes)
    aligned = steps("similarity", lambda: alignment(units, everyone, community, include_self=True))
    steps("bare products, after", lambda: bare_products(vectors, communities))
    moved = np.flatnonzero(aligned.target != community)
    target = aligned.target[moved]
    hops = steps("distances", lambda: distances(graph, community, moved, target, 6))
    between = steps("betweenness", lambda: betweenness(graph, PIVOTS))
    found = ContextCandidates(moved, target, aligned.similarity[moved], hops, between[moved] / between.max())
    chosen = steps("selection", lambda: select(found, ContextSettings()))
    if importlib.util.find_spec("igraph"):
        sources = np.sort(np.random.default_rng(0).choice(nodes, PIVOTS, replace=False))
        other = np.array(steps("betweenness by igraph", lambda: by_igraph(graph, sources)))
        ours = between / (nodes / PIVOTS)
        print(f"largest difference from igraph: {np.abs(other - ours).max() / ours.max():.1e} of the largest")
    took = steps.seconds
    ours = ("lengths of vectors", "similarity", "distances", "betweenness", "selection")
    bare = (took["bare products, before"] + took["bare products, after"]) / 2
    hops_found = dict(zip(*np.unique(hops, return_counts=True), strict=True))
    print(
        f"{nodes:,} nodes: {sum(took[name] for name in ours):.1f} s whole, similarity / bare products "
        f"{took['similarity'] / bare:.2f}; {communities:,} communities, {len(moved):,} misaligned, "
        f"{int((chosen.outcome == 0).sum()):,} taken; distances "
        f"{', '.join(f'{hop}: {count:,}' for hop, count in hops_found.items())}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--only", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        measure(asked.nodes[0])
        return
    print("| nodes | edges | step | seconds | of processors | GB | load |\n" + "| --- " * 7 + "|")
    for nodes in asked.nodes:
        # A process each, so that the memory is its own.
        subprocess.run([sys.executable, __file__, str(nodes), "--only"], check=True)


if __name__ == "__main__":
    main()

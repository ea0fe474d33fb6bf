"""The layout of the graph's figure beside networkx's ForceAtlas2: time, memory, and what stays together.

A planted graph: communities of 20 nodes in groups of five, 3 in 4 edges within a community, half of the
others within its group. *Neighbours*: of the nodes nearest to a node in the drawing, as many as it has edges,
the share that is linked to it. *Community*: of the ten nearest, the share of its own community. Seconds are
those of the processor.

Run: python benchmarks/layout.py [NODES ...]      5,000 nodes take networkx six minutes
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from graphrag_dagster.core.evaluation.figures.layout import community_layout

DEGREE = 6


def planted(nodes: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(5)
    community = np.arange(nodes) // 20
    group = community // 5
    ends = set()
    while len(ends) < nodes * DEGREE // 2:
        one = int(rng.integers(nodes))
        near = rng.choice(3, p=[0.75, 0.125, 0.125])
        among = [
            np.flatnonzero(community == community[one]),
            np.flatnonzero(group == group[one]),
            np.arange(nodes),
        ]
        other = int(rng.choice(among[near]))
        if one != other:
            ends.add((min(one, other), max(one, other)))
    pairs = np.array(sorted(ends))
    return pairs[:, 0], pairs[:, 1], [group, community]


def by_networkx(source: np.ndarray, target: np.ndarray, nodes: int, iterations: int) -> np.ndarray:
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
    places = networkx.forceatlas2_layout(graph, max_iter=iterations, linlog=True, seed=1)
    return np.array([places[node] for node in range(nodes)])


def quality(
    places: np.ndarray, source: np.ndarray, target: np.ndarray, community: np.ndarray
) -> tuple[float, float]:
    linked: list[set[int]] = [set() for _ in places]
    for one, other in zip(source.tolist(), target.tolist(), strict=True):
        linked[one].add(other)
        linked[other].add(one)
    kept, own = [], []
    for node, neighbours in enumerate(linked):
        apart = ((places - places[node]) ** 2).sum(axis=1)
        apart[node] = np.inf
        nearest = np.argsort(apart, kind="stable")
        if neighbours:
            kept.append(len(neighbours & set(nearest[: len(neighbours)].tolist())) / len(neighbours))
        own.append(float((community[nearest[:10]] == community[node]).mean()))
    return float(np.mean(kept)), float(np.mean(own))


def one(name: str, nodes: int) -> None:
    source, target, communities = planted(nodes)
    begin = time.process_time()
    if name == "ours":
        places = community_layout(source, target, np.ones(len(source)), communities)
    else:
        places = by_networkx(source, target, nodes, int(name.rsplit(" ", 1)[1]))
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    kept, own = quality(places, source, target, communities[1])
    print(
        f"{nodes} nodes, {name}: {seconds:.1f} s, {peak:.2f} GB, neighbours {kept:.2f}, community {own:.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=int, nargs="*", default=[1000, 2000])
    parser.add_argument("--only", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for nodes in asked.nodes:
        if asked.only:
            one(asked.only, nodes)
            continue
        # A process each, so that the memory is its own.
        for name in ("ours", "networkx 100", *(["networkx 400"] if nodes <= 2000 else [])):
            subprocess.run([sys.executable, __file__, str(nodes), "--only", name], check=True)


if __name__ == "__main__":
    main()

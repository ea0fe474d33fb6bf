"""Where entities are drawn: seconds, memory, what stays together, what stays in place.

    python benchmarks/layout.py [NODES ...] [--graph FILE ...] [--beside]

A planted graph of so many nodes (by default 1,000, 10,000 and 100,000), with communities of all sizes in
groups of eight, 7 in 10 edges within a community and most others within its group; or that of a corpus's
DuckDB file. One in eleven entities is taken away, which then come back: *cold* lays out what is left, *warm*
what has grown by a tenth, from those places and with communities that are begun from those before. *moved* is
how far those that stayed went, in percent of the picture's diameter: the median, and how many of them far.

``--beside`` compares with networkx's ForceAtlas2, on a planted graph with communities of 20 nodes.
*Neighbours*: of the nodes nearest to a node in the drawing, as many as it has edges, the share that is linked
to it. *Community*: of the ten nearest, the share of its own community. 5,000 nodes take networkx six minutes.

Seconds are those of the processor, memory is the peak of the process beyond what it had before.
"""

import argparse
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from graphrag_dagster.systems.graphrag.index.community_detection import cluster
from graphrag_dagster.systems.graphrag.index.force_layout import layout_cold
from graphrag_dagster.systems.graphrag.index.graph_layout import arrange
from graphrag_dagster.systems.graphrag.index.layout_bodies import bodies_of, push_apart

DEGREE = 6
#: Percent of the diameter.
FAR = 5
COLUMNS = ("relationship_id", "source_id", "target_id", "weight")


def planted_frames(nodes: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Entities and relationships; most communities are small, the largest has 400 nodes."""
    rng = np.random.default_rng(5)
    sizes = np.minimum((rng.pareto(1.5, nodes) * 8 + 3).astype(int), 400)
    community = np.repeat(np.arange(nodes), sizes)[:nodes]
    group = community // 8
    source, near = rng.integers(0, nodes, DEGREE * nodes // 2), rng.random(DEGREE * nodes // 2)
    inside, beside = (_someone(rng, of, source) for of in (community, group))
    anyone = rng.integers(0, nodes, len(source))
    target = np.select([near < 0.7, near < 0.9], [inside, beside], anyone)
    ids = pl.Series([f"{place:08x}" for place in rng.permutation(nodes)])
    pairs = np.unique(np.sort(np.column_stack([source, target])[source != target], axis=1), axis=0)
    ends = {name: ids.gather(pairs[:, side]) for side, name in enumerate(("source_id", "target_id"))}
    edges = pl.DataFrame({**ends, "weight": np.ones(len(pairs))})
    named = edges.with_columns(relationship_id=pl.concat_str("source_id", "target_id"))
    return pl.DataFrame({"entity_id": ids}), named.select(COLUMNS)


def _someone(rng: np.random.Generator, group: np.ndarray, node: np.ndarray) -> np.ndarray:
    first, last = (np.searchsorted(group, group, side) for side in ("left", "right"))
    return first[node] + ((last - first)[node] * rng.random(len(node)) ** 2).astype(int)


def frames_of(file: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    with duckdb.connect(str(file), read_only=True) as connection:
        entities = connection.sql("select entity_id from graph.entities").pl()
        return entities, connection.sql(f"select {', '.join(COLUMNS)} from graph.relationships").pl()


def clustered(before: pl.DataFrame, after: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    first, _ = cluster(before, None)
    second, _ = cluster(after, first)
    return first.hierarchy.members, second.hierarchy.members


def growth(name: str) -> None:
    entities, relationships = planted_frames(int(name)) if name.isdigit() else frames_of(Path(name))
    rng = np.random.default_rng(7)
    stays = entities.sort("entity_id").filter(pl.Series(rng.random(len(entities)) >= 1 / 11))
    ids = stays["entity_id"].implode()
    left = relationships.filter(pl.col("source_id").is_in(ids) & pl.col("target_id").is_in(ids))
    # In a process of its own, so that its memory does not count.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        before, after = other.submit(clustered, left, relationships).result()
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    cold, _ = arrange(stays, left, before, None)
    colder = time.process_time()
    warm, begun = arrange(entities, relationships, after, cold)
    warmer = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    both = cold.places.join(warm.places, on="entity_id")
    moved = np.hypot(both["x"] - both["x_right"], both["y"] - both["y_right"])
    moved = 50 * moved / float(cold.state.item(0, "radius"))
    print(
        f"{Path(name).name}: {len(entities)} entities, {len(relationships)} relationships; cold "
        f"{colder - begin:.2f} s, {begun.how} {warmer - colder:.2f} s, {(peak - base) / 1000:.0f} MB; moved "
        f"{np.median(moved):.1f} %, {(moved > FAR).mean():.1%} by more than {FAR} %; communities spread "
        f"{cold.state.item(0, 'spread'):.2f}, then {warm.state.item(0, 'spread'):.2f}",
        flush=True,
    )


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


def beside(name: str, nodes: int) -> None:
    source, target, communities = planted(nodes)
    begin = time.process_time()
    if name == "ours":
        places = push_apart(layout_cold(bodies_of(source, target, np.ones(len(source)), communities)))
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
    parser.add_argument("nodes", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--graph", type=Path, nargs="*", default=[])
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        growth(asked.only) if not asked.beside else beside(asked.only, *asked.nodes)
        return
    # A process each, so that the memory is its own.
    again = [sys.executable, __file__]
    if not asked.beside:
        for name in [*map(str, asked.nodes), *map(str, asked.graph)]:
            subprocess.run([*again, "--only", name], check=True)
        return
    for nodes in asked.nodes:
        for name in ("ours", "networkx 100", *(["networkx 400"] if nodes <= 2000 else [])):
            subprocess.run([*again, "--beside", str(nodes), "--only", name], check=True)


if __name__ == "__main__":
    main()

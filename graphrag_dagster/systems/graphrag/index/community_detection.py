"""Hierarchical Leiden on a changing graph: reused, warm-started from the previous communities, or cold.

The native hierarchical Leiden takes a start for its first level only, and draws the random numbers of all
splits from one sequence, so a change in one community would change how others are split. Here every split is
a separate call with the same seed: an unchanged community is split as before.

A cold start is a function of the graph alone; a warm one also of the previous communities, of which it keeps
what it can. The drift of warm starts is bounded twice: by the share of edges that have changed since the last
cold start, and by the modularity, which must be within one percent of a cold start's.
"""

import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.hierarchical_leiden import Hierarchy, as_hierarchy, empty_hierarchy
from graphrag_dagster.kernel.graph.native_leiden import MEMBERSHIPS, LeidenOptions, run_native_leiden
from graphrag_dagster.kernel.graph.undirected_graph import (
    Network,
    Profile,
    clustered_part,
    connected_components,
    groups,
    modularity,
    network_of,
)
from graphrag_dagster.systems.graphrag.tables import CLUSTERING_STATE

#: Nodes stay in their part of a community as long as its modularity is at least this share of what moving
#: them would give. On real graphs two runs of Leiden differ by one or two percent, in small ones by more.
AS_GOOD = 0.95
#: Times that Leiden goes on from its own result where the first is not good enough.
_PATIENT = 10

_Places = NDArray[np.int64]


def cluster_incrementally(
    part: Network, previous: pl.DataFrame, options: LeidenOptions, enough: float
) -> pl.DataFrame:
    """Return the memberships that Leiden finds from the previous communities of each level.

    A previous community that has fallen apart starts as its components, a new node on its own. New nodes go
    where Leiden puts them; those known stay where they were as long as that is good enough a partition: at
    level 0 one with the given modularity, deeper down one with 0.95 of what moving them would give.

    Args:
        part: the clustered edges.
        previous: rows of ``graph.community_members`` of the clustering before.
        options: how Leiden runs.
        enough: modularity of level 0 with which all known nodes stay where they were.

    Returns:
        columns of :data:`~graphrag_dagster.kernel.graph.native_leiden.MEMBERSHIPS`.
    """
    nodes = len(part.names)
    numbers = count()
    inside = np.zeros(nodes, dtype=np.int64)
    inside[np.setdiff1d(np.arange(nodes), np.concatenate([part.low, part.high]))] = -1
    parents: dict[int, int | None] = {0: None}
    found: list[pl.DataFrame] = []
    level = 0
    while parents:
        before = _previous_communities(part, previous, level)
        at_level = np.full(nodes, -1, dtype=np.int64)
        for group, edges in groups(part, inside, parents):
            places = edges.names.to_numpy()
            cluster = _split(edges, before[places], options, None if level else enough)
            parts = int(cluster.max()) + 1
            if level and parts == 1:
                continue
            first = [next(numbers) for _ in range(parts)]
            at_level[places] = np.array(first)[cluster]
            found.append(_rows(places, at_level[places], level, parents[group]))
        inside = at_level
        large = np.flatnonzero(np.bincount(inside[inside >= 0]) >= options.max_cluster_size)
        parents = {int(cluster): int(cluster) for cluster in large}
        level += 1
    return pl.concat(found)


def _rows(places: _Places, cluster: _Places, level: int, parent: int | None) -> pl.DataFrame:
    return (
        pl.DataFrame({"node": places, "cluster": cluster})
        .with_columns(level=pl.lit(level, pl.Int32), parent=pl.lit(parent, pl.Int64))
        .select(list(MEMBERSHIPS))
    )


def _previous_communities(part: Network, previous: pl.DataFrame, level: int) -> _Places:
    """Return for each node the number of its previous community of the level, -1 for none."""
    of_level = previous.filter(pl.col("level") == level).select(
        "entity_id", number=pl.col("community_id").rank("dense").cast(pl.Int64)
    )
    joined = pl.DataFrame({"entity_id": part.names}).join(
        of_level, on="entity_id", how="left", maintain_order="left"
    )
    return joined["number"].fill_null(-1).to_numpy().astype(np.int64)


def _split(group: Network, before: _Places, options: LeidenOptions, enough: float | None) -> _Places:
    """Return the new partition of a group, numbered by the smallest node of each cluster."""
    if not len(group.low):
        return np.arange(len(group.names))
    start = start_partition(group, before)
    found = _leiden(group, start, options)
    best = modularity(group, found, options.resolution)
    settled = settle_new_nodes(group, start, before >= 0, found)
    needed = AS_GOOD * best if enough is None else enough
    if settled.max() > 0 and modularity(group, settled, options.resolution) >= needed:
        return settled
    return found if best >= needed else _leiden(group, start, options, _PATIENT)


def settle_new_nodes(group: Network, start: _Places, known: NDArray[np.bool_], found: _Places) -> _Places:
    """Return the partition in which known nodes stay where they start, and new ones join them as found.

    A new node goes to the start that most known nodes of its found cluster have, of equals the smallest; a
    found cluster of new nodes alone stays one.
    """
    place = pl.DataFrame({"found": found, "start": start, "known": known})
    most = (
        place.filter("known")
        .group_by("found", "start")
        .len()
        .sort("found", "len", "start", descending=[False, True, False])
        .group_by("found", maintain_order=True)
        .agg(pl.first("start").alias("joined"))
    )
    joined = place.join(most, on="found", how="left", maintain_order="left").select(
        pl.when("known")
        .then("start")
        .otherwise(pl.coalesce("joined", pl.col("found") + len(start)))
        .alias("cluster")
    )["cluster"]
    cluster = joined.to_numpy().astype(np.int64)
    return start_partition(group, cluster)


def start_partition(group: Network, before: _Places) -> _Places:
    """Return the connected parts of the communities of before; -1 is a community of its own."""
    together = (before[group.low] == before[group.high]) & (before[group.low] >= 0)
    roots = connected_components(group.low[together], group.high[together], len(group.names))
    return renumber(roots)


def _leiden(group: Network, start: _Places, options: LeidenOptions, iterations: int = 1) -> _Places:
    import graspologic_native

    labels = [str(place) for place in range(len(group.names))]
    ends = list(zip(group.low.tolist(), group.high.tolist(), group.weight.tolist(), strict=True))
    linked = np.unique(np.concatenate([group.low, group.high]))
    begin = renumber(start[linked]).tolist()
    _, found = graspologic_native.leiden(
        [(labels[u], labels[v], w) for u, v, w in ends],
        starting_communities={
            labels[place]: number for place, number in zip(linked.tolist(), begin, strict=True)
        },
        resolution=options.resolution,
        randomness=options.randomness,
        iterations=iterations,
        seed=options.seed % 2**64,
    )
    # Nodes without an edge inside are left out by the native code; each is a cluster of its own.
    cluster = len(found) + np.arange(len(labels), dtype=np.int64)
    for label, number in found.items():
        cluster[int(label)] = number
    return renumber(cluster)


def renumber(cluster: _Places) -> _Places:
    """Return clusters numbered 0… in the order of their first nodes."""
    _, first, inverse = np.unique(cluster, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


Start = Literal["warm", "cold"]

#: Smallest share of the modularity of a cold start that a warm one must reach.
QUALITY = 0.99
#: Up to so many edges a cold start is cheap enough to be made for comparison every time.
_COMPARED_EDGES = 200_000
_ROWS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class CommunityClustering:
    """A clustering and what the next one needs to know of it.

    Attributes:
        hierarchy: rows of ``graph.communities`` and ``graph.community_members``.
        state: the row of ``graph.clustering_state``.
        cold_start_edges: rows of ``graph.cold_start_edges``.
    """

    hierarchy: Hierarchy
    state: pl.DataFrame
    cold_start_edges: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Begun:
    """How a clustering began: cold, warm, or not at all because nothing changed; and why."""

    how: Literal["cold", "warm", "kept"]
    why: str


@dataclass(frozen=True, slots=True)
class _Graph:
    whole: Network
    part: Network
    ids: pl.Series
    hash: str
    rules: str


def cluster(
    relationships: pl.DataFrame,
    previous: CommunityClustering | None,
    *,
    profile: Profile = "default",
    options: LeidenOptions | None = None,
    start: Start = "warm",
    drift: float = 0.2,
    code: str = "",
) -> tuple[CommunityClustering, Begun]:
    """Cluster a graph, at need from nothing, otherwise from the communities before.

    Nothing is computed where edges, weights, settings and code are those of the clustering before. From
    nothing begins: the first clustering; one with other settings or code; one after at least ``drift`` of
    the edges have changed since the last cold start; and one whose modularity from a warm start is below
    0.99 of that from a cold start. Up to 200,000 edges both are computed and compared; beyond, the warm one
    is compared to what the last cold start had, and only where it is below 0.99 of that to a new one.

    The share of changed edges is that of edges that are new or gone, of all that were or are. Edges that
    went and came back count as both, since nothing is kept of what is gone.

    Args:
        relationships: rows of ``graph.relationships``.
        previous: the clustering before, None for the first.
        profile: which edges are clustered, see :func:`.leiden.hierarchical_communities`.
        options: how Leiden runs; default: as :class:`.native_leiden.LeidenOptions` has it.
        start: ``cold`` always begins from nothing.
        drift: share of changed edges from which the clustering begins from nothing; 0: always.
        code: version of the code that clusters.

    Raises:
        GraphragError: see :func:`.leiden.hierarchical_communities`.
    """
    options = options or LeidenOptions()
    graph = _graph(relationships, profile, stable_id(profile, options, code, version("graspologic-native")))
    if previous is None:
        return _cluster_cold(graph, options), Begun("cold", "first clustering")
    # A run may have been killed while it wrote the tables of one clustering.
    if previous.state.item(0, "communities_hash") != _communities_hash(previous.hierarchy):
        return _cluster_cold(graph, options), Begun("cold", "inconsistent tables")
    cold_edges = previous.cold_start_edges.filter(pl.col("relationship_id").is_in(graph.ids.implode()))
    ever = int(previous.state.item(0, "cold_edges")) + len(graph.ids) - len(cold_edges)
    changed = (ever - len(cold_edges)) / ever if ever else 0.0
    why = _cold_start_reason(graph, previous, start, drift, changed)
    if why is not None:
        return _cluster_cold(graph, options), Begun("cold", why)
    if previous.state.item(0, "edges_hash") == graph.hash:
        return previous, Begun("kept", "nothing changed")
    return _cluster_warm(graph, options, previous, cold_edges, changed)


def previous_clustering(
    communities: pl.DataFrame | None,
    members: pl.DataFrame | None,
    state: pl.DataFrame | None,
    cold_start_edges: pl.DataFrame | None,
) -> CommunityClustering | None:
    """Return the clustering that its four tables hold, None where there is none."""
    if communities is None or members is None or state is None or cold_start_edges is None or not len(state):
        return None
    return CommunityClustering(Hierarchy(communities, members), state, cold_start_edges)


def _graph(relationships: pl.DataFrame, profile: Profile, rules: str) -> _Graph:
    rows = relationships.select("relationship_id", "source_id", "target_id", "weight").sort("relationship_id")
    whole = network_of(rows)
    ids = rows["relationship_id"]
    return _Graph(whole, clustered_part(whole, profile), ids, _hash(rows), rules)


def _cold_start_reason(
    graph: _Graph, previous: CommunityClustering, start: Start, drift: float, changed: float
) -> str | None:
    if start == "cold":
        return "asked for"
    if previous.state.item(0, "rules") != graph.rules:
        return "other settings or code"
    if changed >= drift:
        return f"{changed:.1%} of the edges changed since the last cold start, at most {drift:.1%} may"
    return None


def _cluster_cold(graph: _Graph, options: LeidenOptions) -> CommunityClustering:
    ids = graph.ids.to_frame("relationship_id")
    if not len(graph.part.low):
        return _clustering_record(graph, empty_hierarchy(), ids, "cold", (len(ids), 0.0, 0.0, 0.0))
    memberships = run_native_leiden(graph.part, options)
    quality = _modularity(graph, memberships, options)
    hierarchy = as_hierarchy(graph.whole, memberships)
    return _clustering_record(graph, hierarchy, ids, "cold", (len(ids), 0.0, quality, quality))


def _cluster_warm(
    graph: _Graph,
    options: LeidenOptions,
    previous: CommunityClustering,
    cold_edges: pl.DataFrame,
    changed: float,
) -> tuple[CommunityClustering, Begun]:
    if not len(graph.part.low):
        return _cluster_cold(graph, options), Begun("cold", "no edges")
    base = float(previous.state.item(0, "cold_modularity"))
    cold = _cluster_cold(graph, options) if len(graph.part.low) <= _COMPARED_EDGES else None
    best = float(cold.state.item(0, "modularity")) if cold else base
    memberships = cluster_incrementally(graph.part, previous.hierarchy.members, options, QUALITY * best)
    quality = _modularity(graph, memberships, options)
    if quality < QUALITY * best:
        cold = cold or _cluster_cold(graph, options)
        best = float(cold.state.item(0, "modularity"))
        if quality < QUALITY * best:
            return cold, Begun("cold", f"a warm start has modularity {quality:.4f}, a cold one {best:.4f}")
    hierarchy = as_hierarchy(graph.whole, memberships, previous.hierarchy)
    before = int(previous.state.item(0, "cold_edges"))
    made = _clustering_record(graph, hierarchy, cold_edges, "warm", (before, changed, quality, base))
    return made, Begun("warm", f"{changed:.1%} of the edges changed since the last cold start")


def _clustering_record(
    graph: _Graph,
    hierarchy: Hierarchy,
    cold_edges: pl.DataFrame,
    start: Start,
    measured: tuple[int, float, float, float],
) -> CommunityClustering:
    cold, changed, quality, cold_quality = measured
    row = {
        "clustering": "communities",
        "start": start,
        "edges": len(graph.ids),
        "cold_edges": cold,
        "changed": changed,
        "modularity": quality,
        "cold_modularity": cold_quality,
        "rules": graph.rules,
        "edges_hash": graph.hash,
        "communities_hash": _communities_hash(hierarchy),
    }
    return CommunityClustering(hierarchy, CLUSTERING_STATE.rows([row]), cold_edges)


def _modularity(graph: _Graph, memberships: pl.DataFrame, options: LeidenOptions) -> float:
    roots = memberships.filter(pl.col("level") == 0)
    cluster = np.zeros(len(graph.part.names), dtype=np.int64)
    cluster[roots["node"].to_numpy()] = roots["cluster"].rank("dense").to_numpy().astype(np.int64)
    return modularity(graph.part, cluster, options.resolution)


def _communities_hash(hierarchy: Hierarchy) -> str:
    return _hash(
        hierarchy.communities.sort("community_id"), hierarchy.members.sort("community_id", "entity_id")
    )


def _hash(*frames: pl.DataFrame) -> str:
    """Return the :func:`.stable_id` of frames as CSV, of which it holds one copy instead of four."""
    digest = hashlib.sha256()
    for frame in frames:
        slices = (part.write_csv(include_header=False) for part in frame.iter_slices(_ROWS_AT_ONCE))
        texts = [frame.clear().write_csv(), *slices]
        digest.update(f"{sum(map(len, texts))}:".encode())
        for text in texts:
            digest.update(text.encode())
    return digest.hexdigest()[:32]

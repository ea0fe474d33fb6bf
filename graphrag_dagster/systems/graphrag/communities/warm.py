"""Hierarchical Leiden that starts from the communities of the previous clustering.

The native hierarchical Leiden takes a start for its first level only, and draws the random numbers of all
splits from one sequence, so a change in one community would change how others are split. Here every split is
a separate call with the same seed: an unchanged community is split as before.
"""

from collections.abc import Iterator
from itertools import count

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.graph.hierarchy import MEMBERSHIPS
from graphrag_dagster.kernel.graph.leiden import LeidenOptions
from graphrag_dagster.kernel.graph.network import Network, connected_components, modularity

#: Nodes stay in their part of a community as long as its modularity is at least this share of what moving
#: them would give. On real graphs two runs of Leiden differ by one or two percent, in small ones by more.
_AS_GOOD = 0.95
#: Times that Leiden goes on from its own result where the first is not good enough.
_PATIENT = 10

_Places = NDArray[np.int64]


def clustered_from(
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
        columns of :data:`~graphrag_dagster.kernel.graph.hierarchy.MEMBERSHIPS`.
    """
    nodes = len(part.names)
    numbers = count()
    inside = np.zeros(nodes, dtype=np.int64)
    inside[np.setdiff1d(np.arange(nodes), np.concatenate([part.low, part.high]))] = -1
    parents: dict[int, int | None] = {0: None}
    found: list[pl.DataFrame] = []
    level = 0
    while parents:
        before = _before(part, previous, level)
        at_level = np.full(nodes, -1, dtype=np.int64)
        for group, places, edges in _groups(part, inside, parents):
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


def _before(part: Network, previous: pl.DataFrame, level: int) -> _Places:
    """Return for each node the number of its previous community of the level, -1 for none."""
    of_level = previous.filter(pl.col("level") == level).select(
        "entity_id", number=pl.col("community_id").rank("dense").cast(pl.Int64)
    )
    joined = pl.DataFrame({"entity_id": part.names}).join(
        of_level, on="entity_id", how="left", maintain_order="left"
    )
    return joined["number"].fill_null(-1).to_numpy().astype(np.int64)


def _groups(
    part: Network, inside: _Places, wanted: dict[int, int | None]
) -> Iterator[tuple[int, _Places, Network]]:
    """Yield each wanted group of nodes: its number, the nodes, and the edges inside, nodes numbered anew."""
    local = np.zeros(len(inside), dtype=np.int64)
    by_node = np.argsort(inside, kind="stable")
    edge_group = np.where(inside[part.low] == inside[part.high], inside[part.low], -1)
    by_edge = np.argsort(edge_group, kind="stable")
    node_groups, edge_groups = inside[by_node], edge_group[by_edge]
    for group in wanted:
        places = by_node[slice(*np.searchsorted(node_groups, [group, group + 1]))]
        edges = by_edge[slice(*np.searchsorted(edge_groups, [group, group + 1]))]
        local[places] = np.arange(len(places))
        yield (
            group,
            places,
            Network(
                part.names.gather(places), local[part.low[edges]], local[part.high[edges]], part.weight[edges]
            ),
        )


def _split(group: Network, before: _Places, options: LeidenOptions, enough: float | None) -> _Places:
    """Return the new partition of a group, numbered by the smallest node of each cluster."""
    if not len(group.low):
        return np.arange(len(group.names))
    start = _start(group, before)
    found = _leiden(group, start, options)
    best = modularity(group, found, options.resolution)
    settled = _settled(group, start, before >= 0, found)
    needed = _AS_GOOD * best if enough is None else enough
    if settled.max() > 0 and modularity(group, settled, options.resolution) >= needed:
        return settled
    return found if best >= needed else _leiden(group, start, options, _PATIENT)


def _settled(group: Network, start: _Places, known: NDArray[np.bool_], found: _Places) -> _Places:
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
    return _start(group, cluster)


def _start(group: Network, before: _Places) -> _Places:
    together = (before[group.low] == before[group.high]) & (before[group.low] >= 0)
    roots = connected_components(group.low[together], group.high[together], len(group.names))
    return _numbered(roots)


def _leiden(group: Network, start: _Places, options: LeidenOptions, iterations: int = 1) -> _Places:
    import graspologic_native

    labels = [str(place) for place in range(len(group.names))]
    ends = list(zip(group.low.tolist(), group.high.tolist(), group.weight.tolist(), strict=True))
    linked = np.unique(np.concatenate([group.low, group.high]))
    begin = _numbered(start[linked]).tolist()
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
    return _numbered(cluster)


def _numbered(cluster: _Places) -> _Places:
    """Return clusters numbered 0… in the order of their first nodes."""
    _, first, inverse = np.unique(cluster, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]

"""Levels above C0: communities of communities, until there are few enough for a question to read them all.

The number of root communities of hierarchical Leiden grows with the graph, and so does what a global search
of them reads. Above ``communities.roots`` of them, the graph of communities is clustered in turn: a node for
each community, and between two the sum of the weights of the relationships between their members. This is
ours, not the paper's. The levels are C-1, C-2, …, so that C0 and everything below stay what they are.

**Few children.** A report is written from those of its children, of which a context holds a few dozen. So
each level consists of the finest communities that hierarchical Leiden finds, split from :data:`CHILDREN` on.

**No edges.** Communities without a relationship to another one cannot be joined by Leiden. They are grouped
by the first bits of a hash of their smallest member, one bit more for twice as many of them, and fewer from
level to level: so groups nest and are about equally large, and one new document changes one of them. A graph
without edges ends as one group, so the bound always holds.
"""

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.hierarchical_leiden import Hierarchy, as_hierarchy
from graphrag_dagster.kernel.graph.native_leiden import MEMBERSHIPS, LeidenOptions, run_native_leiden
from graphrag_dagster.kernel.graph.undirected_graph import Network, modularity, network, network_of
from graphrag_dagster.systems.graphrag.index.community_detection import (
    AS_GOOD,
    renumber,
    settle_new_nodes,
    start_partition,
)

#: A community of this many communities or more is split again if possible, and groups have about as many.
CHILDREN = 20
_BITS = 64

_Places = NDArray[np.int64]


def with_levels_above(
    hierarchy: Hierarchy,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    *,
    roots: int | None,
    options: LeidenOptions,
    previous: Hierarchy | None = None,
) -> Hierarchy:
    """Return a hierarchy with as many levels above C0 as it takes to have at most ``roots`` at the top.

    Args:
        hierarchy: communities from C0 on; it is returned as it is where C0 has few enough.
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.
        roots: most communities of the top level; None for no bound.
        options: how Leiden runs; its ``max_cluster_size`` is that of communities of entities.
        previous: the hierarchy of the last run: its communities are gone on from as far as they are good
            enough, and keep their ids and numbers. None to start from scratch.
    """
    base = hierarchy.communities.filter(pl.col("level") == 0)
    if roots is None or len(base) <= roots:
        return hierarchy
    graph = network_of(relationships, entities)
    nodes = pl.DataFrame({"entity_id": graph.names}).with_row_index("node")
    placed = (
        hierarchy.members.filter(pl.col("level") == 0)
        .join(nodes, on="entity_id")
        .select(pl.col("node").cast(pl.Int64), "entity_id", "community_id")
        .sort("node")
    )
    first = placed.group_by("community_id", maintain_order=True).agg(pl.first("entity_id"))
    of_entity = placed.join(first.select("community_id").with_row_index("c0"), on="community_id").sort("node")
    keys = np.array([int(stable_id(name)[:16], 16) for name in first["entity_id"]], dtype=np.uint64)
    inside = of_entity["c0"].to_numpy().astype(np.int64)
    before = None if previous is None else previous.members.filter(pl.col("level") < 0)
    partitions = _partitions(
        _communities_linked(graph, of_entity["node"].to_numpy(), inside, len(first)),
        keys,
        roots,
        replace(options, max_cluster_size=CHILDREN),
        None if before is None or before.is_empty() else (of_entity.select("entity_id", "c0"), before),
    )
    memberships = _memberships(of_entity["node"].to_numpy(), inside, partitions)
    taken = set(hierarchy.communities["human_readable_id"])
    above = as_hierarchy(graph, memberships, _above(previous), taken)
    parents = (
        above.members.filter(pl.col("level") == -1)
        .join(placed, on="entity_id", suffix="_below")
        .select(community_id="community_id_below", above="community_id")
        .unique()
    )
    linked = (
        hierarchy.communities.join(parents, on="community_id", how="left", maintain_order="left")
        .with_columns(parent_id=pl.when(pl.col("level") == 0).then("above").otherwise("parent_id"))
        .drop("above")
    )
    communities = pl.concat([linked, above.communities.with_columns(is_leaf=pl.lit(value=False))])
    members = pl.concat([hierarchy.members, above.members]).sort("community_id", "entity_id")
    return Hierarchy(communities, members)


def without_levels_above(hierarchy: Hierarchy) -> Hierarchy:
    """Return a hierarchy from C0 on, as it was before :func:`with_levels_above`."""
    if not (hierarchy.communities["level"] < 0).any():
        return hierarchy
    level = pl.col("level")
    communities = hierarchy.communities.filter(level >= 0).with_columns(
        parent_id=pl.when(level > 0).then("parent_id")
    )
    return Hierarchy(communities, hierarchy.members.filter(level >= 0))


def _above(hierarchy: Hierarchy | None) -> Hierarchy | None:
    if hierarchy is None:
        return None
    level = pl.col("level")
    return Hierarchy(hierarchy.communities.filter(level < 0), hierarchy.members.filter(level < 0))


def _communities_linked(graph: Network, nodes: _Places, inside: _Places, communities: int) -> Network:
    """Return the graph of communities, by their numbers."""
    of_node = np.full(len(graph.names), -1, dtype=np.int64)
    of_node[nodes] = inside
    clustered = (of_node[graph.low] >= 0) & (of_node[graph.high] >= 0)
    return _linked(
        of_node[graph.low[clustered]], of_node[graph.high[clustered]], graph.weight[clustered], communities
    )


def _linked(one: _Places, other: _Places, weight: NDArray[np.float64], communities: int) -> Network:
    """Return the graph of numbers 0…, also of those without an edge; one without weight is none."""
    between = (one != other) & (weight > 0)
    summed = network(
        pl.DataFrame({"source": one[between], "target": other[between], "weight": weight[between]})
    )
    numbers = summed.names.to_numpy()
    names = pl.Series(np.arange(communities))
    return Network(names, numbers[summed.low], numbers[summed.high], summed.weight)


def _partitions(
    linked: Network,
    keys: NDArray[np.uint64],
    roots: int,
    options: LeidenOptions,
    before: tuple[pl.DataFrame, pl.DataFrame] | None,
) -> list[_Places]:
    """Return for C-1, C-2, … the number of the community of each one of the level below.

    Args:
        linked: the graph of the communities of C0.
        keys: the hash by which each is grouped where it has no edge.
        roots: most communities of the last level.
        options: how Leiden runs.
        before: entities with their community at C0, and the members of the levels above of the last run.
    """
    found: list[_Places] = []
    while (communities := len(linked.names)) > roots:
        start = None if before is None else _previous_numbers(*before, -1 - len(found), communities)
        merged = _merge(linked, keys, options, start)
        if 4 * (merged.max() + 1) > 3 * communities:
            # Leiden joins next to nothing, as with a high resolution or without weights.
            merged = renumber(_grouped(keys))
        found.append(merged)
        first = np.unique(merged, return_index=True)[1]
        keys = keys[first]
        linked = _linked(merged[linked.low], merged[linked.high], linked.weight, len(first))
        if before is not None:
            inside, members = before
            before = inside.with_columns(c0=pl.Series(merged[inside["c0"].to_numpy()])), members
    return found


def _merge(
    linked: Network, keys: NDArray[np.uint64], options: LeidenOptions, start: _Places | None
) -> _Places:
    """Return the community of each node of a graph, numbered by their first nodes."""
    nodes = len(linked.names)
    joined = np.zeros(nodes, dtype=np.bool_)
    joined[linked.low] = joined[linked.high] = True
    alone = np.flatnonzero(~joined)
    cluster = np.empty(nodes, dtype=np.int64)
    cluster[alone] = _grouped(keys[alone])
    linked_nodes = np.flatnonzero(joined)
    if len(linked_nodes):
        at = np.cumsum(joined) - 1
        part = Network(linked.names.gather(linked_nodes), at[linked.low], at[linked.high], linked.weight)
        # Behind the groups.
        cluster[linked_nodes] = nodes + _finest(part, options, None if start is None else start[linked_nodes])
    return renumber(cluster)


def _finest(part: Network, options: LeidenOptions, start: _Places | None) -> _Places:
    """Return the finest communities of hierarchical Leiden, or those of before where they are good enough."""
    deepest = (
        run_native_leiden(part, options).sort("node", "level").group_by("node", maintain_order=True).last()
    )
    found = renumber(deepest["cluster"].to_numpy().astype(np.int64))
    if start is None or (start < 0).all():
        return found
    settled = settle_new_nodes(part, start_partition(part, start), start >= 0, found)
    largest = max(int(np.bincount(found).max()), options.max_cluster_size)
    good = modularity(part, settled, options.resolution) >= AS_GOOD * modularity(
        part, found, options.resolution
    )
    fits = int(np.bincount(settled).max()) <= largest and settled.max() < len(settled) / 2
    return settled if good and fits else found


def _grouped(keys: NDArray[np.uint64]) -> _Places:
    """Return the group of each of some nodes: by the first bits of its key, about CHILDREN in each."""
    bits = max(len(keys) // CHILDREN, 1).bit_length() - 1
    return (keys >> np.uint64(_BITS - bits)).astype(np.int64) if bits else np.zeros(len(keys), np.int64)


def _previous_numbers(inside: pl.DataFrame, members: pl.DataFrame, level: int, nodes: int) -> _Places:
    """Return for each node the number of the community that most of its entities were in, -1 for none."""
    most = (
        inside.join(members.filter(pl.col("level") == level), on="entity_id")
        .group_by("c0", "community_id")
        .len()
        .sort("c0", "len", "community_id", descending=[False, True, False])
        .group_by("c0", maintain_order=True)
        .agg(pl.first("community_id"))
        .with_columns(number=pl.col("community_id").rank("dense").cast(pl.Int64))
    )
    numbers = np.full(nodes, -1, dtype=np.int64)
    numbers[most["c0"].to_numpy()] = most["number"].to_numpy()
    return numbers


def _memberships(nodes: _Places, inside: _Places, partitions: list[_Places]) -> pl.DataFrame:
    """Return the members of all levels above; communities are numbered over all of them."""
    frames: list[pl.DataFrame] = []
    sizes = [int(partition.max()) + 1 for partition in partitions]
    first = np.cumsum([0, *sizes])
    parents = [first[number + 1] + partition for number, partition in enumerate(partitions[1:])]
    at = inside
    for number, partition in enumerate(partitions):
        at = partition[at]
        above = None if number == len(parents) else parents[number][at]
        frames.append(
            pl.DataFrame({"node": nodes, "cluster": first[number] + at})
            .with_columns(
                level=pl.lit(-1 - number, pl.Int32),
                parent=pl.lit(None, pl.Int64) if above is None else pl.Series(above),
            )
            .select(pl.col(name).cast(type_) for name, type_ in MEMBERSHIPS.items())
        )
    return pl.concat(frames)

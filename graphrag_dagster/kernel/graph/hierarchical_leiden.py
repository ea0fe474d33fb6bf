"""Hierarchical Leiden communities of the merged graph, and their levels C0, C1, … (paper §3.1.4, §4.1.2)."""

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.native_leiden import LeidenOptions, run_native_leiden
from graphrag_dagster.kernel.graph.undirected_graph import Network, Profile, clustered_part, network
from graphrag_dagster.kernel.tables.core_tables import COMMUNITIES, COMMUNITY_MEMBERS


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """``communities``: a row per community; ``members``: a row per community and node, at every level."""

    communities: pl.DataFrame
    members: pl.DataFrame


def empty_hierarchy() -> Hierarchy:
    """Return the hierarchy of a graph without edges."""
    return Hierarchy(COMMUNITIES.empty(), COMMUNITY_MEMBERS.empty())


def as_hierarchy(
    graph: Network,
    memberships: pl.DataFrame,
    previous: Hierarchy | None = None,
    taken: Set[int] = frozenset(),
) -> Hierarchy:
    """Return the rows of ``graph.communities`` and ``graph.community_members``.

    Args:
        graph: the whole graph, in which degrees are counted.
        memberships: columns of :data:`.native_leiden.MEMBERSHIPS`.
        previous: communities whose ids and small numbers are kept for matching ones.
        taken: small numbers of other communities.
    """
    node = memberships["node"]
    entries = memberships.with_columns(
        entity_id=graph.names.gather(node), degree=pl.Series(graph.degrees).gather(node)
    ).sort("cluster", "node")
    clusters = (
        entries.group_by("cluster", maintain_order=True)
        .agg(pl.first("level", "parent"), pl.len().alias("size"), pl.sum("degree"), pl.col("entity_id"))
        .join(_internal_edges(graph, memberships), on="cluster", how="left", maintain_order="left")
    )
    ids = name_clusters(
        clusters.select("cluster", "level", "entity_id"), previous.members if previous else None
    )
    parents = set(clusters["parent"].drop_nulls())
    communities = (
        clusters.with_columns(
            community_id=pl.Series([ids[cluster] for cluster in clusters["cluster"]], dtype=pl.String),
            parent_id=pl.Series([ids.get(parent) for parent in clusters["parent"]], dtype=pl.String),
            is_leaf=pl.Series([cluster not in parents for cluster in clusters["cluster"]], dtype=pl.Boolean),
            internal_edges=pl.col("internal_edges").fill_null(0),
        )
        .rename({"degree": "summed_degree"})
        .sort("level", "size", "community_id", descending=[False, True, False])
    )
    numbers = _numbers(communities["community_id"].to_list(), previous, taken)
    communities = communities.with_columns(human_readable_id=pl.Series(numbers, dtype=pl.Int32))
    members = entries.with_columns(community_id=pl.col("cluster").replace_strict(ids, return_dtype=pl.String))
    return Hierarchy(
        communities.select(pl.col(name).cast(type_) for name, type_ in COMMUNITIES.types().items()),
        members.select(COMMUNITY_MEMBERS.column_names).sort("community_id", "entity_id"),
    )


def _numbers(ids: list[str], previous: Hierarchy | None, others: Set[int]) -> list[int]:
    """Return the small number of each id: its previous one, else the smallest free one."""
    known: dict[str, int] = {}
    if previous:
        rows = previous.communities.select("community_id", "human_readable_id").iter_rows()
        known = {name: number for name, number in rows if number not in others}
    taken = {known[name] for name in ids if name in known} | others
    free = (number for number in range(len(ids) + len(taken)) if number not in taken)
    return [known[name] if name in known else next(free) for name in ids]


def _internal_edges(graph: Network, memberships: pl.DataFrame) -> pl.DataFrame:
    """Return the number of edges inside each ``cluster``."""
    clusters = int(memberships["cluster"].to_numpy().max(initial=0)) + 1
    counted = np.zeros(clusters, dtype=np.int64)
    for _, of_level in memberships.group_by("level"):
        cluster = np.full(len(graph.names), -1, dtype=np.int64)
        cluster[of_level["node"].to_numpy()] = of_level["cluster"].to_numpy()
        inside = (cluster[graph.low] == cluster[graph.high]) & (cluster[graph.low] >= 0)
        counted += np.bincount(cluster[graph.low[inside]], minlength=clusters)
    return pl.DataFrame({"cluster": np.arange(clusters), "internal_edges": counted})


_SAME_FROM = 0.5


def name_clusters(clusters: pl.DataFrame, previous: pl.DataFrame | None) -> dict[int, str]:
    """Return an id for every cluster.

    A cluster takes the id of the previous community it continues, see :func:`match_clusters`. Any other gets
    a hash of its level and members, with a counter if a previous community already has that id.

    Args:
        clusters: ``cluster``, ``level`` and ``entity_id``, the sorted list of members.
        previous: rows of ``graph.community_members`` of the previous clustering, or None.
    """
    ids = {
        cluster: stable_id("community", level, *members)
        for cluster, level, members in clusters.select("cluster", "level", "entity_id").iter_rows()
    }
    if previous is None or previous.is_empty():
        return ids
    new = clusters.select(
        pl.col("cluster").replace_strict(ids, return_dtype=pl.String).alias("community_id"),
        "level",
        "entity_id",
    ).explode("entity_id")
    continued, before = match_clusters(new, previous), set(previous["community_id"])
    return {cluster: continued.get(name) or _unused_id(name, before) for cluster, name in ids.items()}


def match_clusters(
    new: pl.DataFrame, previous: pl.DataFrame, *, same_from: float = _SAME_FROM
) -> dict[str, str]:
    """Return which new communities continue which previous ones, one to one.

    Pairs of the same level are matched greedily by the Jaccard overlap of their members, largest first. Ties
    go to the pair with more common members, then to the smaller ids.

    Args:
        new: ``community_id``, ``level``, ``entity_id``: a row per community and member.
        previous: the same of the previous clustering.
        same_from: least overlap, 0–1, of a match.
    """
    level = pl.col("level").cast(pl.Int32)
    sizes = [rows.group_by("community_id").len() for rows in (new, previous)]
    pairs = (
        new.with_columns(level)
        .join(previous.with_columns(level), on=["level", "entity_id"], suffix="_before")
        .group_by("community_id", "community_id_before")
        .agg(pl.len().cast(pl.Int64).alias("common"))
        .join(sizes[0], on="community_id")
        .join(sizes[1], left_on="community_id_before", right_on="community_id", suffix="_before")
        .with_columns(overlap=pl.col("common") / (pl.col("len") + pl.col("len_before") - pl.col("common")))
        .filter(pl.col("overlap") >= same_from)
        .sort(
            "overlap",
            "common",
            "community_id_before",
            "community_id",
            descending=[True, True, False, False],
        )
    )
    matches: dict[str, str] = {}
    taken: set[str] = set()
    for name, before in pairs.select("community_id", "community_id_before").iter_rows():
        if name not in matches and before not in taken:
            matches[name] = before
            taken.add(before)
    return matches


def _unused_id(name: str, taken: set[str]) -> str:
    free, attempt = name, 0
    while free in taken:
        attempt += 1
        free = stable_id("community", name, attempt)
    return free


def hierarchical_communities(
    edges: pl.DataFrame, options: LeidenOptions | None = None, *, profile: Profile = "default"
) -> Hierarchy:
    """Cluster a graph level by level with modularity Leiden.

    Args:
        edges: ``source``, ``target`` (node ids), ``weight`` (≥ 0). Duplicate and reversed edges are summed,
            self-loops dropped; the order of rows and end points does not matter.
        options: how Leiden runs; default: those of :class:`.LeidenOptions`.
        profile: ``default`` clusters every component, ``paper`` only the largest (of equals the one with the
            smallest id). Nodes without an edge are in no community.

    Returns:
        Frames with the columns of the tables ``graph.communities`` and ``graph.community_members``. A
            community's id only depends on its level and members; one that is not split does not reappear at
            deeper levels. Degrees count distinct neighbours in the whole graph. Small numbers are assigned by
            level, then descending size, then id.

    Raises:
        GraphragError: a weight is negative or not a number, or an end point is null; names the edge.
    """
    graph = network(edges)
    part = clustered_part(graph, profile)
    if not len(part.low):
        return empty_hierarchy()
    return as_hierarchy(graph, run_native_leiden(part, options or LeidenOptions()))


_SMALLEST_DEEPEST = 3


def levels(communities: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Return all levels, from the top, C0 or above, to Ck for k = max(3, deepest), with leaves projected
    downwards.

    Ck consists of the communities of level k and the leaves above it, so that each entity is in its deepest
    community at level k or above.

    Args:
        communities: rows of ``graph.communities``.
        members: rows of ``graph.community_members``.

    Returns:
        Rows of ``graph.community_levels``: ``level``, ``entity_id``, ``community_id``, ``projected``, sorted
            by level and entity.
    """
    deepest = max(_SMALLEST_DEEPEST, int(communities.select(pl.max("level").fill_null(0)).item()))
    top = min(0, int(communities.select(pl.min("level").fill_null(0)).item()))
    frames = [
        members.filter(pl.col("level") <= k)
        .sort("entity_id", "level")
        .group_by("entity_id", maintain_order=True)
        .agg(pl.last("community_id"), pl.last("level").alias("found"))
        .select(
            pl.lit(k, pl.Int32).alias("level"), "entity_id", "community_id", projected=pl.col("found") < k
        )
        for k in range(top, deepest + 1)
    ]
    return pl.concat(frames)


def check_partition(level_rows: pl.DataFrame, members: pl.DataFrame) -> list[str]:
    """Return which Ck are no partition of the clustered entities; empty if all are.

    At every level, each clustered entity must occur exactly once, in a community of that level or above that
    it is a member of.

    Args:
        level_rows: rows of ``graph.community_levels``.
        members: rows of ``graph.community_members``.
    """
    clustered = members["entity_id"].n_unique()
    if level_rows.is_empty():
        return ["there are members but no levels"] if clustered else []
    found = members.select("community_id", "entity_id", found="level")
    placed = pl.col("entity_id").filter(pl.col("found") <= pl.col("level"))
    counts = (
        level_rows.join(found, on=["community_id", "entity_id"], how="left")
        .group_by("level")
        .agg(pl.len(), placed.n_unique().alias("placed"))
        .sort("level")
    )
    return [
        f"C{level}: {rows} rows place {number} of {clustered} clustered entities; each should be there once"
        for level, rows, number in counts.iter_rows()
        if not rows == number == clustered
    ]


def coverage(entities: pl.DataFrame, members: pl.DataFrame) -> dict[str, float]:
    """Return how many nodes are in communities: ``nodes``, ``clustered``, ``isolated`` and ``coverage``.

    ``isolated`` counts the nodes in no community: those without an edge and, in the paper's profile, those
    outside the largest component. ``coverage`` is clustered / nodes, 1 for a graph without nodes.
    """
    nodes, clustered = len(entities), members["entity_id"].n_unique()
    return {
        "nodes": nodes,
        "clustered": clustered,
        "isolated": nodes - clustered,
        "coverage": clustered / nodes if nodes else 1.0,
    }

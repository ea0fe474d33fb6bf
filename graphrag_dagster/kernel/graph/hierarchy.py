"""A hierarchy of communities as rows of its tables."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.graph.network import Network
from graphrag_dagster.kernel.tables import COMMUNITIES, COMMUNITY_MEMBERS

#: What a clustering gives: ``cluster`` numbers are unique over all levels, ``parent`` is null at level 0.
MEMBERSHIPS = {"node": pl.Int64, "cluster": pl.Int64, "level": pl.Int32, "parent": pl.Int64}


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """``communities``: a row per community; ``members``: a row per community and node, at every level."""

    communities: pl.DataFrame
    members: pl.DataFrame


def empty_hierarchy() -> Hierarchy:
    """The hierarchy of a graph without edges."""
    return Hierarchy(COMMUNITIES.empty(), COMMUNITY_MEMBERS.empty())


def as_hierarchy(graph: Network, memberships: pl.DataFrame, previous: Hierarchy | None = None) -> Hierarchy:
    """Return the rows of ``graph.communities`` and ``graph.community_members``.

    Args:
        graph: the whole graph, of which degrees are counted.
        memberships: columns of :data:`MEMBERSHIPS`.
        previous: communities whose ids and small numbers are taken over where they are still the same.
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
    ids = named(clusters.select("cluster", "level", "entity_id"), previous.members if previous else None)
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
    numbers = _numbers(communities["community_id"].to_list(), previous)
    communities = communities.with_columns(human_readable_id=pl.Series(numbers, dtype=pl.Int32))
    members = entries.with_columns(community_id=pl.col("cluster").replace_strict(ids, return_dtype=pl.String))
    return Hierarchy(
        communities.select(pl.col(name).cast(type_) for name, type_ in COMMUNITIES.types().items()),
        members.select(COMMUNITY_MEMBERS.column_names).sort("community_id", "entity_id"),
    )


def _numbers(ids: list[str], previous: Hierarchy | None) -> list[int]:
    """Return the small number of each id: the one it had, else the smallest that is free."""
    had: dict[str, int] = {}
    if previous:
        had = dict(previous.communities.select("community_id", "human_readable_id").iter_rows())
    taken = {had[name] for name in ids if name in had}
    free = (number for number in range(len(ids) + len(taken)) if number not in taken)
    return [had[name] if name in had else next(free) for name in ids]


def _internal_edges(graph: Network, memberships: pl.DataFrame) -> pl.DataFrame:
    """Return how many edges have both ends in each ``cluster`` that has any."""
    clusters = int(memberships["cluster"].to_numpy().max(initial=0)) + 1
    counted = np.zeros(clusters, dtype=np.int64)
    for _, of_level in memberships.group_by("level"):
        cluster = np.full(len(graph.names), -1, dtype=np.int64)
        cluster[of_level["node"].to_numpy()] = of_level["cluster"].to_numpy()
        inside = (cluster[graph.low] == cluster[graph.high]) & (cluster[graph.low] >= 0)
        counted += np.bincount(cluster[graph.low[inside]], minlength=clusters)
    return pl.DataFrame({"cluster": np.arange(clusters), "internal_edges": counted})


_SAME_FROM = 0.5


def named(clusters: pl.DataFrame, previous: pl.DataFrame | None) -> dict[int, str]:
    """Return an id for every cluster.

    A cluster takes the id of the previous community that it goes on from, see :func:`matched`. Any other gets
    a hash of its level and members, and of a counter where a previous community bears that id already.

    Args:
        clusters: ``cluster``, ``level`` and ``entity_id``, the sorted list of members.
        previous: rows of ``graph.community_members`` of the clustering before, None where there is none.
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
    kept, before = matched(new, previous), set(previous["community_id"])
    return {cluster: kept.get(name) or _unused(name, before) for cluster, name in ids.items()}


def matched(new: pl.DataFrame, previous: pl.DataFrame, *, same_from: float = _SAME_FROM) -> dict[str, str]:
    """Return which new communities go on from which previous ones, one to one.

    Pairs of the same level are taken by the Jaccard overlap of their members, the largest first, as long as
    both are free; of equals the pair with more members in common, then that with the smaller ids.

    Args:
        new: ``community_id``, ``level``, ``entity_id``: a row per community and member.
        previous: the same of the clustering before.
        same_from: smallest overlap, of 0 to 1, with which a community goes on.
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
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name, before in pairs.select("community_id", "community_id_before").iter_rows():
        if name not in found and before not in taken:
            found[name] = before
            taken.add(before)
    return found


def _unused(name: str, taken: set[str]) -> str:
    free, attempt = name, 0
    while free in taken:
        attempt += 1
        free = stable_id("community", name, attempt)
    return free

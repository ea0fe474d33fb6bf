"""A hierarchy of communities as rows of its tables."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from graphrag_dagster.core.graph.matching import named
from graphrag_dagster.core.graph.network import Network
from graphrag_dagster.tables import COMMUNITIES, COMMUNITY_MEMBERS

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

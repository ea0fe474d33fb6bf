"""Hierarchical Leiden communities of the merged graph (paper §3.1.4, spec_graphrag §5)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.core.errors import GraphragError
from graphrag_dagster.core.graph.components import largest_component
from graphrag_dagster.core.ids import stable_id

Profile = Literal["default", "paper"]

_COMMUNITIES = {
    "community_id": pl.String(),
    "human_readable_id": pl.Int32(),
    "level": pl.Int32(),
    "parent_id": pl.String(),
    "is_leaf": pl.Boolean(),
    "size": pl.Int32(),
    "internal_edges": pl.Int32(),
    "summed_degree": pl.Int32(),
}
_MEMBERS = {"community_id": pl.String(), "entity_id": pl.String(), "level": pl.Int32()}


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """``communities``: a row per community; ``members``: a row per community and node, at every level."""

    communities: pl.DataFrame
    members: pl.DataFrame


@dataclass(frozen=True, slots=True)
class _Graph:
    """Undirected edges without loops or repeats, ``low < high``, sorted; numbers are places in ``names``."""

    names: pl.Series
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    weight: NDArray[np.float64]

    @property
    def degrees(self) -> NDArray[np.int64]:
        return np.bincount(np.concatenate([self.low, self.high]), minlength=len(self.names))


def hierarchical_communities(
    edges: pl.DataFrame,
    *,
    profile: Profile = "default",
    max_cluster_size: int = 10,
    seed: int = 0xDEADBEEF,
    resolution: float = 1.0,
    randomness: float = 0.001,
) -> Hierarchy:
    """Cluster a graph level by level with modularity Leiden.

    Args:
        edges: ``source``, ``target`` (node ids), ``weight`` (≥ 0). Repeats and reversed repeats are summed,
            self-loops dropped; the order of rows and of end points does not matter.
        profile: ``default`` clusters every component, ``paper`` only the largest (of equals the one with
            the smallest id). Nodes without an edge are in no community.
        max_cluster_size: a community of this size **or more** is split again, where it can be.
        seed: with the same seed, the same graph gives the same communities.
        resolution: resolution of the modularity.
        randomness: randomness of the refinement.

    Returns:
        Frames with the columns of the tables ``graph.communities`` and ``graph.community_members``. A
        community's id depends on its level and members alone; one that is not split does not reappear at a
        deeper level. Degrees count distinct neighbours in the whole graph. Small numbers go by level, then
        size descending, then id.

    Raises:
        GraphragError: a weight is negative or not a number, or an end point is null; names the edge.
    """
    _check(edges)
    graph = _simplified(edges)
    kept = _kept(graph, profile)
    if not kept.any():
        return Hierarchy(pl.DataFrame(schema=_COMMUNITIES), pl.DataFrame(schema=_MEMBERS))
    memberships = _clustered(
        graph,
        kept,
        resolution=resolution,
        randomness=randomness,
        max_cluster_size=max_cluster_size,
        seed=seed % 2**64,
    )
    return _hierarchy(graph, memberships)


def _check(edges: pl.DataFrame) -> None:
    weight = pl.col("weight")
    usable = weight.is_finite() & (weight >= 0) & pl.col("source").is_not_null()
    wrong = edges.filter((usable & pl.col("target").is_not_null()).fill_null(value=False).not_())
    if len(wrong):
        source, target, value = wrong.select("source", "target", "weight").row(0)
        raise GraphragError(
            f"{len(wrong)} edges cannot be clustered, e.g. {source!r}–{target!r} with weight {value}: "
            "weights must be numbers ≥ 0, both ends known. Negative sums come from a model's strengths; "
            "`graph.weight: count` does without them"
        )


def _simplified(edges: pl.DataFrame) -> _Graph:
    ends = pl.concat([edges["source"], edges["target"]])
    names = ends.unique().sort()
    places = (ends.rank("dense").to_numpy() - 1).astype(np.int64)
    one, other = places[: len(edges)], places[len(edges) :]
    low, high = np.minimum(one, other), np.maximum(one, other)
    weight = edges["weight"].cast(pl.Float64).to_numpy()
    # By weight too: the last bits of a sum of floats depend on the order of its parts.
    order = np.lexsort((weight, high, low))
    order = order[low[order] != high[order]]
    low, high, weight = low[order], high[order], weight[order]
    first = np.flatnonzero(np.diff(low * len(names) + high, prepend=-1))
    summed = np.add.reduceat(weight, first) if len(first) else weight
    return _Graph(names, low[first], high[first], summed)


def _kept(graph: _Graph, profile: Profile) -> NDArray[np.bool_]:
    if profile == "default" or not len(graph.low):
        return np.ones(len(graph.low), dtype=np.bool_)
    return largest_component(graph.low, graph.high, len(graph.names))[graph.low]


def _clustered(graph: _Graph, kept: NDArray[np.bool_], **options: float) -> pl.DataFrame:
    """Return ``node``, ``cluster``, ``level``, ``parent`` (cluster, null at level 0) of the native Leiden."""
    import graspologic_native

    # The native code wants text: short numbers are hashed faster than ids and come back as they went.
    labels = [str(place) for place in range(len(graph.names))]
    low, high = (ends[kept].tolist() for ends in (graph.low, graph.high))
    native = graspologic_native.hierarchical_leiden(
        [(labels[u], labels[v], w) for u, v, w in zip(low, high, graph.weight[kept].tolist(), strict=True)],
        **options,
    )
    return pl.DataFrame(
        {
            "node": [int(entry.node) for entry in native],
            "cluster": [entry.cluster for entry in native],
            "level": [entry.level for entry in native],
            "parent": [entry.parent_cluster for entry in native],
        },
        schema={"node": pl.Int64, "cluster": pl.Int64, "level": pl.Int32, "parent": pl.Int64},
    )


def _hierarchy(graph: _Graph, memberships: pl.DataFrame) -> Hierarchy:
    node = memberships["node"]
    entries = memberships.with_columns(
        entity_id=graph.names.gather(node), degree=pl.Series(graph.degrees).gather(node)
    ).sort("cluster", "node")
    clusters = (
        entries.group_by("cluster", maintain_order=True)
        .agg(pl.first("level", "parent"), pl.len().alias("size"), pl.sum("degree"), pl.col("entity_id"))
        .join(_internal_edges(graph, memberships), on="cluster", how="left", maintain_order="left")
    )
    ids = {
        cluster: stable_id("community", level, *sorted_members)
        for cluster, level, sorted_members in clusters.select("cluster", "level", "entity_id").iter_rows()
    }
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
        .with_row_index("human_readable_id")
        .select(pl.col(name).cast(type_) for name, type_ in _COMMUNITIES.items())
    )
    members = entries.with_columns(community_id=pl.col("cluster").replace_strict(ids, return_dtype=pl.String))
    return Hierarchy(communities, members.select(list(_MEMBERS)).sort("community_id", "entity_id"))


def _internal_edges(graph: _Graph, memberships: pl.DataFrame) -> pl.DataFrame:
    """Return how many edges have both ends in each ``cluster`` that has any."""
    clusters = int(memberships["cluster"].cast(pl.Int64).max() or 0) + 1  # type: ignore[arg-type]
    counted = np.zeros(clusters, dtype=np.int64)
    for _, of_level in memberships.group_by("level"):
        cluster = np.full(len(graph.names), -1, dtype=np.int64)
        cluster[of_level["node"].to_numpy()] = of_level["cluster"].to_numpy()
        inside = (cluster[graph.low] == cluster[graph.high]) & (cluster[graph.low] >= 0)
        counted += np.bincount(cluster[graph.low[inside]], minlength=clusters)
    return pl.DataFrame({"cluster": np.arange(clusters), "internal_edges": counted})

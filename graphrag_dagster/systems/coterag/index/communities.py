"""Flat communities of the main graph, and of which triples each consists."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.systems.coterag.index.triples import Places, TripleGraph
from graphrag_dagster.systems.coterag.options import Matched

#: Members from which a community is more than tiny.
LEAST_MEMBERS = 3
_OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class Communities:
    """A partition of the main graph.

    Attributes:
        communities: ``community_id``, ``number`` (0… by size descending, then id), ``size``, ``triples``
            (with both ends inside) and ``tiny``.
        members: ``community_id``, ``entity_id``, ``internal_degree`` (distinct neighbours inside).
        place: of each entity of the graph its community's number, -1 for none.
    """

    communities: pl.DataFrame
    members: pl.DataFrame
    place: Places

    def inside(self, graph: TripleGraph) -> Places:
        """Return of each triple the number of the community that holds both ends, -1 for none."""
        head, tail = self.place[graph.head], self.place[graph.tail]
        return np.where(head == tail, head, _OUTSIDE)


def leiden_communities(
    graph: TripleGraph,
    stores: pl.DataFrame,
    *,
    least: int = LEAST_MEMBERS,
    seed: int = 0xDEADBEEF,
    resolution: float = 1.0,
) -> Communities:
    """Return the communities that modularity Leiden finds: undirected, unweighted, one level, any size.

    Parallel triples count as one link.

    Args:
        graph: the triples.
        stores: of its entities, see :func:`.stores.stores`; those of the main graph are clustered.
        least: members below which a community is flagged as tiny.
        seed: the same graph and seed give the same communities.
        resolution: of the modularity.
    """
    main = (stores["store"] == "main").to_numpy()
    cluster = np.full(len(main), _OUTSIDE, dtype=np.int64)
    if main.any():
        cluster[main] = _clusters(graph, main, seed, resolution)
    return _communities(graph, cluster, least)


def communities_at(
    graph: TripleGraph, stores: pl.DataFrame, levels: pl.DataFrame, level: int, *, least: int = LEAST_MEMBERS
) -> Communities:
    """Return the communities of a level Ck of another clustering, as far as they lie in the main graph.

    They keep their ids.

    Args:
        graph: the triples.
        stores: of its entities.
        levels: rows of ``graph.community_levels``.
        level: k.
        least: members below which a community is flagged as tiny.

    Raises:
        GraphragError: the level does not exist.
    """
    of_level = levels.filter(pl.col("level") == level).select("entity_id", "community_id")
    if not len(of_level) and len(levels):
        deepest = levels.select(pl.max("level")).item()
        raise GraphragError(f"coterag.match is C{level}, but communities end at C{deepest}; choose one there")
    placed = stores.join(of_level, on="entity_id", how="left", maintain_order="left").with_columns(
        community_id=pl.when(pl.col("store") == "main").then("community_id")
    )
    cluster = (placed["community_id"].rank("dense").cast(pl.Int64) - 1).fill_null(_OUTSIDE).to_numpy()
    ids = placed["community_id"].drop_nulls().unique().sort().to_list()
    return _communities(graph, cluster.astype(np.int64), least, ids)


def clustered(
    graph: TripleGraph,
    stores: pl.DataFrame,
    levels: pl.DataFrame,
    *,
    match: Matched,
    least: int,
    seed: int,
    resolution: float,
) -> Communities:
    """Return the communities that questions are matched with.

    Args:
        graph: the triples.
        stores: of its entities.
        levels: rows of ``graph.community_levels``.
        match: ``own`` for :func:`leiden_communities`, else the level for :func:`communities_at`.
        least: members below which a community is flagged as tiny.
        seed: of the own clustering.
        resolution: of the own clustering.

    Raises:
        GraphragError: the level does not exist.
    """
    if match == "own":
        return leiden_communities(graph, stores, least=least, seed=seed, resolution=resolution)
    return communities_at(graph, stores, levels, int(match.removeprefix("C")), least=least)


def _clusters(graph: TripleGraph, main: NDArray[np.bool_], seed: int, resolution: float) -> Places:
    """Return of each entity of the main graph the number of its cluster."""
    import graspologic_native

    local = np.cumsum(main) - 1
    count = int(main.sum())
    one, other = graph.links
    inside = main[one]
    one, other = local[one[inside]], local[other[inside]]
    source, target = np.concatenate([one, other]), np.concatenate([other, one])
    order = np.lexsort((target, source))
    ends = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=count))]).astype(np.int64)
    # What has no link is left out of what comes back; it is a cluster of its own.
    cluster = count + np.arange(count, dtype=np.int64)
    if len(one):
        _, found = graspologic_native.leiden_csr(
            ends,
            target[order].astype(np.int32),
            np.ones(len(order)),
            count,
            resolution=resolution,
            seed=seed % 2**64,
        )
        cluster[np.fromiter(found.keys(), np.int64, len(found))] = np.fromiter(
            found.values(), np.int64, len(found)
        )
    return np.unique(cluster, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _communities(
    graph: TripleGraph, cluster: Places, least: int, ids: list[str] | None = None
) -> Communities:
    entity_ids = graph.entities["entity_id"]
    placed = pl.DataFrame({"entity_id": entity_ids, "cluster": cluster, "degree": _degrees(graph, cluster)})
    inside = placed.filter(pl.col("cluster") >= 0).sort("cluster", "entity_id")
    grouped = inside.group_by("cluster", maintain_order=True).agg("entity_id", pl.len().alias("size"))
    names = [
        ids[number] if ids else stable_id("coterag community", *members)
        for number, members in grouped.select("cluster", "entity_id").iter_rows()
    ]
    head, tail = cluster[graph.head], cluster[graph.tail]
    held = np.bincount(head[(head == tail) & (head >= 0)], minlength=len(names))
    found = (
        grouped.select(
            "cluster",
            pl.Series("community_id", names, dtype=pl.String),
            pl.col("size").cast(pl.Int64),
            triples=pl.Series(held, dtype=pl.Int64),
            tiny=pl.col("size") < least,
        )
        .sort("size", "community_id", descending=[True, False])
        .with_row_index("number")
        .with_columns(pl.col("number").cast(pl.Int64))
    )
    number = np.full(len(names) + 1, _OUTSIDE, dtype=np.int64)
    number[found["cluster"].to_numpy()] = found["number"].to_numpy()
    members = (
        inside.join(found.select("cluster", "community_id"), on="cluster")
        .select("community_id", "entity_id", internal_degree=pl.col("degree"))
        .sort("community_id", "entity_id")
    )
    # The last place of the numbers is that of what is in no cluster.
    return Communities(
        found.select("community_id", "number", "size", "triples", "tiny"), members, number[cluster]
    )


def _degrees(graph: TripleGraph, cluster: Places) -> Places:
    one, other = graph.links
    inside = (cluster[one] == cluster[other]) & (cluster[one] >= 0)
    ends = np.concatenate([one[inside], other[inside]])
    return np.bincount(ends, minlength=len(cluster)).astype(np.int64)

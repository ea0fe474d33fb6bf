"""The directed graph of triples, and its flat communities."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.undirected_graph import connected_components

Places = NDArray[np.int64]

_ENTITY_COLUMNS = ("entity_id", "name", "title", "type", "text_unit_ids")


@dataclass(frozen=True, slots=True)
class TripleGraph:
    """Entities and the triples between them.

    Attributes:
        entities: ``entity_id``, ``name``, ``title``, ``type``, ``text_unit_ids``, sorted by name; an entity's
            place is its row.
        triples: ``head``, ``relation``, ``tail``, ``text_unit_ids``, sorted by the first three, without
            loops, each triple once.
        head: the place of each triple's head.
        tail: the place of each triple's tail.
    """

    entities: pl.DataFrame
    triples: pl.DataFrame
    head: Places
    tail: Places

    @property
    def links(self) -> tuple[Places, Places]:
        """Distinct pairs of linked entities, the smaller place first, sorted."""
        low, high = np.minimum(self.head, self.tail), np.maximum(self.head, self.tail)
        count = max(len(self.entities), 1)
        pairs = np.unique(low * count + high)
        return pairs // count, pairs % count


def triple_graph(entities: pl.DataFrame, triples: pl.DataFrame) -> TripleGraph:
    """Return the graph of triples.

    Args:
        entities: rows of ``graph.entities``.
        triples: ``head``, ``relation``, ``tail`` (heads and tails are names of entities) and
            ``text_unit_ids``.

    Raises:
        GraphragError: two entities have one name, so that a triple cannot be told to be of one of them.
    """
    known = entities.select(_ENTITY_COLUMNS).sort("name").with_row_index("place")
    if known["name"].is_duplicated().any():
        name = known.filter(pl.col("name").is_duplicated())["name"][0]
        raise GraphragError(
            f"two entities are named {name!r}: triples name entities, so names must be distinct; "
            "materialise the entities again"
        )
    ends = known.select("name", pl.col("place").cast(pl.Int64))
    merged = (
        triples.select("head", "relation", "tail", "text_unit_ids")
        .group_by("head", "relation", "tail")
        .agg(pl.col("text_unit_ids").list.explode().unique().sort())
        if triples.select("head", "relation", "tail").is_duplicated().any()
        else triples.select("head", "relation", "tail", "text_unit_ids")
    )
    placed = (
        merged.join(ends.rename({"name": "head", "place": "head_place"}), on="head")
        .join(ends.rename({"name": "tail", "place": "tail_place"}), on="tail")
        # Places are in the order of the names, and numbers are sorted faster.
        .sort("head_place", "relation", "tail_place")
    )
    kept = placed.filter(pl.col("head_place") != pl.col("tail_place"))
    return TripleGraph(
        entities=known.drop("place"),
        triples=kept.drop("head_place", "tail_place"),
        head=kept["head_place"].to_numpy(),
        tail=kept["tail_place"].to_numpy(),
    )


def entity_chunks(graph: TripleGraph) -> pl.DataFrame:
    """Return ``entity_id``, ``text_unit_id``: the text units of an entity's mentions and of its triples."""
    ids = graph.entities["entity_id"]
    units = graph.triples["text_unit_ids"]
    frames = [graph.entities.select("entity_id", "text_unit_ids")]
    frames += [
        pl.DataFrame({"entity_id": ids.gather(places), "text_unit_ids": units})
        for places in (graph.head, graph.tail)
    ]
    return (
        pl.concat(frames)
        .explode("text_unit_ids")
        .rename({"text_unit_ids": "text_unit_id"})
        .drop_nulls()
        .unique()
        .sort("entity_id", "text_unit_id")
    )


#: Nodes from which a weakly connected component is of the main graph.
KEPT_COMPONENT = 5


def stores(graph: TripleGraph, at_least: int = KEPT_COMPONENT) -> pl.DataFrame:
    """Return for every entity, in the order of the graph, which store it is in.

    Args:
        graph: whose triples connect entities, in whichever direction.
        at_least: entities from which a component is of the main graph.

    Returns:
        ``entity_id``, ``store`` (``main`` or ``preserved``), ``component`` (0… by size descending, then by
        its first entity) and ``component_size``.
    """
    root = connected_components(graph.head, graph.tail, len(graph.entities))
    size = np.bincount(root, minlength=len(root))[root]
    main = size >= at_least
    return pl.DataFrame(
        {
            "entity_id": graph.entities["entity_id"],
            "store": np.where(main, "main", "preserved"),
            "component": _number_nodes(root, size),
            "component_size": size,
        },
        schema={
            "entity_id": pl.String,
            "store": pl.String,
            "component": pl.Int64,
            "component_size": pl.Int64,
        },
    )


def _number_nodes(root: Places, size: Places) -> Places:
    roots, first, inverse = np.unique(root, return_index=True, return_inverse=True)
    order = np.lexsort((roots, -size[first]))
    number = np.empty(len(roots), dtype=np.int64)
    number[order] = np.arange(len(roots))
    return number[inverse.reshape(-1)]


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

    def triples_inside(self, graph: TripleGraph) -> Places:
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

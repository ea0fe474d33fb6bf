"""The directed graph of triples, with entities as numbers."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.network import connected_components

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
        unknown: triples left out because an end is no entity.
        loops: triples left out because both ends are one.
    """

    entities: pl.DataFrame
    triples: pl.DataFrame
    head: Places
    tail: Places
    unknown: int
    loops: int

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
        unknown=len(merged) - len(placed),
        loops=len(placed) - len(kept),
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
            "component": _numbered(root, size),
            "component_size": size,
        },
        schema={
            "entity_id": pl.String,
            "store": pl.String,
            "component": pl.Int64,
            "component_size": pl.Int64,
        },
    )


def _numbered(root: Places, size: Places) -> Places:
    roots, first, inverse = np.unique(root, return_index=True, return_inverse=True)
    order = np.lexsort((roots, -size[first]))
    number = np.empty(len(roots), dtype=np.int64)
    number[order] = np.arange(len(roots))
    return number[inverse.reshape(-1)]

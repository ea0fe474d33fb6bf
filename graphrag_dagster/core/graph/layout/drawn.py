"""The graph as it is laid out: numbered entities, edges between them, and the groups in which they lie."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.core.graph.components import connected_components
from graphrag_dagster.core.graph.layout.bodies import Bodies, Floats, Places, bodies_of
from graphrag_dagster.core.graph.network import network_of
from graphrag_dagster.errors import GraphragError


@dataclass(frozen=True, slots=True)
class Drawn:
    """A graph to be laid out.

    Attributes:
        ids: of the entities, sorted.
        source: one end of each edge, as a place in ``ids``, shape [edges].
        target: the other end.
        weight: of each edge, at least 0.
        groups: from the outermost on the community of each entity, numbered 0…, leaves projected downwards,
            shape [entities]; those in none are with what they are linked to.
        linked: which entities have an edge or a community, shape [entities].
    """

    ids: pl.Series
    source: Places
    target: Places
    weight: Floats
    groups: Sequence[Places]
    linked: NDArray[np.bool_]


def drawn(entities: pl.DataFrame, relationships: pl.DataFrame, members: pl.DataFrame) -> Drawn:
    """Return the graph of the tables; the order of their rows does not matter.

    Args:
        entities: entity_id.
        relationships: source_id, target_id, weight.
        members: rows of ``graph.community_members``.

    Raises:
        GraphragError: an end of a relationship is no entity, or a weight is no number of at least 0.
    """
    ids = entities["entity_id"].sort()
    graph = network_of(relationships)
    known = _numbers(graph.names, ids)
    source, target = known[graph.low], known[graph.high]
    linked = np.zeros(len(ids), dtype=np.bool_)
    linked[source] = linked[target] = True
    found = _communities(ids, members)
    if found:
        linked |= found[0] >= 0
    groups = _with_others(found, source, target, len(ids))
    return Drawn(ids, source, target, graph.weight, groups, linked)


def bodies(graph: Drawn) -> Bodies:
    """Return the linked entities as points, in their order."""
    number = np.cumsum(graph.linked) - 1
    groups = [_dense(group[graph.linked]) for group in graph.groups]
    return bodies_of(number[graph.source], number[graph.target], graph.weight, groups)


def _numbers(names: pl.Series, ids: pl.Series) -> Places:
    places = pl.DataFrame({"entity_id": ids}).with_row_index("place")
    found = pl.DataFrame({"entity_id": names}).join(places, on="entity_id", how="left", maintain_order="left")
    strays = found.filter(pl.col("place").is_null())
    if len(strays):
        raise GraphragError(
            f"{len(strays)} ends of relationships are not among the entities, e.g. {strays.item(0, 0)}: the "
            "two tables come from different runs; materialise the relationships again"
        )
    return found["place"].to_numpy().astype(np.int64)


def _communities(ids: pl.Series, members: pl.DataFrame) -> list[Places]:
    """Return for each level the number of each entity's community, or of the leaf above; -1 for none."""
    rows = members.with_columns(number=pl.col("community_id").rank("dense"))
    of_level: list[Places] = []
    for level in sorted(members["level"].unique()):
        found = pl.DataFrame({"entity_id": ids}).join(
            rows.filter(pl.col("level") == level).select("entity_id", "number"),
            on="entity_id",
            how="left",
            maintain_order="left",
        )
        at_level = found["number"].cast(pl.Int64).fill_null(-1).to_numpy()
        above = of_level[-1] if of_level else np.full(len(ids), -1, dtype=np.int64)
        of_level.append(np.where(at_level >= 0, at_level, above))
    return of_level


def _with_others(found: Sequence[Places], source: Places, target: Places, nodes: int) -> list[Places]:
    """Return numbered groups of all entities, without levels that are as the one before."""
    outermost = found[0] if found else np.full(nodes, -1, dtype=np.int64)
    without = (outermost[source] < 0) & (outermost[target] < 0)
    component = connected_components(source[without], target[without], nodes)
    groups: list[Places] = []
    for level in found or [outermost]:
        group = _dense(np.where(outermost < 0, component, _smallest(level + 1)))
        if not groups or group.max(initial=0) > groups[-1].max(initial=0):
            groups.append(group)
    return groups


def _smallest(group: Places) -> Places:
    """Return the smallest entity of each entity's group: ids of communities decide nothing."""
    smallest = np.full(int(group.max(initial=0)) + 1, len(group), dtype=np.int64)
    np.minimum.at(smallest, group, np.arange(len(group)))
    return smallest[group]


def _dense(group: Places) -> Places:
    return np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)

"""Layout of a changing graph: reused, warm-started from the previous positions, or cold.

As with the communities, a cold start is a function of the graph alone, a warm one also of the previous
positions. The drift of warm starts is bounded by the spread of the communities.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.undirected_graph import connected_components, network_of
from graphrag_dagster.kernel.tables.core_tables import LAYOUT
from graphrag_dagster.systems.graphrag.index.community_detection import Begun, Start
from graphrag_dagster.systems.graphrag.index.force_layout import inside_their_groups, layout_cold, layout_warm
from graphrag_dagster.systems.graphrag.index.layout_bodies import (
    Bodies,
    Floats,
    Places,
    bodies_of,
    push_apart,
    separate_coincident,
    spiral,
    sum_by_index,
)
from graphrag_dagster.systems.graphrag.tables import LAYOUT_STATE


@dataclass(frozen=True, slots=True)
class LayoutGraph:
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


def layout_graph(entities: pl.DataFrame, relationships: pl.DataFrame, members: pl.DataFrame) -> LayoutGraph:
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
    return LayoutGraph(ids, source, target, graph.weight, groups, linked)


def bodies_of_graph(graph: LayoutGraph) -> Bodies:
    """Return the linked entities as points, in their order."""
    number = np.cumsum(graph.linked) - 1
    groups = [_dense_numbers(group[graph.linked]) for group in graph.groups]
    return bodies_of(number[graph.source], number[graph.target], graph.weight, groups)


def _numbers(names: pl.Series, ids: pl.Series) -> Places:
    places = pl.DataFrame({"entity_id": ids}).with_row_index("place")
    found = pl.DataFrame({"entity_id": names}).join(places, on="entity_id", how="left", maintain_order="left")
    strays = found.filter(pl.col("place").is_null())
    if len(strays):
        raise GraphragError(
            f"{len(strays)} ends of relationships are not among the entities, for example "
            f"{strays.item(0, 0)}: the two tables come from different runs; materialise the "
            "relationships again"
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
        group = _dense_numbers(np.where(outermost < 0, component, _smallest_of_group(level + 1)))
        if not groups or group.max(initial=0) > groups[-1].max(initial=0):
            groups.append(group)
    return groups


def _smallest_of_group(group: Places) -> Places:
    """Return the smallest entity of each entity's group: ids of communities decide nothing."""
    smallest = np.full(int(group.max(initial=0)) + 1, len(group), dtype=np.int64)
    np.minimum.at(smallest, group, np.arange(len(group)))
    return smallest[group]


def _dense_numbers(group: Places) -> Places:
    return np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)


#: How much wider communities may be spread after a warm start than after the last cold one.
_WIDEST = 2.0
#: Share of the linked entities that must have been there for a warm start.
_MOST_KNOWN = 0.5


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """Positions and what the next ones need to know of them.

    Attributes:
        places: rows of ``graph.layout``.
        state: the row of ``graph.layout_state``.
    """

    places: pl.DataFrame
    state: pl.DataFrame


def arrange(
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    members: pl.DataFrame,
    previous: GraphLayout | None,
    *,
    start: Start = "warm",
    code: str = "",
) -> tuple[GraphLayout, Begun]:
    """Lay a graph out, at need from nothing, otherwise from the positions before.

    Nothing is computed where entities, edges, weights, communities and code are those of the layout before.
    From nothing begins: the first layout; one with other code; one in which most linked entities are new, or
    were elsewhere than the others of their communities; and one whose communities would be spread more than
    twice as wide as after the last cold start.

    Args:
        entities: entity_id.
        relationships: source_id, target_id, weight.
        members: rows of ``graph.community_members``.
        previous: the layout before, None for the first.
        start: ``cold`` always begins from nothing.
        code: version of the code that lays out.

    Raises:
        GraphragError: an end of a relationship is no entity, or a weight is no number of at least 0.
    """
    graph = layout_graph(entities, relationships, members)
    if previous is None or previous.state.item(0, "layout_hash") != _hash(previous.places):
        return _arrange_cold(graph, code), Begun(
            "cold", "first layout" if previous is None else "inconsistent tables"
        )
    if start == "cold":
        return _arrange_cold(graph, code), Begun("cold", "asked for")
    if previous.state.item(0, "code") != code:
        return _arrange_cold(graph, code), Begun("cold", "other code")
    if previous.state.item(0, "graph_hash") == _graph_hash(graph):
        return previous, Begun("kept", "nothing changed")
    return _arrange_warm(graph, previous, code)


def previous_layout(places: pl.DataFrame | None, state: pl.DataFrame | None) -> GraphLayout | None:
    """Return the layout that its two tables hold, None where there is none."""
    return None if places is None or state is None or not len(state) else GraphLayout(places, state)


def _arrange_cold(graph: LayoutGraph, code: str) -> GraphLayout:
    points = bodies_of_graph(graph)
    inner = push_apart(layout_cold(points))
    unknown = np.full((int((~graph.linked).sum()), 2), np.nan)
    spread = _spread(inner, points)
    return _layout_record(graph, inner, unknown, ("cold", spread, spread, code))


def _arrange_warm(graph: LayoutGraph, previous: GraphLayout, code: str) -> tuple[GraphLayout, Begun]:
    before, was_linked = _previous_positions(graph, previous)
    inside, outside = before[graph.linked], before[~graph.linked]
    inside[~was_linked[graph.linked]] = np.nan
    outside[was_linked[~graph.linked]] = np.nan
    points = bodies_of_graph(graph)
    inside[~inside_their_groups(points, inside)] = np.nan
    known = int(np.isfinite(inside[:, 0]).sum())
    if known < _MOST_KNOWN * len(inside):
        why = f"{known} of {len(inside)} linked entities were there, in their communities"
        return _arrange_cold(graph, code), Begun("cold", why)
    inner = push_apart(layout_warm(points, inside))
    spread, cold_spread = _spread(inner, points), float(previous.state.item(0, "cold_spread"))
    if spread > _WIDEST * cold_spread:
        why = f"a warm start spreads communities {spread:.2f} wide, the last cold one {cold_spread:.2f}"
        return _arrange_cold(graph, code), Begun("cold", why)
    made = _layout_record(graph, inner, outside, ("warm", spread, cold_spread, code))
    return made, Begun("warm", f"{known} of {len(inside)} linked entities stay")


def _previous_positions(graph: LayoutGraph, previous: GraphLayout) -> tuple[Floats, NDArray[np.bool_]]:
    """Return where each entity was, NaN for new ones, and whether it was among the linked ones."""
    rows = pl.DataFrame({"entity_id": graph.ids}).join(
        previous.places, on="entity_id", how="left", maintain_order="left"
    )
    before = rows.select(pl.col("x", "y").fill_null(float("nan"))).to_numpy().copy()
    radius = float(previous.state.item(0, "radius"))
    return before, np.sqrt((before**2).sum(axis=1)) <= radius


def _layout_record(
    graph: LayoutGraph, inner: Floats, outside: Floats, told: tuple[Start, float, float, str]
) -> GraphLayout:
    places = np.empty((len(graph.ids), 2))
    places[graph.linked] = inner
    places[~graph.linked] = circle_around(_radius(inner), outside)
    places = separate_coincident(places)
    rows = pl.DataFrame({"entity_id": graph.ids, "x": places[:, 0], "y": places[:, 1]})
    start, spread, cold_spread, code = told
    state = {
        "layout": "entities",
        "start": start,
        "radius": _radius(places[graph.linked]),
        "spread": spread,
        "cold_spread": cold_spread,
        "code": code,
        "graph_hash": _graph_hash(graph),
        "layout_hash": _hash(rows),
    }
    return GraphLayout(rows, LAYOUT_STATE.rows([state]))


def _radius(places: Floats) -> float:
    return float(np.sqrt((places**2).sum(axis=1).max(initial=0.0)))


def _spread(places: Floats, points: Bodies) -> float:
    """Return the mean distance from the centre of the innermost group, in radii of a disc of density 1."""
    group = points.groups[-1]
    count = np.bincount(group)
    centres = sum_by_index(group, places, len(count)) / count[:, None]
    away = np.sqrt(((places - centres[group]) ** 2).sum(axis=1))
    several = count[group] > 1
    radii = np.sqrt(np.bincount(group, points.mass) / np.pi)[group]
    return round(float((away[several] / radii[several]).mean()), 6) if several.any() else 0.0


def _graph_hash(graph: LayoutGraph) -> str:
    edges = pl.DataFrame({"source": graph.source, "target": graph.target, "weight": graph.weight})
    groups = pl.DataFrame({f"level_{level}": group for level, group in enumerate(graph.groups)})
    return stable_id(graph.ids.to_frame().write_csv(), edges.write_csv(), groups.write_csv())


def _hash(places: pl.DataFrame) -> str:
    return stable_id(places.select(LAYOUT.column_names).sort("entity_id").write_csv())


#: Around what is linked stays free: at first, and at least once it has grown.
_GAP, _LEAST_GAP = 1.1, 1.03
_AREA = 2.0


def circle_around(radius: float, before: Floats) -> Floats:
    """Return places outside a circle, shape [points, 2].

    Args:
        radius: of the circle.
        before: where each point was, NaN for those that were not there, shape [points, 2].
    """
    distance = np.sqrt((before**2).sum(axis=1))
    known = np.isfinite(distance)
    inner = float(distance[known].min()) if known.any() else np.inf
    places = before * max(1.0, _LEAST_GAP * radius / max(inner, 1e-9))
    outer = float(np.sqrt((places[known] ** 2).sum(axis=1).max())) if known.any() else _GAP * radius
    new = np.arange(int((~known).sum()))
    area = np.pi * outer**2 + _AREA * (new + 1)
    places[~known] = spiral(new + int(known.sum()), area.astype(np.float64))
    return places

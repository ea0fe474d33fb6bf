"""Positions of a graph that changes: kept, begun from those before, or made from nothing.

As with the communities, a cold start is a function of the graph alone, a warm one also of the positions
before. How far warm starts may lead away is bounded by how wide the communities are spread.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.core.graph.clustering import Begun, Start
from graphrag_dagster.core.graph.layout.apart import moved_apart, told_apart
from graphrag_dagster.core.graph.layout.bodies import Bodies, Floats, summed
from graphrag_dagster.core.graph.layout.cold import from_nothing
from graphrag_dagster.core.graph.layout.drawn import Drawn, bodies, drawn
from graphrag_dagster.core.graph.layout.outside import around
from graphrag_dagster.core.graph.layout.warm import from_before, in_their_groups
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.tables import LAYOUT, LAYOUT_STATE

#: How much wider communities may be spread after a warm start than after the last cold one.
_WIDEST = 2.0
#: Share of the linked entities that must have been there for a warm start.
_MOST_KNOWN = 0.5


@dataclass(frozen=True, slots=True)
class Layout:
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
    previous: Layout | None,
    *,
    start: Start = "warm",
    code: str = "",
) -> tuple[Layout, Begun]:
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
    graph = drawn(entities, relationships, members)
    if previous is None or previous.state.item(0, "layout_hash") != _hash(previous.places):
        return _cold(graph, code), Begun("cold", "first layout" if previous is None else "torn tables")
    if start == "cold":
        return _cold(graph, code), Begun("cold", "asked for")
    if previous.state.item(0, "code") != code:
        return _cold(graph, code), Begun("cold", "other code")
    if previous.state.item(0, "graph_hash") == _graph_hash(graph):
        return previous, Begun("kept", "nothing changed")
    return _warm(graph, previous, code)


def previous_layout(places: pl.DataFrame | None, state: pl.DataFrame | None) -> Layout | None:
    """Return the layout that its two tables hold, None where there is none."""
    return None if places is None or state is None or not len(state) else Layout(places, state)


def _cold(graph: Drawn, code: str) -> Layout:
    points = bodies(graph)
    inner = moved_apart(from_nothing(points))
    unknown = np.full((int((~graph.linked).sum()), 2), np.nan)
    spread = _spread(inner, points)
    return _made(graph, inner, unknown, ("cold", spread, spread, code))


def _warm(graph: Drawn, previous: Layout, code: str) -> tuple[Layout, Begun]:
    before, was_linked = _before(graph, previous)
    inside, outside = before[graph.linked], before[~graph.linked]
    inside[~was_linked[graph.linked]] = np.nan
    outside[was_linked[~graph.linked]] = np.nan
    points = bodies(graph)
    inside[~in_their_groups(points, inside)] = np.nan
    known = int(np.isfinite(inside[:, 0]).sum())
    if known < _MOST_KNOWN * len(inside):
        why = f"{known} of {len(inside)} linked entities were there, in their communities"
        return _cold(graph, code), Begun("cold", why)
    inner = moved_apart(from_before(points, inside))
    spread, cold_spread = _spread(inner, points), float(previous.state.item(0, "cold_spread"))
    if spread > _WIDEST * cold_spread:
        why = f"a warm start spreads communities {spread:.2f} wide, the last cold one {cold_spread:.2f}"
        return _cold(graph, code), Begun("cold", why)
    made = _made(graph, inner, outside, ("warm", spread, cold_spread, code))
    return made, Begun("warm", f"{known} of {len(inside)} linked entities stay")


def _before(graph: Drawn, previous: Layout) -> tuple[Floats, NDArray[np.bool_]]:
    """Return where each entity was, NaN for new ones, and whether it was among the linked ones."""
    rows = pl.DataFrame({"entity_id": graph.ids}).join(
        previous.places, on="entity_id", how="left", maintain_order="left"
    )
    before = rows.select(pl.col("x", "y").fill_null(float("nan"))).to_numpy().copy()
    radius = float(previous.state.item(0, "radius"))
    return before, np.sqrt((before**2).sum(axis=1)) <= radius


def _made(graph: Drawn, inner: Floats, outside: Floats, told: tuple[Start, float, float, str]) -> Layout:
    places = np.empty((len(graph.ids), 2))
    places[graph.linked] = inner
    places[~graph.linked] = around(_radius(inner), outside)
    places = told_apart(places)
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
    return Layout(rows, LAYOUT_STATE.rows([state]))


def _radius(places: Floats) -> float:
    return float(np.sqrt((places**2).sum(axis=1).max(initial=0.0)))


def _spread(places: Floats, points: Bodies) -> float:
    """Return the mean distance from the centre of the innermost group, in radii of a disc of density 1."""
    group = points.groups[-1]
    count = np.bincount(group)
    centres = summed(group, places, len(count)) / count[:, None]
    away = np.sqrt(((places - centres[group]) ** 2).sum(axis=1))
    several = count[group] > 1
    radii = np.sqrt(np.bincount(group, points.mass) / np.pi)[group]
    return round(float((away[several] / radii[several]).mean()), 6) if several.any() else 0.0


def _graph_hash(graph: Drawn) -> str:
    edges = pl.DataFrame({"source": graph.source, "target": graph.target, "weight": graph.weight})
    groups = pl.DataFrame({f"level_{level}": group for level, group in enumerate(graph.groups)})
    return stable_id(graph.ids.to_frame().write_csv(), edges.write_csv(), groups.write_csv())


def _hash(places: pl.DataFrame) -> str:
    return stable_id(places.select(LAYOUT.column_names).sort("entity_id").write_csv())

"""The graph with its communities at two levels (paper Figure 4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.apps.evaluation.figures.figure_style import Figure, panels, render_figure, sentences
from graphrag_dagster.kernel.graph.undirected_graph import largest_component
from graphrag_dagster.systems.graphrag.index.force_layout import layout_cold
from graphrag_dagster.systems.graphrag.index.layout_bodies import Floats, Places, bodies_of, push_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: Red, green, blue between 0 and 1, shape [n, 3].
Colours = NDArray[np.float64]
Indices = NDArray[np.int64]

#: The "muted" scheme of Paul Tol, told apart by all kinds of sight, without its palest.
_PALETTE = ("#332288", "#cc6677", "#44aa99", "#ddaa33", "#882255", "#66aadd", "#117733", "#aa4499", "#999933")
_DARKEST, _LIGHTEST = -0.42, 0.55


def parent_colours(groups: Indices, source: Indices, target: Indices) -> Colours:
    """Return a colour per community, shape [communities, 3], alike only where few edges run between them.

    One community after the other gets the colour to whose holders it has the fewest edges, of equals the
    one with the fewest holders.

    Args:
        groups: community of each node, numbered 0…
        source: one end of each edge.
        target: the other end.
    """
    from matplotlib.colors import to_rgb

    palette = np.array([to_rgb(code) for code in _PALETTE])
    count = int(groups.max()) + 1
    ends = np.sort(np.stack([groups[source], groups[target]]), axis=0)
    pairs, edges = np.unique(ends[:, ends[0] != ends[1]], axis=1, return_counts=True)
    shared = np.zeros((count, len(palette)))
    uses = np.zeros(len(palette))
    chosen = np.zeros(count, dtype=np.int64)
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for (one, other), number in zip(pairs.T.tolist(), edges.tolist(), strict=True):
        neighbours[one].append((other, number))
        neighbours[other].append((one, number))
    for group in range(count):
        best = int(np.lexsort((np.arange(len(palette)), uses, shared[group]))[0])
        chosen[group] = best
        uses[best] += 1
        for other, number in neighbours[group]:
            shared[other, best] += number
    return palette[chosen]


def shades(parents: Colours, roots: Indices, children: Indices) -> Colours:
    """Return the colour of each node by its child community: between dark and light of the parent's colour.

    An only child has the parent's colour.

    Args:
        parents: colour of each parent community.
        roots: parent community of each node.
        children: child community of each node, each inside one parent.
    """
    shaded = np.empty((int(children.max()) + 1, 3))
    _, first = np.unique(children, return_index=True)
    of_parent = roots[first]
    for parent in range(len(parents)):
        own = np.flatnonzero(of_parent == parent)
        mixes = np.linspace(_DARKEST, _LIGHTEST, len(own)) if len(own) > 1 else np.zeros(len(own))
        # Every other one first: communities next in size are rarely next in shade.
        order = np.concatenate([np.arange(0, len(own), 2), np.arange(1, len(own), 2)])
        shaded[own[order]] = _mix_colours(parents[parent], mixes)
    return shaded[children]


def _mix_colours(colour: Colours, mixes: NDArray[np.float64]) -> Colours:
    """Return the colour with black (below 0) or white (above 0), shape [mixes, 3]."""
    towards = (mixes > 0).astype(np.float64)[:, None]
    share = np.abs(mixes)[:, None]
    mixed: Colours = colour * (1 - share) + towards * share
    return mixed


MOST_NODES = 2000
_HEIGHT = 3.9
_LEVELS = (0, 1)
#: Square points of circles; a panel has 60,000.
_SMALLEST, _LARGEST, _ALL_CIRCLES = 3.0, 60.0, 6000.0


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """The part of the graph that is drawn.

    ``degree`` is that of the whole graph, shape [nodes]; ``source``, ``target``, ``weight`` are the edges
    among the drawn nodes; ``communities`` holds for each level the community of each node, numbered 0… from
    the one with most drawn nodes; ``component`` and ``all_nodes`` count the largest component and the graph.
    """

    degree: Floats
    source: Places
    target: Places
    weight: Floats
    communities: tuple[Places, ...]
    component: int
    all_nodes: int


def community_maps(
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    community_levels: pl.DataFrame,
    *,
    most_nodes: int = MOST_NODES,
) -> Figure | None:
    """Draw the largest component twice with the same coordinates, coloured by C0 and by C1.

    Of a larger component the nodes with the highest degrees are drawn, as far as they hang together.

    Args:
        entities: entity_id, degree.
        relationships: source_id, target_id, weight.
        community_levels: level, entity_id, community_id; an entity without a community is not drawn.
        most_nodes: how many nodes to draw.

    Returns:
        None where no two clustered entities are linked.
    """
    graph = _drawn_graph(entities, relationships, community_levels, most_nodes)
    if graph is None:
        return None
    bodies = bodies_of(graph.source, graph.target, graph.weight, graph.communities)
    places = push_apart(layout_cold(bodies))
    roots, children = graph.communities
    parents = parent_colours(roots, graph.source, graph.target)
    colours = (parents[roots], shades(parents, roots, children))
    counts = [int(level.max()) + 1 for level in graph.communities]
    nodes, edges = len(graph.degree), len(graph.source)
    return render_figure(
        lambda drawing: _draw(drawing, graph, places, colours, counts),
        height=_HEIGHT,
        name="graph",
        title="The graph and its communities",
        caption=_caption(graph, nodes, edges),
        alt=f"Two drawings of the same graph of {nodes:,} nodes and {edges:,} edges: coloured by "
        f"{counts[0]:,} communities of level 0, and by {counts[1]:,} communities of level 1.",
    )


def _drawn_graph(
    entities: pl.DataFrame, relationships: pl.DataFrame, community_levels: pl.DataFrame, most_nodes: int
) -> DrawnGraph | None:
    nodes = entities.select("entity_id", "degree")
    for level in _LEVELS:
        of_level = community_levels.filter(pl.col("level") == level)
        nodes = nodes.join(
            of_level.select("entity_id", pl.col("community_id").alias(f"c{level}")), "entity_id"
        )
    edges = relationships.select("source_id", "target_id", "weight").filter(
        pl.col("source_id") != pl.col("target_id")
    )
    nodes, _ = _largest_component(nodes.sort(pl.col("degree"), "entity_id", descending=[True, False]), edges)
    component = nodes.height
    nodes, edges = _largest_component(nodes.head(most_nodes), edges)
    if edges.is_empty():
        return None
    return DrawnGraph(
        degree=nodes["degree"].to_numpy().astype(np.float64),
        source=edges["source"].to_numpy(),
        target=edges["target"].to_numpy(),
        weight=edges["weight"].to_numpy().astype(np.float64),
        communities=tuple(_number_communities(nodes, f"c{level}") for level in _LEVELS),
        component=component,
        all_nodes=entities.height,
    )


def _largest_component(nodes: pl.DataFrame, edges: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the largest component in the order of the nodes, and its edges as places in it."""
    placed = _edges_by_place(nodes, edges)
    if placed.is_empty():
        return nodes.clear(), placed
    inside = largest_component(placed["source"].to_numpy(), placed["target"].to_numpy(), nodes.height)
    kept = nodes.filter(pl.Series(inside))
    return kept, _edges_by_place(kept, edges)


def _edges_by_place(nodes: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Return source and target as places among the nodes, and weight, sorted; other edges are left out."""
    places = nodes.select("entity_id", place=pl.int_range(pl.len(), dtype=pl.Int64))
    return (
        edges.join(places.rename({"entity_id": "source_id", "place": "source"}), "source_id")
        .join(places.rename({"entity_id": "target_id", "place": "target"}), "target_id")
        .select(
            pl.min_horizontal("source", "target").alias("source"),
            pl.max_horizontal("source", "target").alias("target"),
            "weight",
        )
        .sort("source", "target", "weight")
    )


def _number_communities(nodes: pl.DataFrame, column: str) -> Places:
    """Return the community of each node as a number from the largest on, of equals the first seen."""
    first = (
        nodes.group_by(column, maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    )
    numbers = first.select(column, number=pl.int_range(pl.len(), dtype=pl.Int64))
    joined: Places = nodes.join(numbers, column, maintain_order="left")["number"].to_numpy()
    return joined


def _caption(graph: DrawnGraph, nodes: int, edges: int) -> str:
    which = (
        f"The {nodes:,} best linked of the {graph.component:,} entities"
        if nodes < graph.component
        else f"The {nodes:,} entities"
    )
    return sentences(
        f"{which} of the largest component ({graph.all_nodes:,} entities in all) and their {edges:,} "
        "relationships, in a force-directed layout as in ForceAtlas2.",
        "Circles grow with the degree. Colours are communities, at level 1 shades of their community of "
        "level 0; distant communities may share a colour.",
    )


def _draw(
    drawing: "Drawing",
    graph: DrawnGraph,
    places: Floats,
    colours: Sequence[Colours],
    counts: Sequence[int],
) -> None:
    axes = panels(drawing, len(_LEVELS), len(_LEVELS))
    for axis, level, colour, count in zip(axes, _LEVELS, colours, counts, strict=True):
        _panel(axis, graph, places, colour)
        communities = "community" if count == 1 else "communities"
        axis.set_title(f"Level {level}: {count:,} {communities}", loc="center", fontsize=9, pad=4)


def _panel(axis: "Axes", graph: DrawnGraph, places: Floats, colours: Colours) -> None:
    from matplotlib.collections import LineCollection

    lines = np.stack([places[graph.source], places[graph.target]], axis=1)
    # An edge has the colour of the end that stands for more.
    edge_colours = colours[
        np.where(graph.degree[graph.source] >= graph.degree[graph.target], graph.source, graph.target)
    ]
    edges = LineCollection(list(lines), colors=edge_colours, alpha=0.1, linewidths=0.7, rasterized=True)
    axis.add_collection(edges, autolim=False)
    share = graph.degree / graph.degree.max()
    areas = _SMALLEST + share * min(_LARGEST, _ALL_CIRCLES / float(share.sum()))
    order = np.argsort(-areas, kind="stable")
    axis.scatter(
        places[order, 0],
        places[order, 1],
        s=areas[order],
        c=colours[order],
        edgecolors="white",
        linewidths=0.25,
        rasterized=True,
        zorder=2,
    )
    low, high = places.min(axis=0), places.max(axis=0)
    middle, reach = (low + high) / 2, float((high - low).max()) / 2 * 1.04
    axis.set(
        xlim=(middle[0] - reach, middle[0] + reach),
        ylim=(middle[1] - reach, middle[1] + reach),
        aspect="equal",
    )
    axis.set_axis_off()

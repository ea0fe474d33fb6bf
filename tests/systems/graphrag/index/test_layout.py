"""Positions of entities: deterministic, apart, and kept where they were when a graph grows."""

import random
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.index.community_detection import cluster
from graphrag_dagster.systems.graphrag.index.force_layout import Repulsion, layout_cold
from graphrag_dagster.systems.graphrag.index.graph_layout import GraphLayout, arrange, previous_layout
from graphrag_dagster.systems.graphrag.index.layout_bodies import (
    _near_pairs,
    bodies_of,
    push_apart,
    separate_coincident,
)
from graphrag_dagster.systems.graphrag.tables import LAYOUT_STATE

Frames = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]
Edge = tuple[int, int, float]


def graph(nodes: int, edges: list[Edge]) -> Frames:
    """Entities, relationships, and the members of the communities that Leiden finds."""
    names = [f"e{node:04d}" for node in range(nodes)]
    rows = {(min(a, b), max(a, b)): weight for a, b, weight in edges if a != b}
    relationships = pl.DataFrame(
        [(stable_id(a, b), names[a], names[b], weight) for (a, b), weight in sorted(rows.items())],
        schema=dict.fromkeys(("relationship_id", "source_id", "target_id"), pl.String)
        | {"weight": pl.Float64},
        orient="row",
    )
    found, _ = cluster(relationships, None)
    return (
        pl.DataFrame({"entity_id": names}, schema={"entity_id": pl.String}),
        relationships,
        found.hierarchy.members,
    )


def islands(groups: int = 12, size: int = 20, seed: int = 1, loose: int = 0) -> Frames:
    """Groups with most edges inside, and some entities without any."""
    rng = random.Random(seed)
    home = [(group * size + rng.randrange(size), group * size + rng.randrange(size), 1.0)
            for group in range(groups) for _ in range(3 * size)]  # fmt: skip
    away = [
        (rng.randrange(groups * size), rng.randrange(groups * size), 1.0) for _ in range(groups * size // 2)
    ]
    return graph(groups * size + loose, home + away)


def cold(frames: Frames) -> GraphLayout:
    return arrange(*frames, None)[0]


def places(layout: GraphLayout) -> np.ndarray:
    return layout.places.select("x", "y").to_numpy()


def same(one: GraphLayout, other: GraphLayout) -> bool:
    return one.places.equals(other.places) and one.state.equals(other.state)


def sound(layout: GraphLayout, entities: pl.DataFrame) -> None:
    """Check what holds of every layout: a finite place of its own for each entity, the declared tables."""
    tables.LAYOUT.validated(layout.places)
    LAYOUT_STATE.validated(layout.state)
    assert layout.places["entity_id"].to_list() == sorted(entities["entity_id"])
    assert np.isfinite(places(layout)).all()
    assert len(np.unique(places(layout), axis=0)) == len(entities)


def part(frames: Frames, kept: set[str]) -> Frames:
    entities, relationships, members = frames
    inside = pl.col("entity_id").is_in(list(kept))
    ends = pl.col("source_id").is_in(list(kept)) & pl.col("target_id").is_in(list(kept))
    return entities.filter(inside), relationships.filter(ends), members.filter(inside)


@st.composite
def graphs(draw: st.DrawFn) -> Frames:
    nodes = draw(st.integers(0, 25))
    if not nodes:
        return graph(0, [])
    node, weight = st.integers(0, nodes - 1), st.sampled_from([0.0, 0.5, 1.0, 7.0, 1e9])
    return graph(nodes, draw(st.lists(st.tuples(node, node, weight), max_size=40)))


@settings(max_examples=20, deadline=None)
@given(graphs(), graphs(), st.randoms(use_true_random=False))
def test_any_graph_has_a_layout_that_depends_on_no_order_and_any_other_may_follow(
    frames: Frames, other: Frames, rng: random.Random
) -> None:
    made = cold(frames)
    sound(made, frames[0])
    shuffled = [frame.sample(fraction=1, shuffle=True, seed=rng.randrange(1000)) for frame in frames]
    turned = shuffled[1].rename({"source_id": "target_id", "target_id": "source_id"})
    assert same(arrange(shuffled[0], turned, shuffled[2], None)[0], made)
    kept, begun = arrange(shuffled[0], turned, shuffled[2], made)
    assert begun.how == "kept"
    assert same(kept, made)
    sound(arrange(*other, made)[0], other[0])
    again, begun = arrange(*other, made, start="cold")
    assert begun.how == "cold"
    assert same(again, cold(other))


def test_communities_are_apart_and_few_entities_overlap() -> None:
    frames = islands()
    made, members = cold(frames), frames[2]
    of = members.filter(pl.col("level") == 0)
    community = made.places.join(of, on="entity_id", maintain_order="left")["community_id"].to_numpy()
    at = places(made)
    nearest, which = cKDTree(at).query(at, k=9)
    own = (community[which[:, 1:]] == community[:, None]).mean()
    assert own > 0.9
    assert (nearest[:, 1] > 0.5).mean() > 0.99
    assert np.abs(at).max() < 3 * np.sqrt(len(at))


@pytest.mark.parametrize("kind", ["star", "complete", "path", "pair"])
def test_layouts_of_extreme_graphs_are_finite_and_apart(kind: str) -> None:
    count = 2 if kind == "pair" else 30
    pairs = {
        "star": [(0, node) for node in range(1, count)],
        "complete": list(combinations(range(count), 2)),
        "path": [(node, node + 1) for node in range(count - 1)],
        "pair": [(0, 1)],
    }[kind]
    source, target = np.array(pairs, dtype=np.int64).T
    one = np.zeros(count, dtype=np.int64)
    made = push_apart(layout_cold(bodies_of(source, target, np.full(len(pairs), 1e6), [one, one])))
    assert np.isfinite(made).all()
    assert cKDTree(made).query(made, k=2)[0][:, 1].min() > 0.3


def test_what_is_linked_to_nothing_lies_around_the_rest_and_stays_there() -> None:
    frames = islands(loose=30)
    made = cold(frames)
    far = np.sqrt((places(made) ** 2).sum(axis=1))
    assert far[-30:].min() > 1.05 * far[:-30].max()
    assert made.state.item(0, "radius") == pytest.approx(far[:-30].max())
    more = frames[0].vstack(pl.DataFrame({"entity_id": ["e9999"]}))
    grown, begun = arrange(more, *frames[1:], made)
    assert begun.how == "warm"
    assert np.array_equal(places(grown)[240:-1], places(made)[240:])


def test_an_entity_that_is_linked_at_last_comes_in_and_one_that_no_longer_is_goes_out() -> None:
    entities, relationships, members = islands(loose=1)
    made = cold((entities, relationships, members))
    first = relationships.filter((pl.col("source_id") == "e0000") | (pl.col("target_id") == "e0000"))
    others = relationships.join(first, on="relationship_id", how="anti")
    swapped = pl.concat([others, first.with_columns(
        pl.col("source_id", "target_id").replace({"e0000": "e0240"}))])  # fmt: skip
    moved = members.with_columns(pl.col("entity_id").replace({"e0000": "e0240"}))
    after, begun = arrange(entities, swapped, moved, made)
    assert begun.how == "warm"
    far = np.sqrt((places(after) ** 2).sum(axis=1))
    assert far[0] > far[1:].max()
    where = after.places.filter(entity_id="e0240").select("x", "y").to_numpy()
    was = made.places.filter(entity_id="e0000").select("x", "y").to_numpy()
    assert np.hypot(*(where - was)[0]) < 3


def test_places_stay_when_a_graph_grows() -> None:
    frames = islands(groups=40, loose=10)
    rng = random.Random(3)
    late = {one for one in frames[0]["entity_id"] if rng.random() < 1 / 11}
    before = cold(part(frames, set(frames[0]["entity_id"]) - late))
    after, begun = arrange(*frames, before)
    assert begun.how == "warm"
    sound(after, frames[0])
    joined = before.places.join(after.places, on="entity_id")
    moved = np.hypot(joined["x"] - joined["x_right"], joined["y"] - joined["y_right"])
    diameter = 2 * before.state.item(0, "radius")
    assert np.median(moved) < 0.03 * diameter
    assert np.quantile(moved, 0.99) < 0.08 * diameter
    assert after.state.item(0, "spread") < 1.2 * cold(frames).state.item(0, "spread")
    assert after.state.item(0, "cold_spread") == before.state.item(0, "spread")


def test_a_layout_begins_from_nothing_where_little_of_the_one_before_is_of_use() -> None:
    frames = islands()
    made = cold(frames)
    few = arrange(*part(frames, {f"e{node:04d}" for node in range(100)}), None)[0]
    assert arrange(*frames, few)[1].why == "100 of 240 linked entities were there, in their communities"
    names = frames[0]["entity_id"].to_list()
    mixed = dict(zip(names, random.Random(0).sample(names, len(names)), strict=True))
    other = tuple(
        frame.with_columns(pl.col(pl.String).exclude("community_id").replace(mixed)) for frame in frames
    )
    again, begun = arrange(*other, made)
    assert begun.how == "cold"
    assert same(again, cold(other))
    assert arrange(*frames, made, code="newer")[1].why == "other code"
    torn = GraphLayout(made.places.with_columns(x=pl.col("x") + 1), made.state)
    mended, begun = arrange(*frames, torn)
    assert begun.why == "inconsistent tables"
    assert same(mended, made)
    assert previous_layout(made.places, None) is None
    assert previous_layout(made.places, made.state.clear()) is None


def test_communities_that_would_be_spread_too_wide_are_laid_out_anew() -> None:
    frames = islands()
    made = cold(frames)
    narrow = GraphLayout(made.places, made.state.with_columns(cold_spread=pl.col("cold_spread") / 2))
    more = frames[0].vstack(pl.DataFrame({"entity_id": ["e9999"]}))
    _, begun = arrange(more, *frames[1:], narrow)
    assert begun.how == "cold"
    assert begun.why.startswith("a warm start spreads communities")


def test_the_names_of_communities_decide_nothing() -> None:
    entities, relationships, members = islands()
    renamed = members.with_columns(pl.col("community_id").map_elements(stable_id, return_dtype=pl.String))
    assert same(cold((entities, relationships, renamed)), cold((entities, relationships, members)))


def test_a_relationship_of_an_unknown_entity_is_told() -> None:
    entities, relationships, members = islands(groups=2)
    with pytest.raises(
        GraphragError, match=r"1 ends of relationships are not among the entities, for example e0003"
    ):
        arrange(entities.filter(pl.col("entity_id") != "e0003"), relationships, members, None)


def test_repulsion_is_mass_over_distance_away_from_the_others() -> None:
    rng = np.random.default_rng(2)
    at, mass = rng.normal(size=(300, 2)) * 10, rng.random(300) + 0.5
    along = at[:, None] - at[None]
    squared = (along**2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    expected = (along * (mass[None] / squared)[..., None]).sum(axis=1)
    found = Repulsion(300).of(at, mass)
    lone = squared.min(axis=1) > 4
    error = np.sqrt(((found - expected) ** 2).sum(axis=1)) / np.sqrt((expected**2).sum(axis=1))
    assert lone.sum() > 10
    assert np.median(error[lone]) < 0.1


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=80))
def test_points_at_one_place_are_told_apart(points: list[tuple[int, int]]) -> None:
    at = np.array(points, dtype=np.float64) / 1000
    assert len(np.unique(separate_coincident(at), axis=0)) == len(at)
    if len(at) > 1:
        assert (cKDTree(push_apart(at)).query(push_apart(at), k=2)[0][:, 1] > 0.1).mean() > 0.9


@given(st.lists(st.tuples(*2 * [st.floats(-4, 4, width=16)]), min_size=2, max_size=60))
def test_all_pairs_that_are_too_near_are_found(points: list[tuple[float, float]]) -> None:
    at = np.array(points)
    expected = [(a, b) for a, b in combinations(range(len(at)), 2) if ((at[a] - at[b]) ** 2).sum() < 0.6**2]
    assert [tuple(pair) for pair in _near_pairs(at).tolist()] == expected

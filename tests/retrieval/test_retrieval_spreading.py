import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.core.search.retrieval.linking import Link, NameLinker
from graphrag_dagster.core.search.retrieval.lists import WeightedLists
from graphrag_dagster.core.search.retrieval.names import name_graph
from graphrag_dagster.core.search.retrieval.spreading import Spreader, Spreading
from graphrag_dagster.core.search.retrieval.words import WordRarity

TRIPLE = st.tuples(st.integers(0, 4), st.integers(0, 6), st.floats(0, 1))
TITLES = ["Blood Street (film)", "Leo Fong", "Rivers"]
TEXTS = [
    "A film directed by Leo Fong.",
    "He was born in Canton.",
    "A long list of names: Leo Fong, Canton, Blood Street.",
]


@given(st.lists(TRIPLE, max_size=30), st.lists(st.integers(0, 4), max_size=6))
def test_lists_hold_each_pair_once_with_its_largest_weight(triples, asked):
    best: dict[int, dict[int, float]] = {}
    for owner, value, weight in triples:
        best.setdefault(owner, {})[value] = max(weight, best.get(owner, {}).get(value, 0))
    owners, values, weights = (np.array([t[i] for t in triples]) for i in range(3))
    lists = WeightedLists.of_pairs(5, owners.astype(np.int64), values.astype(np.int64), weights.astype(float))
    for owner in range(5):
        assert lists.of(owner).tolist() == sorted(best.get(owner, {}))
    which, found, heavy = lists.of_all(np.array(asked, dtype=np.int64))
    expected = [(i, v, w) for i, owner in enumerate(asked) for v, w in sorted(best.get(owner, {}).items())]
    assert list(zip(which.tolist(), found.tolist(), heavy.tolist(), strict=True)) == expected


def graph_of(titles=TITLES, entities=(("Leo Fong", "02"), ("Canton", "12")), relationships=((0, 1),)):
    units = pl.DataFrame({"text_unit_id": list("012"), "text": TEXTS, "position": [0, 0, 0]})
    rows = pl.DataFrame(
        {
            "entity_id": [f"e{i}" for i in range(len(entities))],
            "title": [name for name, _ in entities],
            "text_unit_ids": [[*places] for _, places in entities],
        },
        schema={"entity_id": pl.String, "title": pl.String, "text_unit_ids": pl.List(pl.String)},
    )
    edges = pl.DataFrame(
        [(f"e{a}", f"e{b}", 1.0) for a, b in relationships],
        schema={"source_id": pl.String, "target_id": pl.String, "weight": pl.Float64},
        orient="row",
    )
    rarity = WordRarity(TEXTS)
    graph = name_graph(units, rows, edges, dict(zip("012", titles, strict=True)), rarity)
    return graph, NameLinker(graph.names, rarity)


def test_titles_are_names_and_what_they_name_is_at_home_there():
    graph, _ = graph_of()
    assert graph.names == ("Leo Fong", "Canton", "Blood Street", "Rivers")
    reached = dict(zip(graph.reach.of(0).tolist(), graph.reach.weights.tolist(), strict=False))
    assert reached[1] == 1
    assert reached[0] == reached[2] == pytest.approx(0.5 / 2**0.5)
    assert graph.subjects.of(1).tolist() == [0]
    assert graph.related.of(0).tolist() == [1]
    assert graph.related.of(1).tolist() == [0]


def test_a_name_with_which_the_text_begins_is_at_home_there_without_a_title():
    graph, _ = graph_of(["", "", ""], (("List", "2"), ("Canton", "12")))
    assert graph.subjects.of(2).tolist() == [0]
    assert graph.subjects.of(1).tolist() == []


def test_rows_that_lead_nowhere_are_left_out():
    graph, _ = graph_of(entities=(("Leo Fong", "0x"),), relationships=((0, 7), (8, 9)))
    assert graph.within.of(0).tolist() == [0]
    assert graph.related.of(0).tolist() == []


def test_two_hops_by_hand():
    graph, linker = graph_of()
    how = Spreading(text=0.5, hops=(0.7,), likeness=2.0, relationship=1.0)
    units, names = Spreader(graph, TEXTS, linker, how).spread(
        [Link(2, 1.0)], np.zeros(3), np.array([0.0, 0.5, 0.0])
    )
    # Blood Street is at home in unit 0, where Leo Fong stands; he is at home in unit 1.
    passed = 0.7 * graph.rarity[0]
    assert names[2] == 1
    assert names[0] == pytest.approx(passed / 2)
    assert units[0] == pytest.approx(1)
    assert units[1] == pytest.approx(passed * (1 + 2 * 0.5))
    assert units[2] == pytest.approx(passed * 0.5 / 2**0.5)


def test_a_relationship_with_what_is_asked_about_passes_on_more():
    def strength_of_canton(relationships):
        graph, linker = graph_of(relationships=relationships)
        spreader = Spreader(graph, TEXTS, linker, Spreading(hops=(0.7,)))
        return spreader.spread([Link(0, 1.0)], np.zeros(3), np.zeros(3))[1][1]

    assert strength_of_canton(((0, 1),)) == pytest.approx(2 * strength_of_canton(()))


def test_nothing_named_and_nothing_alike_gives_nothing():
    graph, linker = graph_of()
    units, names = Spreader(graph, TEXTS, linker).spread([], np.zeros(3), np.zeros(3))
    assert not units.any()
    assert not names.any()


def test_without_links_the_units_that_are_like_the_question_lead_on():
    graph, linker = graph_of()
    units, _ = Spreader(graph, TEXTS, linker).spread([], np.array([1.0, 0, 0]), np.zeros(3))
    assert units.argmax() == 0
    assert units[1] > units[2] > 0


def test_a_name_in_every_unit_passes_nothing_on():
    graph, _ = graph_of(entities=(("Leo Fong", "012"), ("Canton", "1")))
    assert graph.rarity[0] == 0
    assert graph.rarity[1] > 0

"""Personalised PageRank over names and text units."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.common.packed_arrays import WeightedLists
from graphrag_dagster.kernel.retrieval.multihop.name_graph import LeadIndex, NameGraph, PassageRank, Spreading
from graphrag_dagster.kernel.retrieval.name_index import NameIndex

NAMES, UNITS = 5, 4
Pairs = list[tuple[int, int]]


def lists(count: int, pairs: Pairs) -> WeightedLists:
    owners, values = (np.array([pair[at] for pair in pairs], dtype=np.int64) for at in (0, 1))
    return WeightedLists.of_pairs(count, owners, values, np.ones(len(pairs)))


def graph_of(mentions: Pairs, homes: Pairs = (), related: Pairs = ()) -> NameGraph:
    both = [*related, *((other, one) for one, other in related)]
    turned = [(unit, name) for name, unit in mentions]
    return NameGraph(
        index=NameIndex.of([f"n{place}" for place in range(NAMES)]),
        rarity=np.ones(NAMES),
        home=lists(NAMES, list(homes)),
        mentions=lists(NAMES, list(mentions)),
        within=lists(UNITS, turned),
        subjects=lists(UNITS, [(unit, name) for name, unit in homes]),
        related=lists(NAMES, both),
        leads=LeadIndex.of([() for _ in range(UNITS)]),
    )


stands = st.lists(st.tuples(st.integers(0, NAMES - 1), st.integers(0, UNITS - 1)), max_size=12)
knows = st.lists(
    st.tuples(st.integers(0, NAMES - 1), st.integers(0, NAMES - 1)).filter(lambda pair: pair[0] != pair[1]),
    max_size=6,
)


@given(stands, stands, knows, st.sampled_from([0.3, 0.5, 0.85]))
def test_it_is_the_personalised_pagerank_of_the_whole(
    mentions: Pairs, homes: Pairs, related: Pairs, damping: float
) -> None:
    graph = graph_of(mentions, homes, related)
    own = Spreading(damping=damping, units=0.0, home=3.0, related=0.5)
    begun = np.zeros(NAMES)
    begun[[0, 3]] = 1.0, 3.0
    units, names = PassageRank(graph, own).scores(begun, np.zeros(UNITS))
    whole = networkx.Graph()
    whole.add_nodes_from(range(NAMES + UNITS))
    for name, unit in set(mentions):
        whole.add_edge(name, NAMES + unit, weight=1.0)
    for name, unit in set(homes):
        known = whole.get_edge_data(name, NAMES + unit, {"weight": 0.0})["weight"]
        whole.add_edge(name, NAMES + unit, weight=known + 3.0)
    for one, other in {tuple(sorted(pair)) for pair in related}:
        whole.add_edge(one, other, weight=0.5)
    reset = {0: 0.25, 3: 0.75}
    wanted = networkx.pagerank(
        whole, damping, reset, max_iter=1000, tol=1e-13, weight="weight", dangling=reset
    )
    assert np.allclose([*names, *units], [wanted[place] for place in range(NAMES + UNITS)], atol=1e-7)


def test_units_that_are_alike_begin_what_no_name_does() -> None:
    graph = graph_of([(0, 0), (0, 1), (1, 1), (1, 2)])
    units, _ = PassageRank(graph, Spreading(units=0.5)).scores(np.zeros(NAMES), np.array([1.0, 0, 0, 0]))
    assert units.sum() > 0
    assert list(np.argsort(-units)[:3]) == [0, 1, 2]


def test_a_question_that_is_about_nothing_ranks_nothing() -> None:
    units, names = PassageRank(graph_of([(0, 0)]), Spreading()).scores(np.zeros(NAMES), np.zeros(UNITS))
    assert not units.any()
    assert not names.any()


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_the_beginning_is_shared_by_names_and_units(share: float) -> None:
    graph = graph_of([])
    begun = np.array([1.0, 0, 0, 0, 0])
    units, names = PassageRank(graph, Spreading(units=share)).scores(begun, np.array([5.0, 0, 0, 0]))
    assert units.sum() == pytest.approx(share)
    assert names[0] == pytest.approx(1 - share)

"""Which communities, entities and paths are chosen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.systems.coterag.coterag_options import PAPER, Thresholds, paper_thresholds
from graphrag_dagster.systems.coterag.search.path_traversal import Edge, Traversal, traverse
from graphrag_dagster.systems.coterag.search.vector_matching import CommunityMatch, match_communities
from support.coterag_graphs import chain

RANKED = [(0.90, 0.2), (0.80, 0.9), (0.78, 0.6), (0.76, 0.52), (0.75, 1.0), (0.60, 1.0)]
shares = st.floats(0, 1)


def chosen(
    rows: list[tuple[float, float]], thresholds: Thresholds = PAPER, **options: object
) -> list[CommunityMatch]:
    similarity, coverage = (np.array([row[place] for row in rows]) for place in (0, 1))
    ids = [f"c{number}" for number in range(len(rows))]
    return match_communities(ids, similarity, coverage, thresholds, **options)  # type: ignore[arg-type]


def selected(rows: list[tuple[float, float]], **options: object) -> list[float]:
    return [one.similarity for one in chosen(rows, **options) if one.selected]


def test_high_confidence_comes_first_and_thresholds_are_exceeded_not_reached() -> None:
    assert selected(RANKED) == [0.80, 0.78, 0.76]
    assert selected([RANKED[0], *RANKED[2:]]) == [0.78, 0.76, 0.90]
    assert all(one.similarity != 0.75 for one in chosen(RANKED))
    assert [one.match_class for one in chosen(RANKED)] == ["high_confidence"] * 3 + ["high_similarity"]


def test_a_community_that_covers_the_terms_need_not_be_as_similar() -> None:
    eased = replace(PAPER, covered=0.1)
    rows = [(0.80, 0.0), (0.11, 0.52), (0.10, 1.0), (0.40, 0.51), (0.76, 0.2)]
    assert [one.similarity for one in chosen(rows, eased)] == [0.11, 0.80, 0.76]
    assert [one.similarity for one in chosen(rows, eased, by_terms=True)] == [0.11, 0.76]
    assert [one.similarity for one in chosen(rows, eased, rule="strict") if one.selected] == [0.11]
    # Terms decide nothing there.
    assert [one.similarity for one in chosen(rows, eased, rule="all")] == [0.80, 0.76]


def test_scores_rank_inside_of_a_class_only() -> None:
    scores = np.array([9.0, 1.0, 2.0, 3.0, 9.0, 9.0])
    assert selected(RANKED, scores=scores) == [0.76, 0.78, 0.80]


def test_low_coverage_may_drop_a_community_or_not_matter() -> None:
    rows = [RANKED[0], *RANKED[2:]]
    assert selected(rows, rule="strict") == [0.78, 0.76]
    assert chosen(rows, rule="strict")[-1].match_class == "dropped"
    assert selected(RANKED, rule="all") == [0.90, 0.80, 0.78]


@given(st.lists(st.tuples(shares, shares), max_size=20), st.sampled_from(["class", "strict", "all"]))
def test_selection_is_bounded_and_in_order(rows: list[tuple[float, float]], rule: str) -> None:
    found = chosen(rows, rule=rule)
    assert sum(one.selected for one in found) <= 3
    assert all(one.similarity > PAPER.community for one in found)
    assert {one.community_id for one in found} == {
        f"c{place}" for place, (similarity, _) in enumerate(rows) if similarity > PAPER.community
    }
    assert [one.selected for one in found] == sorted((one.selected for one in found), reverse=True)


@pytest.mark.parametrize(("cosine", "kept"), [(0.5, False), (0.51, True)])
def test_an_index_score_of_three_quarters_is_a_cosine_of_a_half(cosine: float, kept: bool) -> None:
    thresholds = paper_thresholds("paper_neo4j", {})
    assert (thresholds.community, thresholds.entity, thresholds.traversal) == (0.5, 0.5, 0.5)
    assert (thresholds.chunk, thresholds.fallback, thresholds.coverage) == (0.70, 0.80, 0.51)
    found = match_communities(["c"], np.array([cosine]), np.array([1.0]), thresholds)
    assert bool(found) is kept
    assert paper_thresholds("paper_raw", {"chunk": 0.6}) == replace(PAPER, chunk=0.6)
    assert paper_thresholds("paper_raw", {"community": 0.6}) == replace(PAPER, community=0.6, covered=0.6)


def walked(names: str, below: str = "", **options: object) -> Traversal:
    edges = [Edge(*row, "c1") for row in chain(*names)]
    similarity = {name: 0.5 if name in below else 0.9 for name in names}
    return traverse(["a"], edges, similarity, 0.75, **options)  # type: ignore[arg-type]


def test_a_path_ends_after_five_hops_or_below_the_threshold() -> None:
    assert walked("abcdefg").reached == {"b": 1, "c": 2, "d": 3, "e": 4, "f": 5}
    assert walked("abcdefg", below="c").reached == {"b": 1}
    assert [(one.head, one.tail, one.hop) for one in walked("abcdefg", below="c").triples] == [("a", "b", 1)]
    assert walked("abc", hops=0).triples == ()


def test_paths_go_both_ways_and_along_wanted_relations_only() -> None:
    edges = [Edge("b", "To", "a", "c1"), Edge("a", "from", "c", "c1"), Edge("a", "to", "c", "c1")]
    cosines = {"a": 0.9, "b": 0.8, "c": 0.85}
    found = traverse(["a"], edges, cosines, 0.75, relations=["TO"])
    assert [(one.head, one.relation, one.tail) for one in found.triples] == [
        ("a", "to", "c"),
        ("b", "To", "a"),
    ]
    assert found.reached == {"b": 1, "c": 1}
    cut = traverse(["a"], edges, cosines, 0.75, most=2)
    assert (len(cut.triples), cut.cut) == (2, 1)


pairs = st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda pair: pair[0] != pair[1])


@given(st.lists(pairs, max_size=40), st.lists(st.floats(0, 1), min_size=13, max_size=13), st.integers(0, 6))
def test_what_is_reached_is_near_enough_and_connected(
    rows: list[tuple[int, int]], cosines: list[float], hops: int
) -> None:
    similarity = {str(node): value for node, value in enumerate(cosines)}
    edges = [Edge(str(one), "r", str(other), "c") for one, other in rows]
    found = traverse(["0"], edges, similarity, 0.5, hops=hops, most=1000)
    inside = {"0", *found.reached}
    assert all(similarity[one] > 0.5 and 0 < hop <= hops for one, hop in found.reached.items())
    assert all({one.head, one.tail} <= inside for one in found.triples)
    for one, hop in found.reached.items():
        assert any(one in {t.head, t.tail} and t.hop == hop for t in found.triples), (
            "no triple leads to what was reached"
        )
    again = traverse(["0"], edges[::-1], similarity, 0.5, hops=hops, most=1000)
    assert again.reached == found.reached
    order = [-one.similarity for one in found.triples]
    assert order == sorted(order)

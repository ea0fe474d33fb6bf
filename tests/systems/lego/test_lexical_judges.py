"""Selecting and answering from paths by rule."""

import itertools
import math

import numpy as np
import pytest

from graphrag_dagster.kernel.graph.graph_labels import VerbalizedRows
from graphrag_dagster.systems.lego.extractive import (
    ExtractivePathAnswerer,
    ExtractivePathSelector,
    count_before_drop,
    softmax,
)
from graphrag_dagster.systems.lego.retrieval.scorer_registry import scorer_of
from support.verbalising import texts_of

QUESTION = "which language is the film Rashomon in?"
PATHS = texts_of(
    "Rashomon -> in_language -> Japanese",
    "Rashomon -> release_year -> 1950",
    "Rashomon -> directed_by -> Akira Kurosawa -> ~directed_by -> Ran",
    "Rashomon -> has_tags -> murder",
)


def test_words_and_vectors_select_together() -> None:
    found = ExtractivePathSelector().select("path", QUESTION, PATHS, 3)
    assert found.shown == 4
    # The sums of both ranks, one by one.
    sums = [0.0] * len(PATHS)
    for name in ("bm25", "static"):
        scores = scorer_of(name, relation_words=True).scores(QUESTION, PATHS)
        for place, score in enumerate(scores):
            sums[place] += 1 / (60 + 1 + int((scores > score).sum()))
    order = sorted(range(len(PATHS)), key=lambda place: (-sums[place], PATHS.texts[place]))
    falls = [(sums[one] - sums[other]) / sums[one] for one, other in itertools.pairwise(order)]
    assert found.places.tolist() == order[: 1 + falls.index(max(falls))]
    assert found.places[0] == 0
    assert found.scores == pytest.approx([sums[place] for place in found.places])


@pytest.mark.parametrize(
    ("scores", "count"),
    [([1.0], 1), ([0.5, 0.5], 2), ([0.9, 0.8, 0.1], 2), ([1.0, 0.5, 0.25], 1), ([4, 3, 1.5], 2)],
)
def test_a_selection_ends_where_scores_fall_most(scores: list[float], count: int) -> None:
    assert count_before_drop(np.array(scores, dtype=np.float64)) == count


def test_a_selection_is_never_empty_nor_too_large() -> None:
    selector = ExtractivePathSelector()
    alike = texts_of(*[f"zz -> qq -> v{place}v" for place in range(9)])
    assert 1 <= len(selector.select("node", "?", alike, 4).places) <= 4
    assert len(selector.select("path", QUESTION, PATHS.at([]), 4).places) == 0
    assert selector.select("path", QUESTION, PATHS.at([1]), 4).places.tolist() == [0]


def test_the_order_of_candidates_changes_no_selection() -> None:
    selector = ExtractivePathSelector()
    for level in ("path", "refinement"):
        one = selector.select(level, QUESTION, PATHS, 4)
        mixed = PATHS.at([3, 1, 0, 2])
        other = selector.select(level, QUESTION, mixed, 4)
        assert PATHS.at(one.places).texts == mixed.at(other.places).texts


def test_a_refinement_drops_what_repeats_end_and_relations() -> None:
    paths = texts_of(
        "a -> p -> x",
        "b -> p -> x",
        "a -> p -> y",
        "a -> q -> x",
        "c -> p -> x",
    )
    chosen = paths.at(ExtractivePathSelector().select("refinement", "what?", paths, 5).places).texts
    assert len(chosen) == 3
    assert len({(text.split(" -> ")[1], text.split(" -> ")[2]) for text in chosen}) == 3


@pytest.mark.parametrize(
    ("question", "enough"),
    [
        ("language of Rashomon", True),
        ("language of Rashomon in Japanese", True),
        ("language and year of the film Rashomon", False),
        ("of the", False),
    ],
)
def test_the_first_path_is_enough_where_it_holds_what_is_asked(question: str, enough: bool) -> None:
    assert ExtractivePathSelector().enough(question, PATHS).enough is enough
    assert not ExtractivePathSelector().enough(question, PATHS.at([])).enough


def answered(
    paths: VerbalizedRows, scores: list[float]
) -> tuple[tuple[str, ...] | None, tuple[int, ...], str]:
    got = ExtractivePathAnswerer().answer("?", paths, np.array(scores, dtype=np.float64))
    return got.named, got.cited, got.text


def test_ends_count_whole_and_inner_nodes_half() -> None:
    paths = texts_of("s -> p -> a", "s -> p -> a -> q -> b", "s -> p -> c")
    # Equal scores: a has 1/3 + 1/6, b and c have 1/3; all have half of a's or more.
    assert answered(paths, [0, 0, 0]) == (("a", "b", "c"), (0, 1, 2), "a\nb\nc")
    # e^2 : e : 1 over their sum.
    whole = math.e**2 + math.e + 1
    weights = {"a": math.e**2 + math.e / 2, "b": math.e, "c": 1.0}
    assert softmax(np.array([2.0, 1.0, 0.0])) == pytest.approx([math.e**2 / whole, math.e / whole, 1 / whole])
    assert [name for name in "abc" if weights[name] >= weights["a"] / 2] == ["a"]
    assert answered(paths, [2, 1, 0]) == (("a",), (0,), "a")


def test_a_node_inside_is_cited_where_no_path_ends_there() -> None:
    paths = texts_of("s -> p -> a -> q -> b", "s -> p -> a -> q -> c", "s -> p -> a -> q -> d")
    named, cited, _ = answered(paths, [0, 0, 0])
    assert named == ("a", "b", "c", "d")
    assert cited == (0, 0, 1, 2)


def test_what_was_asked_about_is_no_answer() -> None:
    paths = texts_of("s -> p -> a -> ~p -> s", "s -> p -> t", "t -> p -> b")
    assert answered(paths, [0, 0, 0])[0] == ("b", "a")
    assert answered(texts_of("s -> p -> s"), [1.0]) == ((), (), "unknown")


def test_without_paths_the_answer_is_unknown() -> None:
    assert answered(PATHS.at([]), []) == ((), (), "unknown")


def test_what_reports_name_counts_half_as_much_again() -> None:
    paths = texts_of("Ran -> directed_by -> Akira Kurosawa", "Ran -> has_tags -> war")
    scores = np.array([0.5, 0.6])
    answerer = ExtractivePathAnswerer()
    assert answerer.answer(QUESTION, paths, scores).named == ("war", "Akira Kurosawa")
    reports = ["Films of AKIRA KUROSAWA.", "Towards the end of the wars"]
    assert answerer.answer(QUESTION, paths, scores, reports).named == ("Akira Kurosawa", "war")

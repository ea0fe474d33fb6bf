"""Recall as a constraint: thresholds and windows by hand (LEGO-GraphRAG, B.5)."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Subgraph
from graphrag_dagster.systems.lego.studies.answer_metrics import Answers, NormalisedLabels
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import ExtractedSubgraph
from graphrag_dagster.systems.lego.subgraphs.recall_constraint import (
    CLASSES,
    Application,
    Classifier,
    Density,
    QuestionClass,
    Threshold,
    chosen_windows,
    density,
    is_complex,
    learned_threshold,
    learned_thresholds,
    measured_windows,
    quartiles,
    threshold_of,
    window_for,
)
from graphrag_dagster.systems.lego.tables import RECALL_WINDOWS
from support.path_graphs import graph_of, node

PLAIN = QuestionClass(is_complex=False, density="medium")


@pytest.mark.parametrize(
    ("question", "seeds", "wanted"),
    [
        ("what movies are about ginger rogers", ["Ginger Rogers"], False),
        ("who directed Beauty and the Beast?", ["Beauty and the Beast"], False),
        ("who directed and wrote Alien?", ["Alien"], True),
        ("which is the oldest film of Ridley Scott", ["Ridley Scott"], True),
        ("who lives in the west of Skarn", ["Skarn"], False),
        ("the films that share directors with Alien", ["Alien"], True),
        ("which movies did Ridley Scott direct", ["Ridley Scott"], False),
        ("what do Alien, Legend have in common", ["Alien", "Legend"], True),
    ],
)
def test_complex_questions(question: str, seeds: list[str], wanted: bool) -> None:
    assert is_complex(question, seeds) is wanted


def test_density_by_the_quartiles_of_the_graph() -> None:
    borders = quartiles(np.array([1, 2, 3, 4, 5]))
    assert borders == (2, 4)
    assert density(np.array([4]), borders) == "medium"
    assert density(np.array([4, 5]), borders) == "dense"
    assert density(np.array([1, 2]), borders) == "sparse"
    assert density(np.array([], dtype=np.int64), borders) == "medium"


def test_a_question_has_a_class_by_its_words_and_seeds() -> None:
    star = [("hub", "p", leaf) for leaf in "abcdefgh"]
    store = graph_of(star)
    found = Classifier(store).of(PathQuery("what is hub", (node(store, "hub"),)))
    assert found == QuestionClass(is_complex=False, density="dense")
    assert Classifier(store).of(PathQuery("the one that links", ())).name == "complex, medium"


@pytest.mark.parametrize(
    ("is_complex", "application", "linked", "value"),
    [
        (False, "normal", "medium", 0.6),
        (True, "normal", "medium", 0.675),
        (True, "critical", "medium", 0.75),
        (True, "critical", "sparse", 0.8),
        (False, "lightweight", "dense", 0.5),
        (True, "lightweight", "sparse", 0.675),
        (False, "critical", "dense", 0.625),
    ],
)
def test_thresholds_by_hand(
    is_complex: bool, application: Application, linked: Density, value: float
) -> None:
    assert threshold_of(QuestionClass(is_complex, linked), application).value == value


@given(st.sampled_from(CLASSES), st.sampled_from(["normal", "critical", "lightweight"]), st.floats(0, 1))
def test_thresholds_stay_within_their_bounds(
    kind: QuestionClass, application: Application, start: float
) -> None:
    assert 0.5 <= threshold_of(kind, application, start).value <= 0.8


def test_a_threshold_says_what_it_is_made_of() -> None:
    found = threshold_of(QuestionClass(is_complex=True, density="dense"), "critical", 0.75)
    assert found == Threshold(
        0.8, "0.750, complex +0.075, critical +0.075, dense seeds -0.050, kept within 0.50 and 0.80"
    )


def measured(kind: str, recalls: list[float], scores: list[float], questions: int = 20) -> pl.DataFrame:
    rows = [(kind, 2**place, *one) for place, one in enumerate(zip(recalls, scores, strict=True))]
    schema = {"class": pl.String, "window": pl.Int32, "recall": pl.Float64, "f1": pl.Float64}
    return pl.DataFrame(rows * questions, schema=schema, orient="row")


def test_windows_by_hand() -> None:
    rows = chosen_windows(measured(PLAIN.name, [0.3, 0.6, 0.7, 0.9], [0.5, 0.1, 0.4, 0.2]))
    [own] = [row for row in rows if row["class"] == PLAIN.name]
    assert (own["threshold"], own["smallest"], own["chosen"], own["best"]) == (0.6, 2, 2, 4)
    assert (own["recall"], own["f1"], own["questions"]) == (0.6, 0.1, 20)
    by_class = {row["class"]: row for row in rows}
    assert by_class["complex, sparse"]["chosen"] == 8
    assert "0 are of this class" in by_class["complex, sparse"]["why"]
    assert RECALL_WINDOWS.validated(RECALL_WINDOWS.frame(rows)).height == 7


def test_where_no_window_is_enough_the_one_of_the_highest_recall_is_used() -> None:
    every = chosen_windows(measured(PLAIN.name, [0.3, 0.5, 0.5], [0.2, 0.1, 0.1]))[0]
    assert (every["best"], every["smallest"], every["chosen"]) == (None, None, 2)
    assert "no window has so much" in every["why"]


def test_without_measures_there_are_no_windows() -> None:
    assert chosen_windows(measured(PLAIN.name, [], [])) == []
    assert window_for([], PLAIN) is None


def test_a_learned_threshold_takes_the_place_of_the_rule() -> None:
    learned = {PLAIN.name: Threshold(0.9, "learned")}
    rows = chosen_windows(measured(PLAIN.name, [0.3, 0.6, 0.95], [0.1] * 3), learned=learned)
    found = window_for(rows, PLAIN)
    assert found is not None
    assert (found["chosen"], found["why"]) == (4, "learned")


def test_feedback_by_hand() -> None:
    thresholds = np.repeat([0.5, 0.6, 0.7], 100)
    correct = np.concatenate([np.arange(100) < share for share in (40, 70, 70)])
    found = learned_threshold(thresholds, correct)
    assert found is not None
    assert found.value == 0.6
    assert learned_threshold(thresholds[:199], correct[:199]) is None
    assert learned_threshold(np.full(300, 0.6), np.ones(300)) is None


def test_feedback_is_by_class() -> None:
    log = pl.DataFrame(
        {
            "class": ["simple, dense"] * 200 + ["simple, sparse"] * 10,
            "threshold": [0.5, 0.6] * 105,
            "correct": [False, True] * 105,
        }
    )
    found = learned_thresholds(log)
    assert {name: one.value for name, one in found.items()} == {"simple, dense": 0.6}
    assert "200 answered questions" in found["simple, dense"].why


def test_more_recall_never_counts_as_worse() -> None:
    thresholds = np.repeat([0.5, 0.6, 0.7], 100)
    correct = np.concatenate([np.arange(100) < share for share in (60, 40, 61)])
    found = learned_threshold(thresholds, correct)
    assert found is not None
    assert found.value == 0.7


@dataclass(frozen=True)
class FirstNodes:
    """So many of the first nodes."""

    store: PathStore
    most: int

    def extract(self, query: PathQuery) -> ExtractedSubgraph:
        return ExtractedSubgraph(
            Subgraph.of_nodes(self.store, np.arange(self.most, dtype=np.int64), query.seeds)
        )


def test_windows_are_measured_on_questions_with_answers() -> None:
    store = graph_of([("a", "p", "b"), ("b", "p", "c"), ("c", "p", "d")])
    ask = PathQuery("?", (0,))
    questions = [(ask, Answers.of(["b", "d"]), PLAIN), (ask, Answers.of([]), PLAIN)]
    found = measured_windows(
        questions, [4, 1, 2], lambda most: FirstNodes(store, most), NormalisedLabels(store)
    )
    assert found["window"].to_list() == [1, 2, 4]
    assert found["recall"].to_list() == [0, 0.5, 1]

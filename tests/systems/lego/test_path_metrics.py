"""Measures by gold answers; examples by hand (LEGO-GraphRAG, B.4)."""

import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.systems.lego.search.reasoning_paths import Outcome, PathQuery, Paths, Subgraph
from graphrag_dagster.systems.lego.studies.answer_metrics import (
    Answers,
    NormalisedLabels,
    answer_items,
    answer_scores,
    normalise_answer,
    subgraph_scores,
)
from graphrag_dagster.systems.lego.studies.question_scores import (
    COUNTS,
    CUTS,
    GOLD_MEASURES,
    path_scores,
    question_scores,
)
from graphrag_dagster.systems.lego.studies.score_summary import summarise
from graphrag_dagster.systems.lego.tables import PATH_SCORES, PATH_SUMMARY
from graphrag_dagster.systems.lego.tasks import PathAnswer
from support.path_graphs import graph_of, node

words = st.lists(st.sampled_from(["the", "a", "Beatles", "sgt.", "Pepper's", "$", "x,", "y"]), max_size=6)
texts = words.map(" ".join)


def said(text: str, named: tuple[str, ...] | None = None, engine: str = "llm") -> PathAnswer:
    return PathAnswer(text, engine, named)


def test_what_is_normalised_away() -> None:
    assert normalise_answer("  The  Beatles!") == "beatles"
    assert normalise_answer("A.I. theory of the an") == "ai theory of"
    assert normalise_answer("$") == ""


def test_answers_are_found_by_whole_words_or_anywhere() -> None:
    by_words, anywhere = Answers.of(["art"]), Answers.of(["art"], "paper")
    assert by_words.answers_in(normalise_answer("Bart said: ART!")) == {0}
    assert by_words.answers_in(normalise_answer("Bart")) == set()
    assert anywhere.answers_in(normalise_answer("Bart")) == {0}


def test_answers_that_normalise_to_nothing_are_counted_and_never_found() -> None:
    for matching in ("default", "paper"):
        gold = Answers.of(["$", "The", "b", "B!", " "], matching)
        assert len(gold) == 3
        assert gold.unmatchable == 2
        assert [gold.texts[place] for place in gold.answers_in(normalise_answer("$ the b"))] == ["B!"]


def test_a_reply_is_one_prediction_and_a_list() -> None:
    gold = Answers.of(["beatles", "Rolling Stones"])
    found = answer_scores(said("The Beatles!"), gold)
    assert found["hits_at_1"] == 1
    assert found["answer_f1"] == pytest.approx(2 / 3)
    assert found["list_f1"] == pytest.approx(2 / 3)
    assert found["hits_at_1_lex"] is None
    listed = answer_scores(said("- Beatles\n- Kinks, Who"), gold)
    assert listed["list_f1"] == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))


def test_a_proxy_bears_another_name() -> None:
    found = answer_scores(said("b", ("b",), "extractive"), Answers.of(["b"]))
    assert [name for name, value in found.items() if value is not None] == [
        "hits_at_1_lex",
        "answer_f1_lex",
        "list_f1_lex",
    ]


def test_saying_unknown_is_no_answer_even_if_something_is_called_so() -> None:
    assert answer_scores(said("unknown", (), "extractive"), Answers.of(["Unknown"]))["hits_at_1_lex"] == 0


def test_a_line_that_is_an_answer_is_not_split_at_its_comma() -> None:
    gold = ["Crouching Tiger, Hidden Dragon"]
    assert answer_items("1. Crouching Tiger, Hidden Dragon\n• Hulk, Eden", gold) == [gold[0], "Hulk", "Eden"]


def test_paths_by_hand() -> None:
    first, second = normalise_answer("a1 -> r -> b"), normalise_answer("a1 -> r -> b -> r2 -> c")
    gold = Answers.of(["b", "c"])
    both = path_scores([first, second], gold)
    assert (both["path_precision_at_4"], both["path_recall_at_4"]) == (1, 1)
    half = path_scores([normalise_answer("a1 -> r -> x"), first], gold)
    assert [half[f"path_{name}_at_32"] for name in ("precision", "recall", "f1", "hit")] == [0.5, 0.5, 0.5, 1]
    assert half["path_hit_at_1"] == 0
    assert path_scores([], gold)["path_precision_at_8"] == 0


def test_a_subgraph_by_hand() -> None:
    store = graph_of([("a", "p", "b"), ("c", "p", "d")])
    found = subgraph_scores(
        Subgraph.of_edges(store, np.arange(2), ()), Answers.of(["b", "z"]), NormalisedLabels(store)
    )
    assert found == {"subgraph_recall": 0.5, "subgraph_f1": pytest.approx(1 / 3)}


def test_a_label_without_letters_is_found_in_a_subgraph() -> None:
    store = graph_of([("$", "p", "b")])
    found = subgraph_scores(
        Subgraph.of_edges(store, np.arange(1), ()), Answers.of(["$"]), NormalisedLabels(store)
    )
    assert found["subgraph_recall"] == 1


@given(texts, st.lists(texts, max_size=4))
def test_f1_of_a_reply_as_one_is_at_most_its_hit(reply: str, gold: list[str]) -> None:
    found = answer_scores(said(reply), Answers.of(gold))
    if found["hits_at_1"] is not None and found["answer_f1"] is not None:
        assert found["answer_f1"] <= found["hits_at_1"]


@given(st.lists(texts, max_size=40), st.lists(texts, min_size=1, max_size=5))
def test_more_paths_never_lose_an_answer(paths: list[str], gold: list[str]) -> None:
    found = path_scores([normalise_answer(one) for one in paths], Answers.of(gold))
    recalls = [found[f"path_recall_at_{cut}"] for cut in CUTS]
    assert recalls == sorted(recalls, key=lambda value: value or 0)


@given(st.lists(texts, min_size=1, max_size=6), texts, st.randoms(use_true_random=False))
def test_the_order_of_answers_changes_nothing(gold: list[str], reply: str, drawn: random.Random) -> None:
    mixed = list(gold)
    drawn.shuffle(mixed)
    one, other = Answers.of(gold), Answers.of(mixed)
    assert answer_scores(said(reply), one) == answer_scores(said(reply), other)
    assert path_scores([normalise_answer(reply)], one) == path_scores([normalise_answer(reply)], other)


@given(st.lists(st.sampled_from(["The Doors", "a -> b", "$", "x"]), min_size=2, max_size=2))
def test_pieces_normalise_as_the_path_that_they_make(ends: list[str]) -> None:
    store = graph_of([(ends[0], "starred_actors", ends[1])])
    written = Subgraph.of_edges(store, np.arange(1), ()).triples()
    assert NormalisedLabels(store).texts(written) == [normalise_answer(text) for text in written.texts]


def outcome(reply: PathAnswer) -> Outcome:
    store = graph_of([("a1", "p", "b"), ("b", "q", "c")])
    seed, b, c = (node(store, one) for one in ("a1", "b", "c"))
    paths = Paths(
        store, np.array([[seed, b, c]]), np.array([[0, 1]]), np.zeros((1, 2), dtype=np.bool_), np.ones(1)
    )
    subgraph = Subgraph.of_edges(store, np.arange(2), (seed,))
    return Outcome("12", PathQuery("?", (seed,)), subgraph, paths, 32, reply)


def test_a_question_has_all_measures_and_fits_its_table() -> None:
    found = question_scores(outcome(said("c")), ["c", "z"])
    assert set(found) == {*GOLD_MEASURES, *COUNTS}
    assert (found["path_recall_at_1"], found["subgraph_recall"], found["wcc"]) == (0.5, 0.5, 1)
    frame = PATH_SCORES.frame([{"question_id": "q", "instance": "12", **found}])
    assert PATH_SCORES.validated(frame)["hits_at_1"].to_list() == [1]


def test_without_gold_answers_a_question_is_counted_only() -> None:
    found = question_scores(outcome(said("c")), [])
    assert all(found[name] is None for name in GOLD_MEASURES)
    assert found["paths"] == 1


def test_means_by_instance_and_hops() -> None:
    scores = pl.DataFrame(
        {
            "question_id": ["1", "2", "3", "1"],
            "instance": ["12", "12", "12", "2-lex"],
            "hits_at_1_lex": [1.0, 0.0, None, 1.0],
            "hits_at_1": pl.Series([None] * 4, dtype=pl.Float64),
        }
    )
    questions = pl.DataFrame({"question_id": ["1", "2", "3"], "hops": [1, 2, 2]})
    costs = pl.DataFrame(
        {"question_id": ["1"], "instance": ["12"], "module": ["retrieval"], "seconds": [0.25]}
    )
    found = summarise(scores, questions, costs=costs, resamples=50)
    assert PATH_SUMMARY.validated(found).height == found.height
    rows = {(one["instance"], one["hops"], one["measure"]): one for one in found.iter_rows(named=True)}
    every = rows["12", "all", "hits_at_1_lex"]
    assert (every["mean"], every["questions"], every["undefined"]) == (0.5, 2, 1)
    assert every["low"] <= 0.5 <= every["high"]
    assert rows["12", "2", "hits_at_1_lex"]["mean"] == 0
    assert rows["12", "1", "seconds_retrieval"]["mean"] == 0.25
    assert rows["12", "2", "seconds_retrieval"]["mean"] is None
    assert ("12", "all", "hits_at_1") not in rows
    assert ("2-lex", "all", "seconds_retrieval") not in rows
    assert found["instance"].unique(maintain_order=True).to_list() == ["2-lex", "12"]

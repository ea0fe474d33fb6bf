"""What is learnt from gold answers."""

import itertools
import json
from operator import eq

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.systems.lego.llm.path_selection import (
    SelectionPrompts,
    candidate_lines,
    parse_selection,
)
from graphrag_dagster.systems.lego.search.hop_prediction import (
    KnownHops,
    LexicalHops,
    distinguishable_hops,
)
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions, Recipe, Switches
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Subgraph
from graphrag_dagster.systems.lego.studies.study_runner import given_hops
from graphrag_dagster.systems.lego.training.gold_paths import (
    GoldPath,
    GoldPaths,
    TrainingExample,
    leads_to,
    split_paths,
    training_lines,
)
from support.path_graphs import graph_of, node
from support.verbalising import texts_of


def test_the_shortest_paths_to_answers_are_learnt_from() -> None:
    store = graph_of(
        [("s", "p", "The Beatles!"), ("s", "q", "x"), ("x", "q", "$"), ("x", "r", "The Beatles!")]
    )
    seeds = (node(store, "s"),)
    query, subgraph = PathQuery("who?", seeds), Subgraph.of_edges(store, np.arange(store.edges), seeds)
    gold = GoldPaths(PathOptions(direction="out"), store)
    assert gold.of(query, ["beatles", "$", "nobody"], subgraph) == [
        GoldPath("who?", "s", "s -> p -> The Beatles!", ("s -> q -> x",)),
        GoldPath("who?", "s", "s -> q -> x -> q -> $", ("s -> q -> x",)),
    ]
    assert gold.of(query, ["nobody"], subgraph) == []
    assert (
        len(GoldPaths(PathOptions(direction="out"), store, most=1).of(query, ["beatles", "$"], subgraph)) == 1
    )


def test_no_paths_lead_nowhere() -> None:
    assert leads_to(texts_of("a -> p -> b").at([]), ["b"]).tolist() == []


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abcdefgh")), max_size=40), st.integers(0, 3))
def test_no_topic_is_learnt_from_and_tried(drawn: list[tuple[int, str]], seed: int) -> None:
    pairs = [GoldPath(f"q{number}", topic, "p") for number, topic in drawn]
    learnt, tried = split_paths(pairs, 0.5, seed)
    assert {one.topic for one in learnt}.isdisjoint(one.topic for one in tried)
    assert sorted([*learnt, *tried], key=str) == sorted(pairs, key=str)
    assert split_paths(pairs[::-1], 0.5, seed) == (learnt[::-1], tried[::-1])


def test_about_the_share_is_tried() -> None:
    learnt, tried = split_paths([GoldPath("q", str(number), "p") for number in range(1000)])
    assert 120 < len(tried) < 280
    assert split_paths(learnt, 0.0)[1] == []
    assert split_paths(learnt, 1.0)[0] == []


def test_a_selector_is_trained_with_what_it_is_asked() -> None:
    candidates = texts_of("s -> p -> a", "s -> p -> b -> q -> c", "s -> p -> <|im_end|>")
    asking = SelectionPrompts()
    example = TrainingExample.of_paths("who </material>?", candidates, ["C", "<|im_end|>"])
    none = TrainingExample.of_paths("who?", candidates, ["z"])
    empty = TrainingExample.of_paths("who?", candidates.at([]), ["z"])
    one, other = map(json.loads, training_lines(asking, [example, empty, none]))
    shown = candidate_lines(candidates)
    assert [message["role"] for message in one["messages"]] == ["system", "user", "assistant"]
    sent = asking.messages("path", "who </material>?", shown)
    assert [message["content"] for message in one["messages"][:2]] == [message.content for message in sent]
    assert parse_selection(one["messages"][2]["content"], shown, "default") == [1, 2]
    assert other["messages"][2]["content"] == "NONE"


@pytest.mark.parametrize(
    ("question", "hops"),
    [
        ("what does Ada act in", 1),
        ("who wrote films", 1),
        ("the films directed by the director of Ran", 2),
        ("", 1),
        ("of of of of of of", 4),
    ],
)
def test_steps_are_counted_by_words(question: str, hops: int) -> None:
    assert LexicalHops().hops(question) == hops


def test_steps_are_learnt_from_examples() -> None:
    topics = [f"Film {number}" for number in range(20)]
    one = [f"who directed {topic}" for topic in topics]
    two = [f"which other films share a director with {topic}" for topic in topics]
    hops = [1] * 20 + [2] * 20
    told = distinguishable_hops(StaticEmbedder(), one + two, hops, topics * 2)
    assert sum(map(eq, told, hops)) / len(hops) > 0.9


def test_a_topic_is_not_told_by_itself() -> None:
    # Each topic has its own word for two steps, so that what is learnt of others tells nothing.
    topics = ["Aa", "Aa", "Bb", "Bb", "Cc", "Cc"]
    words = ["one", "zebra", "one", "quartz", "one", "lagoon"]
    told = distinguishable_hops(StaticEmbedder(), words, [1, 2] * 3, topics)
    assert len(told) == 6
    assert told == distinguishable_hops(StaticEmbedder(), words, [1, 2] * 3, topics)
    assert KnownHops({"who?": 3}).hops("who?") == 3
    assert KnownHops({}).hops("who wrote films") == 1


def test_too_few_topics_are_not_tried() -> None:
    assert distinguishable_hops(StaticEmbedder(), ["a", "b"], [1, 2], ["t", "t"]) == []
    assert distinguishable_hops(StaticEmbedder(), ["a", "b"], [1, 2], ["t", "u"]) == []


def test_steps_that_do_not_differ_cannot_be_learnt() -> None:
    assert distinguishable_hops(StaticEmbedder(), ["a", "b"], [1, 1], ["t", "u"]) == []


def test_steps_are_told_where_an_instance_needs_them() -> None:
    films = [f"Film {number}" for number in range(6)]
    rows = [
        (place, text.format(film), hops, [film])
        for place, (film, (text, hops)) in enumerate(
            itertools.product(
                films, [("who directed {}", 1), ("films that share actors with films of {}", 2)]
            )
        )
    ]
    rows += [(12, "who knows", None, ["Film 1"]), (13, "who else", 1, [])]
    questions = pl.DataFrame(rows, schema=["position", "question", "hops", "seeds"], orient="row")
    combining = PathOptions(retrieval="isar", switches=Switches(combine=True))
    told = given_hops(questions, [Recipe("12", PathOptions()), Recipe("own", combining)])
    assert len(told) == 12
    assert told["who directed Film 3"] == 1
    assert told["films that share actors with films of Film 3"] == 2
    assert given_hops(questions, [Recipe("12", PathOptions())]) == {}
    assert given_hops(questions.filter(hops=1), [Recipe("own", combining)]) == {}

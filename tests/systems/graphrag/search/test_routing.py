"""Which search method a question asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster import Index
from graphrag_dagster.systems.graphrag.search.router import (
    WEIGHTS,
    cues,
    probability_of_local,
    weightiest_cues,
)

PARTICULAR = [
    ("Who led the Dockers Union?", ["Dockers Union"]),
    ("When was the strike?", []),
    ("Why did Hanna Quill accuse him?", ["Hanna Quill"]),
    ("What did the union say about the agreement in June?", []),
    ("How do I break an agreement?", []),
    ("what does the union do", []),
]
WHOLE = [
    "What are the main themes?",
    "Which trends do people talk about?",
    "Summarise the documents.",
    "What do guests have in common?",
    "Give me an overview.",
]
PASSAGE = (
    "The Dockers Union called a strike in June. Hanna Quill accused the union of breaking the agreement."
)


@pytest.mark.parametrize(("question", "names"), PARTICULAR)
def test_names_and_what_to_look_for_ask_for_something_in_particular(question: str, names: list[str]) -> None:
    assert probability_of_local(cues(question, names, [PASSAGE], lambda _: 0.5)) > 0.6


@pytest.mark.parametrize("question", WHOLE)
def test_words_for_all_and_for_many_ask_for_the_whole(question: str) -> None:
    assert probability_of_local(cues(question, [], [PASSAGE], lambda _: 0.5)) < 0.4


@given(st.text(), st.lists(st.text()), st.lists(st.text()))
def test_every_cue_lies_between_0_and_1_whatever_is_asked(
    question: str, names: list[str], texts: list[str]
) -> None:
    found = cues(question, names, texts, lambda _: 0.5)
    assert found.keys() == WEIGHTS.keys()
    assert all(0 <= value <= 1 for value in found.values())
    assert 0 < probability_of_local(found) < 1


def test_the_reason_is_what_pulled_most() -> None:
    found = cues("Who led the Dockers Union?", ["Dockers Union"], [PASSAGE], lambda _: 0.5)
    first, *_ = weightiest_cues(found, 1)
    assert WEIGHTS[first] * found[first] == max(WEIGHTS[name] * value for name, value in found.items())
    assert set(weightiest_cues(found, 1)).isdisjoint(weightiest_cues(found, -1))


def test_where_one_way_finds_nothing_the_other_is_tried(index: Index) -> None:
    answer = index.ask("Which robot cooks rice?")
    assert answer.refused
    assert "it found nothing, so" in (answer.why or "")

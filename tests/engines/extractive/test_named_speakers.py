"""Speakers whom a question names: what they said comes before what others said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer
from graphrag_dagster.engines.extractive.sentence_selection import said_by_named
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit
from graphrag_dagster.kernel.text.quotable_sentences import SentenceLine

TURNS = [
    "Ada Rusk MP: The quay should be widened before the winter.",
    "It would cost the town little.",
    "Industrial Designer: The quay needs a second crane.",
    "Marketing: Nobody would pay for the quay.",
]
LINES = [SentenceLine(text, place, len(TURNS), 1) for place, text in enumerate(TURNS)]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What did Ada Rusk think of the quay?", [True, True, False, False]),
        ("Summarize what ada rusk said about the quay.", [True, True, False, False]),
        ("What did the industrial designer say about the quay?", [False, False, True, False]),
        ("What did Marketing say about the quay?", [False, False, False, True]),
        ("What was said about marketing the quay?", [False] * 4),
        ("What did Rusk think of the quay?", [False] * 4),
        ("When did Ada Rusk leave the quay?", [False] * 4),
    ],
)
def test_a_question_about_statements_names_their_speaker(question: str, said: list[bool]) -> None:
    assert said_by_named(question, LINES).tolist() == said


def test_the_first_statement_is_of_the_speaker_who_is_asked_for() -> None:
    turns = (
        "Ben Okoro: The quay was always dear to Ada Rusk.",
        "Ada Rusk: The quay is what the town lives on.",
    )
    row = ContextUnit(1, "Council", " ".join(turns), tuple((turn, None) for turn in turns), "source")
    said = ExtractiveAnswerer(StaticEmbedder()).answer(
        "What does Ada Rusk think of the quay?", [row], "x" * 4000
    )
    assert said.quotes[0][0] == turns[1]


@given(st.text(max_size=60), st.text("ABab: .", max_size=40))
def test_any_words_are_read(question: str, sentence: str) -> None:
    assert len(said_by_named(f"What did {question} say?", [SentenceLine(sentence, 0, 1, 1)])) == 1

"""What is wished of the form of an answer is read off its words."""

import pytest

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.text.answer_form import AnswerForm, most_sentences


@pytest.mark.parametrize(
    ("response_type", "most"),
    [
        ("single sentence", 1),
        ("A single sentence.", 1),
        ("2-3 sentences", 3),
        ("at most five sentences", 5),
        ("list of 3-7 points", 7),
        ("a bulleted list of 3 to 5 items", 5),
        ("multiple paragraphs", 12),
        ("single paragraph", None),
        ("list of 30 points", None),
        ("0 sentences", None),
        ("in the voice of a pirate", None),
    ],
)
def test_a_number_of_sentences_is_read_off_a_response_type(response_type: str, most: int | None) -> None:
    assert most_sentences(response_type, 12) == most


def test_a_response_type_is_short_and_on_one_line() -> None:
    assert AnswerForm.checked(" a\n\x00b\u2028 ", general_knowledge=False) == AnswerForm("a b")
    assert AnswerForm.checked(" \n", general_knowledge=False).response_type is None
    with pytest.raises(QuestionError, match="has 201 characters; at most 200"):
        AnswerForm.checked("x" * 201, general_knowledge=False)


@pytest.mark.parametrize("longest", ["x" * 200, " " * 100 + "x" * 100])
def test_the_longest_response_type_is_taken(longest: str) -> None:
    assert AnswerForm.checked(longest, general_knowledge=True) == AnswerForm(longest.strip(), True)


def test_at_most_the_usual_number_of_sentences_can_be_asked_for() -> None:
    assert [most_sentences(f"{number} sentences", 5) for number in (0, 1, 5, 6, 1000)] == [
        None,
        1,
        5,
        None,
        None,
    ]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.measures.answer_claims import repeated_claims


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The plant closed.", "the  plant\tclosed"),
        ("In 2020, it closed.", "In 2020 it closed"),
        ("“Acme” (Ltd.) grew", "Acme Ltd grew!"),
        ("It’s closed", "It's closed."),
        ("Große Straße", "GROSSE STRASSE"),
        ("Cafe\u0301", "Café"),
        ("A – B", "A B"),
        ("The U.S. won.", "The U.S won"),
        ("**Acme** grew", "Acme grew"),
        ("?!", "…"),
        ("", " \n"),
    ],
)
def test_same_words(one: str, other: str) -> None:
    assert repeated_claims([one, other]) == {1: 0}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It grew by 3.5 points", "It grew by 35 points"),
        ("It fell to -5 degrees", "It fell to 5 degrees"),
        ("A share of .5", "A share of 5"),
        ("A share of -.5", "A share of .5"),
        ("They write C#", "They write C"),
        ("It grew by 5%", "It grew by 5"),
        ("It cost $5", "It cost €5"),
        ("Scores 1-5", "Scores 1.5"),
        ("10² people", "102 people"),
        ("They re-signed", "They resigned"),
        ("a b", "b a"),
        ("a a", "a"),
    ],
)
def test_different_words(one: str, other: str) -> None:
    assert repeated_claims([one, other]) == {}


def test_first_occurrence_wins() -> None:
    assert repeated_claims(["B.", "a", "b", "A!", "c"]) == {2: 0, 3: 1}


def test_no_claims() -> None:
    assert repeated_claims([]) == {}


@given(st.lists(st.text(max_size=6), max_size=10))
def test_every_claim_is_a_first_one_or_repeats_one(claims: list[str]) -> None:
    again = repeated_claims(claims)
    kept = [position for position in range(len(claims)) if position not in again]
    assert set(again.values()) <= set(kept)
    assert all(earlier < position for position, earlier in again.items())
    assert repeated_claims([claims[i] for i in kept]) == {}
    assert repeated_claims(claims + claims).keys() == set(range(2 * len(claims))) - set(kept)

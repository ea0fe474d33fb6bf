import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.core.evaluation.claims.deduplication import distinct


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
    assert distinct([one, other]) == [0]


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
    assert distinct([one, other]) == [0, 1]


def test_first_occurrence_wins() -> None:
    assert distinct(["B.", "a", "b", "A!", "c"]) == [0, 1, 4]


def test_no_claims() -> None:
    assert distinct([]) == []


@given(st.lists(st.text(max_size=6), max_size=10))
def test_kept_positions_cover_all_claims_once(claims: list[str]) -> None:
    kept = distinct(claims)
    assert kept == sorted(set(kept))
    assert distinct([claims[i] for i in kept]) == list(range(len(kept)))
    assert distinct(claims + claims) == kept

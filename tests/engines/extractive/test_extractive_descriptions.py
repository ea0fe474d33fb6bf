"""Merged descriptions: whole sentences of the group, chosen and never changed."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.description_merging import ExtractiveDescriptionMerger
from graphrag_dagster.kernel.tasks.task_ports import DescriptionGroup

SHIP = "The ferry Lady Ingrith was built at Ketterick Shipyard in 1968."
STORM = "Captain Solveig Ramsden held the ferry at the quay during the storm."
SINKING = "At night the hull broke in two and sank off the rocks."


def merged(*descriptions: str, max_words: int = 100, names: tuple[str, ...] = ("LADY INGRITH",)) -> str:
    (one,) = ExtractiveDescriptionMerger(max_words).merge([DescriptionGroup(names, descriptions)])
    assert one.engine == "extractive"
    assert one.problem is None
    return one.text


def test_one_distinct_description_stays_word_for_word() -> None:
    odd = "  the   LADY ingrith — \n is a ship"
    assert merged(odd) == odd
    assert merged(odd, odd, "", "  ") == odd
    assert merged() == ""


def test_everything_that_fits_stays_in_order() -> None:
    assert merged(SHIP, STORM, SINKING) == f"{SHIP} {STORM} {SINKING}"


@pytest.mark.parametrize(
    "twin",
    [
        SHIP.replace("The ferry", "the ferry").rstrip("."),
        "rry Lady Ingrith was built at Ketterick Shipyard in 1968.",
        "The ferry Lady Ingrith was built at Ketteri",
        "The  ferry Lady\nIngrith was built at Ketterick Shipyard in 1968.",
        "The ferry Lady Ingrith was built at the Ketterick Shipyard in 1968!",
    ],
)
def test_twins_and_parts_are_left_out(twin: str) -> None:
    assert merged(SHIP, twin, STORM) == f"{SHIP} {STORM}"
    assert merged(twin, SHIP, STORM).count("1968") == 1


def test_scraps_give_way_to_whole_sentences() -> None:
    assert merged("and later the Lady Ingrith", SHIP, "| Lady Ingrith | ferry |") == SHIP
    assert merged("the Lady Ingrith", "a red ferry") == "the Lady Ingrith; a red ferry"


def test_the_limit_counts_words_of_whole_sentences() -> None:
    text = merged(SHIP, STORM, SINKING, max_words=24)
    assert len(text.split()) <= 24
    assert text in {f"{SHIP} {STORM}", f"{SHIP} {SINKING}", f"{STORM} {SINKING}"}
    assert merged(SHIP, STORM, max_words=3) in {SHIP, STORM}


def test_marginal_relevance_by_hand() -> None:
    """Cosines with the sum of all: .853, .853, .640; likeness to the first: .75, .25.

    After the first: .7·.853 − .3·.75 = .372 against .7·.640 − .3·.25 = .373.
    """
    first, like, unlike = (
        "Alpha bravo charlie delta.",
        "Alpha bravo charlie echo.",
        "Alpha foxtrot golf hotel.",
    )
    assert merged(first, like, unlike, max_words=8) == f"{first} {unlike}"
    assert merged(first, like, max_words=8) == f"{first} {like}"


@given(st.lists(st.text("ab .!?A\n", max_size=40), max_size=12), st.integers(1, 20))
def test_the_result_is_made_of_given_sentences(descriptions: list[str], max_words: int) -> None:
    text = merged(*descriptions, max_words=max_words, names=())
    again = merged(*descriptions, max_words=max_words, names=())
    assert text == again
    given_words = {" ".join(part.split()) for part in descriptions}
    left = " ".join(text.split())
    if len({part for part in descriptions if part.strip()}) > 1 and len(left.split()) > max_words:
        assert left in given_words
    if not any(part.strip() for part in descriptions):
        assert text == ""


def test_many_sentences_are_quick() -> None:
    group = DescriptionGroup(
        ("X",),
        tuple(f"X saw the {n % 83} ships and {n} men near quay {n % 7} on day {n}." for n in range(2_000)),
    )
    began = time.process_time()
    results = ExtractiveDescriptionMerger().merge([group] * 5)
    assert time.process_time() - began < 2
    assert len({result.text for result in results}) == 1
    assert len(results[0].text.split()) <= 100

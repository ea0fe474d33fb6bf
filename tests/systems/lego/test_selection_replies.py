"""What a reply selects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.lego.llm.path_selection import (
    count_that_fit,
    is_empty_selection,
    parse_selection,
)

P1, P2 = "a -> r -> b", "a -> r -> b -> r2 -> c"


def test_a_beginning_of_a_path_is_selected_by_the_rule_of_the_paper_alone() -> None:
    assert parse_selection(P2, [P1, P2], "default") == [1]
    assert parse_selection(P2, [P1, P2], "paper") == [0, 1]
    assert parse_selection(f"x -> r -> y, then {P2}", [P1, P2, "x -> r -> y"], "paper") == [2, 0, 1]


@pytest.mark.parametrize(
    ("reply", "places"),
    [
        (f"{P2}\n{P1}", [1, 0]),
        (f"2. {P2}", [1]),
        (f"- {P1}\n* {P1}\n• {P2}", [0, 1]),
        (f"1) '{P1}'", [0]),
        (f'(2) "{P2}"', [1]),
        (f"**{P1}**", [0]),
        (f"- 1. `{P1}`", [0]),
        ("A  ->  R ->\tB", [0]),
        (f"I choose:\n{P1}\nsince it is good.", [0]),
        ("2", [1]),
        ("[2], #1", [1, 0]),
        ("1 and 2.", [0, 1]),
        ("1\n7\n0", [0]),
        (f"The path is {P1}.", []),
        ("a -> r", []),
        ("3. a -> r -> x", []),
        ("1 path", []),
        ("NONE", []),
        ("", []),
    ],
)
def test_lines_name_candidates(reply: str, places: list[int]) -> None:
    assert parse_selection(reply, [P1, P2], "default") == places


def test_labels_that_look_like_numbers_and_bullets_are_found() -> None:
    shown = ["1. FC Köln", "12", "- x", "7) up", "'quoted'", "us", "US", "$"]
    for place, text in enumerate(shown):
        assert parse_selection(text, shown, "default") == [place]
        assert parse_selection(f"{place + 1}. {text}", shown, "default") == [place]
    assert parse_selection("Us", shown, "default") == [5]


@given(
    st.lists(
        st.text(min_size=1, max_size=9).map(lambda text: " ".join(text.split())), unique=True, max_size=6
    )
)
def test_a_numbered_list_selects_itself(shown: list[str]) -> None:
    shown = [text for text in shown if text]
    reply = "\n".join(f"{number}. {text}" for number, text in enumerate(shown, start=1))
    found = parse_selection(reply, shown, "default")
    # Candidates that differ in capitals alone may stand for each other.
    assert len(found) <= len(shown)
    assert {shown[place].casefold() for place in found} == {text.casefold() for text in shown}


@pytest.mark.parametrize(
    ("reply", "none"), [("NONE", True), ("none.", True), ('"None"', True), ("none of them", False)]
)
def test_nothing_may_be_selected(reply: str, none: bool) -> None:
    assert is_empty_selection(reply) is none


@given(st.lists(st.integers(1, 20), max_size=12), st.integers(0, 60))
def test_as_many_as_fit_are_shown(sizes: list[int], most: int) -> None:
    tokenizer = get_tokenizer("cl100k_base")

    def written(count: int) -> str:
        return "\n".join(" word" * size for size in sizes[:count])

    count = count_that_fit(len(sizes), written, most, tokenizer)
    assert count == max(
        (n for n in range(1, len(sizes) + 1) if tokenizer.count(written(n)) <= most), default=0
    )

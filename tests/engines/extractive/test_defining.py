"""What says of a name what it is, found as one expression of all its forms would find it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.description_merging import defines
from graphrag_dagster.engines.extractive.names.name_wordlists import OFFICES

PIECES = [
    "Ada",
    "ada",
    "Ada Ada",
    "(an AI)",
    "X.",
    "C++",
    " ",
    "  ",
    "\n",
    ",",
    ".",
    "is",
    "was",
    "a",
    "an",
    "the",
]
PIECES += ["who is", "means", "stands for", "chief", "Captain", "mayor", "ıſK", "is a", ", the ", "s"]


def at_once(name: str) -> re.Pattern[str]:
    form = r"\s+".join(map(re.escape, name.split()))
    return re.compile(
        rf"\b{form}(?:\s\([^)]*\))?(?:\s(?:is|was|are|were)\s(?:an?|the|one|our)\b|,\s(?:an?|the|our|who\sis)\s"
        rf"|\s(?:means?|stands\sfor)\b)|\b(?:{'|'.join(sorted(OFFICES))})\s{form}\b",
        re.IGNORECASE,
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("The Lady Ingrith is a ferry.", True),
        ("LADY  INGRITH (Kelderwick) was the last.", True),
        ("Lady Ingrith, the old ferry, sank.", True),
        ("They met captain Lady Ingrith there.", True),
        ("The Lady Ingrith sank.", False),
        ("A captain is a man; Lady Ingrith sank.", False),
        ("My Lady Ingrithson is a ferry.", False),
    ],
)
def test_forms(text: str, says: bool) -> None:
    assert defines("Lady Ingrith", text) is says


@given(
    st.sampled_from(["Ada", "Ada Ada", "C++", "X.", "(an AI)", "isk", "a", ""]),
    st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map(" ".join)
    | st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
)
def test_as_one_expression_would(name: str, text: str) -> None:
    assert defines(name, text) is (at_once(name).search(text) is not None)

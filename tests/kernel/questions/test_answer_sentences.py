"""The sentences of an answer, without citations and Markdown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.text.statement_reading import answer_sentences, without_citations


def texts(answer: str) -> list[str]:
    return [one.text for one in answer_sentences(answer)]


@pytest.mark.parametrize(
    "cited",
    [
        "The quay was built in 1998 [1].",
        "The quay was built in 1998 [2, 3].",
        "The quay was built in 1998 [2-4][^7].",
        "The quay was built in 1998 [1](http://example.org/one).",
        "The quay was built in 1998 [Data: Reports (1, 2)].",
        "The quay was built in 1998 [Data: Reports (1, 2, +more); Entities (4)].",
        "The quay was built [Data: Sources (9)] in 1998 (Data: Reports (2)).",
        "The quay was built in 1998.[5]",
        "The quay was built in 1998. [Data: Reports (5)]",
        "The quay was built in 1998【3†source】.",
    ],
)
def test_citations_are_no_part_of_a_sentence(cited: str) -> None:
    assert texts(cited) == ["The quay was built in 1998."]
    assert texts(f"{cited} It cost [sic] a lot.") == ["The quay was built in 1998.", "It cost [sic] a lot."]


ANSWER = """# Fires of the harbour [1]

**What burnt**
The fishmarket burnt in 2017 [2, 3]. Dr. Smith saw it,
and so did Ann.

1. **Losses:** the firm lost 3.5 million [Data: Sources (3)].
2. *Vega* burnt too
   - so did `nets_and_rope`

What followed
-------------
> The [council](http://example.org/c) rebuilt it.

| year | cost |
|------|------|
| 2018 | 5 |

---
"""


def test_headings_list_items_and_rows() -> None:
    assert [(one.text, one.heading) for one in answer_sentences(ANSWER)] == [
        ("Fires of the harbour", True),
        ("What burnt", True),
        ("The fishmarket burnt in 2017.", False),
        ("Dr. Smith saw it, and so did Ann.", False),
        ("Losses: the firm lost 3.5 million.", False),
        ("Vega burnt too", False),
        ("so did nets_and_rope", False),
        ("What followed", True),
        ("The council rebuilt it.", False),
        ("year; cost", False),
        ("2018; 5", False),
    ]


def test_a_bold_sentence_is_no_heading() -> None:
    [bold, plain] = answer_sentences("**The quay burnt in 2017.** Nobody died.")
    assert not bold.heading
    assert not plain.heading
    assert (bold.text, plain.text) == ("The quay burnt in 2017.", "Nobody died.")
    [alone] = answer_sentences("**The quay burnt in 2017.**")
    assert not alone.heading


@pytest.mark.parametrize("empty", ["", " \n\t", "---", "[1] [Data: Reports (2)]", "***\n...", "| - | - |"])
def test_without_words_there_are_no_sentences(empty: str) -> None:
    assert answer_sentences(empty) == ()


def test_other_languages() -> None:
    assert texts("码头建于1998年。它花了很多钱[2]。") == ["码头建于1998年。", "它花了很多钱。"]
    assert texts("Der Kai wurde am 3. Mai 1998 gebaut [1]. Er brannte ab.")[-1] == "Er brannte ab."


@given(st.text(alphabet="QZ .?!\n*_#-|[]()1,>`: ", max_size=200))
def test_every_letter_is_in_exactly_one_sentence(answer: str) -> None:
    shown = texts(answer)
    assert re.findall("[QZ]", "".join(shown)) == re.findall("[QZ]", without_citations(answer))
    assert all(one == " ".join(one.split()) for one in shown)


def test_time_is_linear_in_hostile_text() -> None:
    for piece in ("[1, ", "**a ", "[Data: ", "【1", "[a](", "_ ", "- ", "1. "):
        assert isinstance(answer_sentences(piece * 20_000), tuple)

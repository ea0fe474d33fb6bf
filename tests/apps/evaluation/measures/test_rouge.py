import random
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.measures.answer_claims import (
    distance,
    distances,
    rouge_score_distances,
    tokens,
)

token_lists = st.lists(st.sampled_from("abcdef"), max_size=90)


def lcs(one: list[str], other: list[str]) -> int:
    row = [0] * (len(other) + 1)
    for left in one:
        before = row
        row = [0]
        for column, right in enumerate(other):
            row.append(before[column] + 1 if left == right else max(before[column + 1], row[column]))
    return row[-1]


def fraction(one: list[str], other: list[str]) -> Fraction:
    together = len(one) + len(other)
    return Fraction(together - 2 * lcs(one, other), together) if together else Fraction(0)


def _oracle(module: str) -> Any:
    oracle = pytest.importorskip(f"rouge_score.{module}")
    logging = pytest.importorskip("absl.logging")
    # Its handler would close the stream of this very test once logging is set up anew.
    logging.get_absl_handler().python_handler.stream = sys.__stderr__
    return oracle


@given(st.text() | st.text(alphabet="aBİK\u0130ßẞé_-'.09 \t\n\x85\u2028Ω"))
def test_tokens_are_those_of_rouge_score(text: str) -> None:
    oracle = _oracle("tokenize")
    assert tokens(text) == oracle.tokenize(text, None)


def test_distances_are_those_of_rouge_score_on_random_pairs() -> None:
    scorer = _oracle("rouge_scorer").RougeScorer(["rougeL"])
    rng = random.Random(3)
    vocabulary = [
        f"{word}{mark}" for word in ("Alpha", "beta", "GAMMA-2", "don't", "x", "é") for mark in " ,."
    ]
    for _ in range(2_500):
        one, other = (" ".join(rng.choices(vocabulary, k=rng.randint(1, 14))) for _ in range(2))
        m, n = len(tokens(one)), len(tokens(other))
        if m and n:
            theirs = scorer.score(one, other)["rougeL"]
            common = round(theirs.recall * m)
            assert distance(tokens(one), tokens(other)) == (m + n - 2 * common) / (m + n)
            assert distance(tokens(one), tokens(other)) == pytest.approx(1 - theirs.fmeasure, abs=1e-14)


@given(st.lists(token_lists, max_size=6))
def test_every_distance_is_the_double_nearest_to_its_fraction(claims: list[list[str]]) -> None:
    pairs = [(one, other) for i, one in enumerate(claims) for other in claims[i + 1 :]]
    found = distances(claims)
    assert found.dtype == np.float64
    assert found.tolist() == [float(fraction(one, other)) for one, other in pairs]


def test_lists_without_tokens() -> None:
    assert distance([], []) == 0
    assert distance([], ["a"]) == distance(["a"], []) == 1


@pytest.mark.parametrize("claims", [[], [["a"]], [[]]])
def test_fewer_than_two_claims_have_no_distances(claims: list[list[str]]) -> None:
    assert distances(claims).shape == (0,)


def test_order_of_words_counts() -> None:
    assert distance("abcd", "dcba") == 0.75


@given(st.lists(token_lists, max_size=6))
def test_rouge_score_gives_the_same_doubles(claims: list[list[str]]) -> None:
    assert rouge_score_distances(claims).tolist() == distances(claims).tolist()

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.inference.result_statistics import JudgeAlignment, alignment

votes = st.sampled_from(["a", "b", "tie"])
MIRROR = {"a": "b", "b": "a", "tie": "tie"}


def test_alignment_by_hand() -> None:
    labels = ["a", "a", "b", "b", "tie", "tie", "a", "b"]
    differences = [3, -1, -2, 5, 4, 0, 0, 0]
    assert alignment(labels, differences) == JudgeAlignment(
        comparisons=8, judge_ties=2, agree=2, disagree=4, claim_ties=2, share=2 / 6
    )


@pytest.mark.parametrize("labels", [[], ["tie", "tie"]])
def test_without_decisions_there_is_no_agreement(labels: list) -> None:
    assert alignment(labels, [1] * len(labels)) == JudgeAlignment(len(labels), len(labels), 0, 0, 0, None)


@given(st.lists(st.tuples(votes, st.integers(-2, 2)), max_size=40), st.randoms(use_true_random=False))
def test_alignment_counts_each_comparison_once(rows: list, random) -> None:
    labels, differences = [row[0] for row in rows], [row[1] for row in rows]
    found = alignment(labels, differences)
    assert found.comparisons == len(rows) == found.judge_ties + found.agree + found.disagree
    assert found.claim_ties <= found.disagree
    assert found.agree == sum((label, d > 0) in {("a", True), ("b", False)} for label, d in rows if d)
    assert alignment([MIRROR[label] for label in labels], [-d for d in differences]) == found
    shuffled = random.sample(rows, len(rows))
    assert alignment((row[0] for row in shuffled), (row[1] for row in shuffled)) == found


@pytest.mark.parametrize(
    ("labels", "differences"), [(["a"], []), (["a"], [math.nan]), (["c"], [1]), (["tie"], [1, 2])]
)
def test_comparisons_that_cannot_be_counted_are_refused(labels: list, differences: list) -> None:
    with pytest.raises(ValueError, match=r"zip\(\)|not a number|labels must be"):
        alignment(labels, differences)

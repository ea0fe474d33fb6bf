from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.inference.result_statistics import alignments
from graphrag_dagster.apps.evaluation.tables import ANSWER_MEASURES, COMPARISONS

votes = st.sampled_from(["a", "b", "tie"])
MIRROR = {"a": "b", "b": "a", "tie": "tie"}


def alignment(labels: list[str], differences: list[int]) -> dict[str, Any]:
    """The row of one criterion: the answers of a have so many claims more than those of b."""
    cells = [
        (f"q{n}", None if label == "tie" else label, difference)
        for n, (label, difference) in enumerate(zip(labels, differences, strict=True))
    ]
    judged = pl.DataFrame(
        [(question, "a", "b", "comprehensiveness", label) for question, label, _ in cells],
        schema=COMPARISONS.types("question_id", "condition_a", "condition_b", "criterion", "label"),
        orient="row",
    )
    counted = pl.DataFrame(
        [
            (question, condition, "claims", value)
            for question, _, difference in cells
            for condition, value in (("a", 7.0 + difference), ("b", 7.0))
        ],
        schema=ANSWER_MEASURES.types("question_id", "condition", "measure", "value"),
        orient="row",
    )
    (row,) = alignments(judged, counted)
    assert (row.pop("criterion"), row.pop("measure")) == ("comprehensiveness", "claims")
    return row


def test_alignment_by_hand() -> None:
    labels = ["a", "a", "b", "b", "tie", "tie", "a", "b"]
    differences = [3, -1, -2, 5, 4, 0, 0, 0]
    assert alignment(labels, differences) == {
        "comparisons": 8,
        "judge_ties": 2,
        "agree": 2,
        "disagree": 4,
        "claim_ties": 2,
        "agreement": 2 / 6,
    }


def test_without_decisions_there_is_no_agreement() -> None:
    found = alignment(["tie", "tie"], [1, 1])
    assert list(found.values()) == [2, 2, 0, 0, 0, None]


@given(
    st.lists(st.tuples(votes, st.integers(-2, 2)), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_alignment_counts_each_comparison_once(rows: list[tuple[str, int]], random: Any) -> None:
    labels, differences = [row[0] for row in rows], [row[1] for row in rows]
    found = alignment(labels, differences)
    assert found["comparisons"] == len(rows) == found["judge_ties"] + found["agree"] + found["disagree"]
    assert found["claim_ties"] <= found["disagree"]
    assert found["agree"] == sum((label, d > 0) in {("a", True), ("b", False)} for label, d in rows if d)
    assert alignment([MIRROR[label] for label in labels], [-d for d in differences]) == found
    shuffled = random.sample(rows, len(rows))
    assert alignment([row[0] for row in shuffled], [row[1] for row in shuffled]) == found


@pytest.mark.parametrize("measure", ["clusters 0.5", "claims inclusive", "words"])
def test_only_counterparts_are_compared(measure: str) -> None:
    judged = pl.DataFrame(
        [("q", "a", "b", "comprehensiveness", "a")],
        schema=COMPARISONS.types("question_id", "condition_a", "condition_b", "criterion", "label"),
        orient="row",
    )
    counted = pl.DataFrame({"question_id": ["q"], "condition": ["a"], "measure": [measure], "value": [1.0]})
    assert alignments(judged, counted) == []

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.core.evaluation.inference.votes import Alignment, alignment, majority, score

votes = st.sampled_from(["a", "b", "tie"])
ballots = st.lists(votes, min_size=1, max_size=9)
MIRROR = {"a": "b", "b": "a", "tie": "tie"}


@pytest.mark.parametrize(
    ("ballot", "label", "points"),
    [
        # spec_graphrag §13.4
        (["a", "a", "tie", "tie", "b"], "tie", 60),
        (["a", "a", "a", "b", "b"], "a", 60),
        (["b", "b", "b", "tie", "a"], "b", 30),
        (["tie"] * 5, "tie", 50),
        (["a"] * 5, "a", 100),
        (["b"] * 5, "b", 0),
        (["a"], "a", 100),
        # Half of an even number is no majority.
        (["a", "a", "tie", "tie"], "tie", 75),
        (["a", "a", "a", "b"], "a", 75),
        (["a", "b"], "tie", 50),
        (["a", "tie", "tie"], "tie", 200 / 3),
    ],
)
def test_votes_by_hand(ballot: list, label: str, points: float) -> None:
    assert majority(ballot) == label
    assert score(ballot) == pytest.approx(points)


@given(ballots, st.randoms(use_true_random=False))
def test_sides_are_treated_alike_and_order_does_not_matter(ballot: list, random) -> None:
    mirrored = [MIRROR[vote] for vote in ballot]
    assert score(ballot) + score(mirrored) == pytest.approx(100)
    assert majority(mirrored) == MIRROR[majority(ballot)]
    shuffled = random.sample(ballot, len(ballot))
    assert (score(shuffled), majority(shuffled)) == (score(ballot), majority(ballot))


@given(ballots)
def test_a_majority_has_more_than_half(ballot: list) -> None:
    label = majority(ballot)
    if label == "tie":
        assert max(ballot.count("a"), ballot.count("b")) * 2 <= len(ballot)
    else:
        assert ballot.count(label) * 2 > len(ballot)
        assert (score(ballot) > 50) == (label == "a")


@given(st.lists(votes, min_size=5, max_size=5))
def test_scores_of_five_replicates_are_tens(ballot: list) -> None:
    assert score(ballot) in range(0, 101, 10)


def judged(judge: Callable[[str, str], int], starts: int, replicates: int = 5) -> list[str]:
    """Votes of replicates whose order of answers alternates, swapped where replicate + starts is odd."""
    ballot = []
    for replicate in range(replicates):
        answers = ("b", "a") if (replicate + starts) % 2 else ("a", "b")
        winner = judge(*answers)
        ballot.append("tie" if winner == 0 else answers[winner - 1])
    return ballot


def test_a_judge_that_looks_at_positions_only_is_held_near_50() -> None:
    points = [score(judged(lambda *_: 1, starts)) for starts in range(2)]
    assert points == [60, 40]
    assert sum(points) / 2 == 50


@pytest.mark.parametrize("best", ["a", "b"])
def test_the_order_of_answers_changes_nothing_for_a_judge_blind_to_it(best: str) -> None:
    ballots = [judged(lambda *answers: answers.index(best) + 1, starts) for starts in range(2)]
    assert ballots == [[best] * 5] * 2


@pytest.mark.parametrize("wrong", [[], ["a", "c"], ["a", None], ["A"]])
def test_what_is_no_vote_is_refused(wrong: list) -> None:
    for function in (score, majority):
        with pytest.raises(ValueError, match="votes are a, b, tie"):
            function(wrong)


def test_alignment_by_hand() -> None:
    labels = ["a", "a", "b", "b", "tie", "tie", "a", "b"]
    differences = [3, -1, -2, 5, 4, 0, 0, 0]
    assert alignment(labels, differences) == Alignment(
        comparisons=8, judge_ties=2, agree=2, disagree=4, claim_ties=2, share=2 / 6
    )
    assert alignment(labels, differences).decided == 6


@pytest.mark.parametrize("labels", [[], ["tie", "tie"]])
def test_without_decisions_there_is_no_agreement(labels: list) -> None:
    assert alignment(labels, [1] * len(labels)) == Alignment(len(labels), len(labels), 0, 0, 0, None)


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
    with pytest.raises(ValueError, match=r"zip\(\)|not a number|labels are"):
        alignment(labels, differences)

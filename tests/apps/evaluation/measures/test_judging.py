from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from graphrag_dagster.apps.evaluation.measures.pairwise_judging import (
    answer_pairs,
    comparisons,
    judge_answers,
    judgement_rows,
    position_bias,
    sample_questions,
)
from graphrag_dagster.apps.evaluation.tasks import CRITERIA, IDENTICAL, AnswerPair, Verdict, Winner
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.models.chat.chat_model import Usage

CONDITIONS = ("C0", "C1", "C2", "C3", "TS", "SS")
QUESTIONS = [f"q{n}" for n in range(125)]
CELL = ("question_id", "condition_a", "condition_b", "criterion")
ONE_CALL = Usage(1, 900, 40)
Judge = Callable[[AnswerPair], Winner]

# Texts that differ in white space alone are the same answer.
names = st.lists(
    st.text("abcXYZ019 é", min_size=1, max_size=4),
    min_size=2,
    max_size=5,
    unique_by=lambda one: (*one.split(),),
)
ids = st.lists(st.text(min_size=1, max_size=6), max_size=6, unique=True)


def run(judge: Judge, plan: pl.DataFrame, texts: dict[tuple[str, str], str] | None = None) -> pl.DataFrame:
    """Judge a plan; by default every answer names its condition and its question."""
    cells = plan.select("question_id", "condition_a", "condition_b").unique().iter_rows()
    answers = texts or {(q, name): f"{name} on {q}" for q, *pair in cells for name in pair}
    questions = {q: f"{q}?" for q in plan["question_id"].unique()}
    verdicts = [Verdict(judge(one), "r", usage=ONE_CALL) for one in answer_pairs(plan, questions, answers)]
    return judgement_rows(plan, verdicts, "scripted")


def blind(comparison: AnswerPair) -> Winner:
    """Prefers one of the two texts wherever it stands."""
    return 1 if comparison.answer_1 > comparison.answer_2 else 2


def first(_: AnswerPair) -> Winner:
    return 1


def test_the_plan_of_the_paper() -> None:
    plan = comparisons(QUESTIONS, CONDITIONS)
    assert len(plan) == 37_500 == 15 * 125 * 4 * 5
    assert plan.columns == [
        "judgement_id",
        "question_id",
        "condition_a",
        "condition_b",
        "criterion",
        "replicate",
        "first",
    ]
    assert plan["judgement_id"].n_unique() == len(plan)
    assert plan["replicate"].dtype == pl.Int32
    pairs = plan.select("condition_a", "condition_b").unique(maintain_order=True).rows()
    assert pairs == list(combinations(CONDITIONS, 2))
    shown_first = plan.filter(pl.col("first") == pl.col("condition_a"))
    by_cell = shown_first.group_by(CELL).len()["len"]
    assert set(by_cell) == {2, 3}
    assert len(by_cell) == 15 * 125 * 4
    assert len(shown_first) / len(plan) == pytest.approx(0.5, abs=0.005)
    for share in shown_first.group_by("condition_a", "condition_b").len()["len"] / 2500:
        assert share == pytest.approx(0.5, abs=0.03)


@given(ids, names, st.integers(1, 6))
def test_all_pairs_questions_criteria_and_replicates_are_there_once_and_balanced(
    question_ids: list[str], conditions: list[str], replicates: int
) -> None:
    criteria = CRITERIA[:2]
    plan = comparisons(question_ids, conditions, criteria, replicates)
    expected = [
        (q, a, b, criterion, replicate)
        for q in question_ids
        for a, b in combinations(conditions, 2)
        for criterion in criteria
        for replicate in range(replicates)
    ]
    assert plan.select(*CELL, "replicate").rows() == expected
    assert plan["judgement_id"].n_unique() == len(plan)
    assert all(one in pair for one, *pair in plan.select("first", "condition_a", "condition_b").iter_rows())
    balance = plan.group_by(CELL).agg((pl.col("first") == pl.col("condition_a")).sum().alias("n"))["n"]
    assert set(balance) <= {replicates // 2, (replicates + 1) // 2}
    same_order = plan.group_by("question_id", "condition_a", "condition_b", "replicate").agg(
        pl.col("first").n_unique()
    )
    assert set(same_order["first"]) <= {1}


@given(ids, names, st.randoms(use_true_random=False))
def test_the_order_of_the_arguments_changes_no_prompt(
    question_ids: list[str], conditions: list[str], random: Any
) -> None:
    def shown(plan: pl.DataFrame) -> set[tuple[Any, ...]]:
        return {
            (q, frozenset((a, b)), criterion, replicate, first)
            for _, q, a, b, criterion, replicate, first in plan.iter_rows()
        }

    before = comparisons(question_ids, conditions)
    more = [*question_ids, "another question"], [*conditions, "another"]
    for listed in (question_ids, conditions, *more):
        random.shuffle(listed)
    assert shown(comparisons(question_ids, conditions)) == shown(before)
    assert shown(before) <= shown(comparisons(*more))


def test_the_plan_refuses_what_cannot_be_compared() -> None:
    for arguments, message in [
        ((["q", "q"], ["a", "b"]), "each question must be named once; q is"),
        ((["q"], ["a", "b", "a"]), "each condition must be named once; a is"),
        ((["q"], ["a"]), "at least two conditions"),
    ]:
        with pytest.raises(ValueError, match=message):
            comparisons(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("winner", "shown_first", "score"),
    [(1, "a", 100), (2, "a", 0), (1, "b", 0), (2, "b", 100), (0, "a", 50), (0, "b", 50)],
)
def test_a_win_is_100_a_loss_0_a_tie_50(winner: Winner, shown_first: str, score: int) -> None:
    plan = comparisons(["q"], ["a", "b"], CRITERIA[:1], 1).with_columns(first=pl.lit(shown_first))
    assert judgement_rows(plan, [Verdict(winner, "r")], "m")["score_a"].to_list() == [score]


@settings(max_examples=20)
@given(names, st.integers(1, 5), st.integers(2, 30))
@example(["0", "0 0"], 1, 2)
def test_turning_every_pair_of_a_blind_judge_changes_nothing(
    conditions: list[str], replicates: int, questions: int
) -> None:
    plan = comparisons(QUESTIONS[:questions], conditions, CRITERIA[:1], replicates)
    other = pl.when(pl.col("first") == pl.col("condition_a")).then("condition_b").otherwise("condition_a")
    turned = plan.with_columns(first=other)
    one, two = run(blind, plan), run(blind, turned)
    assert one.drop("first").equals(two.drop("first"))
    pairs = plan.select("condition_a", "condition_b").iter_rows()
    # The judge prefers by the whole text, in which more follows the name.
    assert set(one["winner"]) == {max(pair, key=lambda name: f"{name} on") for pair in pairs}


def test_a_judge_of_places_gives_60_to_40_in_a_cell_and_a_half_overall() -> None:
    judgements = run(first, comparisons(QUESTIONS, CONDITIONS))
    cells = judgements.group_by(CELL).agg(pl.col("score_a").mean())
    assert set(cells["score_a"]) == {40.0, 60.0}
    assert judgements["score_a"].mean() == pytest.approx(50, abs=0.5)
    rates = judgements.group_by("criterion", "condition_a", "condition_b").agg(pl.col("score_a").mean())
    assert rates["score_a"].min() > 47  # type: ignore[operator]
    assert rates["score_a"].max() < 53  # type: ignore[operator]
    bias = position_bias(judgements)
    assert bias["criterion"].to_list() == [*sorted(CRITERIA), "all"]
    assert set(bias["share"]) == {1.0}
    assert max(bias["p"]) < 1e-300
    assert bias["judgements"].to_list() == bias["first_wins"].to_list() == [9375] * 4 + [37_500]


def test_a_blind_judge_has_no_favourite_place() -> None:
    bias = position_bias(run(blind, comparisons(QUESTIONS, CONDITIONS)))
    assert bias["share"].to_list() == pytest.approx([0.5] * 5, abs=0.01)
    assert min(bias["p"]) > 0.05
    for low, high in bias.select("ci_low", "ci_high").iter_rows():
        assert low < 0.5 < high


def test_the_rows_of_the_judgements() -> None:
    plan = comparisons(["q"], ["a", "b"], CRITERIA[:1], 4)
    other = {"a": "b", "b": "a"}
    verdicts = [Verdict(1, "x", usage=ONE_CALL), Verdict(2, "y", usage=ONE_CALL)]
    verdicts += [Verdict(0, "", "no JSON", replace(ONE_CALL, calls=4)), IDENTICAL]
    rows = judgement_rows(plan, verdicts, "m")
    shown = plan["first"].to_list()
    assert rows["winner"].to_list() == [shown[0], other[shown[1]], None, None]
    assert rows["score_a"].to_list() == [100.0 * (rows["winner"][n] == "a") for n in (0, 1)] + [50, 50]
    assert rows["reason"].to_list() == ["x", "y", "", "The two answers are the same text."]
    assert rows["problem"].to_list() == [None, None, "no JSON", None]
    assert rows["model"].to_list() == ["m", "m", "m", None]
    [_, overall] = position_bias(rows).iter_rows(named=True)
    assert [overall[key] for key in ("criterion", "judgements", "ties", "unusable")] == ["all", 4, 2, 1]
    with pytest.raises(ValueError, match="zip"):
        judgement_rows(plan, verdicts[:3], "m")


def test_an_empty_plan_goes_through() -> None:
    rows = run(first, comparisons([], ["a", "b"]))
    [overall] = position_bias(rows).iter_rows(named=True)
    assert (overall["criterion"], overall["judgements"], overall["share"], overall["p"]) == (
        "all",
        0,
        None,
        None,
    )


def test_comparisons_show_the_answers_in_the_order_of_the_plan() -> None:
    plan = comparisons(["q"], ["a", "b"], ["directness"], 2)
    texts = {("q", "a"): "A.", ("q", "b"): "B."}
    made = answer_pairs(plan, {"q": "Why?"}, texts)
    assert {(one.replicate, one.answer_1) for one in made} == {
        (row["replicate"], texts["q", row["first"]]) for row in plan.iter_rows(named=True)
    }
    assert {(one.question, one.criterion, *sorted((one.answer_1, one.answer_2))) for one in made} == {
        ("Why?", "directness", "A.", "B.")
    }
    with pytest.raises(QuestionError, match="question q has no answer by b"):
        answer_pairs(plan, {"q": "Why?"}, {("q", "a"): "A."})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("a b", "a b", True), (" a\nb ", "a b", True), ("", " ", True), ("a b", "a B", False), ("", "a", False)],
)
def test_the_same_text_is_identical(one: str, other: str, same: bool) -> None:
    assert AnswerPair("q", one, other, "diversity").identical == same


@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 50))
def test_the_share_of_first_places_agrees_with_a_reference(wins: int, losses: int, ties: int) -> None:
    rows = pl.DataFrame(
        {
            "criterion": ["diversity"] * (wins + losses + ties),
            "first": ["a"] * (wins + losses + ties),
            "winner": ["a"] * wins + ["b"] * losses + [None] * ties,
            "problem": [None] * (wins + losses + ties),
        },
        schema_overrides={
            "winner": pl.String,
            "problem": pl.String,
            "criterion": pl.String,
            "first": pl.String,
        },
    )
    overall = position_bias(rows).rows(named=True)[-1]
    assert (overall["first_wins"], overall["ties"], overall["unusable"]) == (wins, ties, 0)
    if wins + losses == 0:
        assert overall["share"] is overall["p"] is overall["ci_low"] is None
        return
    reference = binomtest(wins, wins + losses)
    interval = reference.proportion_ci(method="exact")
    assert overall["share"] == pytest.approx(wins / (wins + losses))
    assert overall["p"] == pytest.approx(reference.pvalue)
    assert (overall["ci_low"], overall["ci_high"]) == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert (overall["ci_low"] <= 0.5 <= overall["ci_high"]) == (overall["p"] >= 0.05)


@given(st.sets(st.text(min_size=1, max_size=5), max_size=12), st.integers(0, 14), st.randoms())
def test_a_sample_does_not_depend_on_the_order_and_grows_at_its_end(
    question_ids: set[str], n: int, random: Any
) -> None:
    listed = sorted(question_ids)
    drawn = sample_questions(listed, n)
    random.shuffle(listed)
    assert sample_questions(listed, n) == drawn
    assert sample_questions(listed, n + 1)[:n] == drawn
    assert len(set(drawn)) == len(drawn) == min(n, len(question_ids))
    assert set(drawn) <= question_ids


def test_a_sample_is_drawn_from_everywhere() -> None:
    positions = sorted(QUESTIONS.index(one) for one in sample_questions(QUESTIONS, 50))
    assert 40 < sum(positions) / 50 < 85


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, {"It closed.", "It shut in May."}),
        (
            {"citations": "shown"},
            {"It closed [Data: Reports (3)].", "It shut in May [Data: Sources (1, 2)]."},
        ),
    ],
)
def test_a_judge_sees_citations_only_where_they_are_shown(options: dict[str, Any], shown: set[str]) -> None:
    seen: set[str] = set()

    class Seeing:
        def judge(self, asked: Sequence[AnswerPair]) -> Iterator[Verdict]:
            for one in asked:
                seen.update((one.answer_1, one.answer_2))
                yield Verdict(1, "r", usage=ONE_CALL)

    answers = pl.DataFrame(
        {
            "question_id": ["q", "q"],
            "question": ["Why?", "Why?"],
            "position": [0, 0],
            "method": ["C0", "SS"],
            "text": ["It closed [Data: Reports (3)].", "It shut in May [Data: Sources (1, 2)]."],
        }
    )
    made = judge_answers(
        answers,
        Seeing(),
        conditions=["C0", "SS"],
        criteria=["empowerment"],
        replicates=1,
        model="m",
        **options,
    )
    assert seen == shown
    assert len(made) == 1

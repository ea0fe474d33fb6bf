import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.measures.quality_metrics import (
    METRICS,
    lexical_measures,
    measure,
)
from graphrag_dagster.apps.evaluation.measures.quality_verdicts import (
    QualityItem,
    Rows,
    answer_relevancy,
    contextual_precision,
    contextual_recall,
    faithfulness,
    question_similarity,
)
from graphrag_dagster.apps.evaluation.tasks import (
    GeneratedQuestions,
    ItemVerdict,
    StatementsOf,
    VerdictRequest,
    VerdictsOf,
    VerdictWord,
)
from graphrag_dagster.kernel.models.chat.chat_model import Usage

FAMILIES = ("deepeval", "ragas")
verdicts_ = st.lists(st.sampled_from(["yes", "no", "idk"]), max_size=12)


def ranked(*useful: int) -> list[VerdictWord]:
    return ["yes" if one else "no" for one in useful]


@pytest.mark.parametrize(
    ("score", "value", "fraction"),
    [
        (answer_relevancy(["yes", "idk", "no", "no"]), 0.5, (2, 4)),
        (answer_relevancy(["no"]), 0, (0, 1)),
        (answer_relevancy([]), 1, (0, 0)),
        # CoTeRAG-S, §4.2, by hand
        (faithfulness(["yes", "idk", "no"]), 2 / 3, (2, 3)),
        (faithfulness(["yes", "idk", "no"], idk_is_truthful=False), 1 / 3, (1, 3)),
        (faithfulness(["yes", "idk", "no"], family="ragas"), 1 / 3, (1, 3)),
        (faithfulness([]), 1, (0, 0)),
        (faithfulness([], idk_is_truthful=False), 1, (0, 0)),
        (faithfulness([], family="ragas"), None, (0, 0)),
        (contextual_recall(["yes", "no", "idk", "yes"]), 0.5, (2, 4)),
        (contextual_recall([]), 0, (0, 0)),
        (contextual_recall([], family="ragas"), None, (0, 0)),
        (contextual_precision(ranked(1, 0, 1)), 1 / 2 * (1 / 1 + 2 / 3), (5 / 3, 2)),
        (contextual_precision(ranked(0, 1, 1)), 1 / 2 * (1 / 2 + 2 / 3), (7 / 6, 2)),
        (contextual_precision(ranked(1, 1, 0)), 1, (2, 2)),
        (contextual_precision(ranked(0, 0, 0, 1)), 1 / 4, (1 / 4, 1)),
        (contextual_precision(ranked(0, 0)), 0, (0, 0)),
        (contextual_precision(["idk", "yes"]), 0.5, (0.5, 1)),
        (question_similarity([0.9, 0.6, 0.3], noncommittal=False), 0.6, (1.8, 3)),
        (question_similarity([0.9, 0.6, 0.3], noncommittal=True), 0, (0, 3)),
        (question_similarity([], noncommittal=True), 0, (0, 0)),
        (question_similarity([-0.5, 0.1], noncommittal=False), 0, (-0.4, 2)),
        (question_similarity([], noncommittal=False), None, (None, None)),
        (question_similarity([math.nan], noncommittal=False), None, (None, None)),
    ],
)
def test_values_by_hand(score: Any, value: float | None, fraction: tuple[float | None, ...]) -> None:
    assert score.value == (value if value is None else pytest.approx(value))
    assert (score.numerator, score.denominator) == pytest.approx(fraction)
    assert (score.reason is None) == (value is not None)


@given(verdicts_, st.sampled_from(FAMILIES), st.booleans())
def test_values_lie_between_0_and_1_and_are_never_nan(verdicts: Any, family: Any, idk: bool) -> None:
    for score in (
        answer_relevancy(verdicts),
        faithfulness(verdicts, family=family, idk_is_truthful=idk),
        contextual_recall(verdicts, family=family),
        contextual_precision(verdicts),
    ):
        if score.value is None:
            assert score.reason
            assert not verdicts
        else:
            assert 0 <= score.value <= 1
            if score.denominator:
                assert score.value == pytest.approx(score.numerator / score.denominator)


@given(st.lists(st.floats(-1.001, 1.001) | st.sampled_from([math.nan, math.inf]), max_size=5), st.booleans())
def test_similarities_of_questions_lie_between_0_and_1(cosines: list[float], noncommittal: bool) -> None:
    score = question_similarity(cosines, noncommittal=noncommittal)
    assert (score.value is None) == (not noncommittal and not (cosines and all(map(math.isfinite, cosines))))
    assert score.value is None or 0 <= score.value <= 1


@given(verdicts_, st.randoms(use_true_random=False))
def test_only_precision_depends_on_the_order(verdicts: list[Any], random: Any) -> None:
    shuffled = random.sample(verdicts, len(verdicts))
    assert contextual_recall(shuffled) == contextual_recall(verdicts)
    assert faithfulness(shuffled) == faithfulness(verdicts)
    best = sorted(verdicts, key=lambda one: one != "yes")
    values = [contextual_precision(one).value for one in (best, verdicts, best[::-1])]
    assert values == sorted(values, reverse=True)
    assert values[0] == (1 if "yes" in verdicts else 0)


@given(verdicts_, st.integers(0, 11))
def test_a_better_verdict_never_makes_a_value_smaller(verdicts: list[Any], place: int) -> None:
    if place >= len(verdicts):
        return
    better = [*verdicts[:place], "yes", *verdicts[place + 1 :]]
    for formula in (answer_relevancy, faithfulness, contextual_recall):
        assert formula(better).value >= formula(verdicts).value
    assert faithfulness(verdicts, family="ragas").value <= faithfulness(verdicts).value


@dataclass
class Judge:
    """Statements end with full stops, items that hold a word of the other side get "yes"; it keeps count."""

    lost: str = "\0"
    evades: bool = False
    split: list[str] = field(default_factory=list)
    asked: list[VerdictRequest] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    engine: Any = "extractive"

    def statements(self, texts: Sequence[str]) -> list[StatementsOf]:
        self.split += texts
        return [
            StatementsOf((), "lost", Usage(1))
            if self.lost in text
            else StatementsOf(
                tuple(f"{one.strip()}." for one in text.split(".") if one.strip()), None, Usage(1)
            )
            for text in texts
        ]

    def verdicts(self, requests: Sequence[VerdictRequest]) -> list[VerdictsOf]:
        self.asked += requests
        return [
            VerdictsOf((), "no verdict", Usage(1))
            if "unjudged" in one.question
            else VerdictsOf(tuple(self._verdict(one, item) for item in one.items), None, Usage(1))
            for one in requests
        ]

    @staticmethod
    def _verdict(request: VerdictRequest, item: str) -> ItemVerdict:
        against = " ".join((request.reference or request.question, *request.context)).replace(".", "").split()
        shared = [one for one in item.lower().rstrip(".").split() if one in against]
        wrong: VerdictWord = "idk" if "maybe" in item else "no"
        return ItemVerdict("yes", f"shares {shared[0]}") if shared else ItemVerdict(wrong)

    def questions_for(self, answers: Sequence[str], count: int) -> list[GeneratedQuestions]:
        self.questions += answers
        return [
            GeneratedQuestions((), problem="lost", usage=Usage(1))
            if self.lost in answer
            else GeneratedQuestions(
                ("north", "east", "north east", "west")[:count], self.evades, None, Usage(1)
            )
            for answer in answers
        ]


def compass(texts: Sequence[str]) -> Any:
    """North and east are right angles apart; west is opposite to east; other words are nowhere."""
    ways = {"north": (0, 2), "east": (2, 0), "west": (-2, 0)}
    return np.array([np.sum([ways.get(w, (0, 0)) for w in t.split()], axis=0) for t in texts], np.float32)


ITEM = QualityItem(
    "a1",
    "north",
    "north wind. maybe rain. stone.",
    "quay built. quay paid.",
    ("sun", "quay built", "north paid", "moon"),
)


def values(rows: Rows) -> dict[tuple[str, str], Any]:
    return {(row["family"], row["metric"]): row["value"] for row in rows}


def test_an_item_is_measured_by_both_families() -> None:
    judge = Judge()
    rows, _ = measure([ITEM], judge, families=FAMILIES, embed=compass)
    found = values(rows)
    assert found == {
        ("deepeval", "answer_relevancy"): pytest.approx(2 / 3),
        ("deepeval", "faithfulness"): pytest.approx(2 / 3),
        ("deepeval", "contextual_recall"): 1,
        # Nodes 2 and 3 are of use: (1/2 + 2/3) / 2.
        ("deepeval", "contextual_precision"): pytest.approx(7 / 12),
        # Cosines 1, 0 and 1/√2.
        ("ragas", "answer_relevancy"): pytest.approx((1 + 0.5**0.5) / 3),
        ("ragas", "faithfulness"): pytest.approx(1 / 3),
        ("ragas", "contextual_recall"): 1,
        ("ragas", "contextual_precision"): pytest.approx(7 / 12),
    }
    assert [row["answer_id"] for row in rows] == ["a1"] * 8
    assert all(row["reason"] is None for row in rows)


def test_statements_and_verdicts_are_asked_for_once() -> None:
    twin = replace(ITEM, id="a2")
    judge = Judge()
    rows, _ = measure([ITEM, twin], judge, families=FAMILIES, embed=compass)
    assert judge.split == [ITEM.answer, ITEM.reference]
    assert [one.kind for one in judge.asked] == [
        "relevant_to_question",
        "true_to_context",
        "attributable_to_context",
        "useful_node",
    ]
    assert judge.questions == [ITEM.answer]
    assert values(rows[:8]) == values(rows[8:])


def test_a_family_asks_for_what_it_needs_only() -> None:
    printed, other = Judge(), Judge()
    measure([ITEM], printed)
    measure([ITEM], other, families=["ragas"], embed=compass)
    assert (len(printed.asked), printed.questions) == (4, [])
    assert [one.kind for one in other.asked] == [one.kind for one in printed.asked][1:]
    assert measure([], Judge(), families=FAMILIES, embed=compass) == ([], [])
    assert measure([ITEM], Judge(), families=()) == ([], [])


def test_verdicts_are_kept_with_what_they_are_on() -> None:
    _, verdicts = measure([ITEM], Judge(), families=FAMILIES, embed=compass)
    kept = [
        (row["metric"], row["position"], row["statement"], row["verdict"], row["reason"]) for row in verdicts
    ]
    assert kept[:3] == [
        ("answer_relevancy", 0, "north wind.", "yes", "shares north"),
        ("answer_relevancy", 1, "maybe rain.", "idk", None),
        ("answer_relevancy", 2, "stone.", "no", None),
    ]
    assert kept[-1] == ("answer_relevancy_questions", 2, "north east", "yes", "cosine 0.7071")
    keys = [(row["answer_id"], row["metric"], row["position"]) for row in verdicts]
    assert len(set(keys)) == len(keys) == 3 + 3 + 2 + 4 + 3
    long = replace(ITEM, contexts=("x" * 1000,))
    shown = [row for row in measure([long], Judge())[1] if row["metric"] == "contextual_precision"]
    assert [len(row["statement"]) for row in shown] == [200]


REASONS = {
    "refused": (replace(ITEM, refused=True), "the answer is a refusal", METRICS[:2]),
    "blank": (replace(ITEM, answer=" \n"), "there is no answer", METRICS[:2]),
    "no reference": (replace(ITEM, reference=None), "there is no reference answer", METRICS[2:]),
    "blank reference": (replace(ITEM, reference=" "), "there is no reference answer", METRICS[2:]),
    "no context": (replace(ITEM, contexts=()), "there is no context", METRICS[1:]),
    "blank context": (replace(ITEM, contexts=("", " ")), "there is no context", METRICS[1:]),
    "lost answer": (replace(ITEM, answer="lost it."), "the statements are not known: lost", METRICS[:2]),
    "lost reference": (
        replace(ITEM, reference="lost it."),
        "the statements are not known: lost",
        METRICS[2:3],
    ),
    "unjudged": (
        replace(ITEM, question="unjudged"),
        "the verdicts are not known: no verdict",
        (METRICS[0], METRICS[3]),
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_what_cannot_be_judged_has_no_value_but_a_reason(case: str) -> None:
    item, reason, without = REASONS[case]
    rows, verdicts = measure([item], Judge(lost="lost"))
    for row in rows:
        assert (row["value"] is None) == (row["metric"] in without), row
        assert row["reason"] == (reason if row["metric"] in without else None)
    assert not {row["metric"] for row in verdicts} & set(without)


def test_the_relevancy_of_questions_says_why_it_is_not_defined() -> None:
    def reason(item: QualityItem, judge: Judge, embed: Any = compass) -> str | None:
        row = measure([item], judge, families=["ragas"], embed=embed)[0][0]
        assert row["value"] is None
        return row["reason"]

    unasked = Judge()
    assert reason(ITEM, unasked, None) == "there is no embedder to compare questions with"
    assert reason(replace(ITEM, refused=True), unasked) == "the answer is a refusal"
    assert unasked.questions == []
    lost = replace(ITEM, answer="lost.")
    assert reason(lost, Judge(lost="lost")) == "the questions are not known: lost"
    broken = lambda texts: np.full((len(texts), 2), np.nan)  # noqa: E731
    assert reason(ITEM, Judge(), broken) == "a cosine with a generated question is no number"


def test_evasive_answers_and_questions_without_vectors_have_no_similarity() -> None:
    (first, *_), verdicts = measure([ITEM], Judge(evades=True), families=["ragas"], embed=compass)
    assert first["value"] == 0
    assert {row["verdict"] for row in verdicts if row["metric"].endswith("questions")} == {"no"}
    rows, _ = measure([replace(ITEM, question="nowhere")], Judge(), families=["ragas"], embed=compass)
    assert (rows[0]["value"], rows[0]["reason"]) == (0, None)


def test_an_answer_that_states_nothing_has_the_value_of_its_family() -> None:
    rows, _ = measure([replace(ITEM, answer="...", reference="...")], Judge(), families=FAMILIES)
    found = {(row["family"], row["metric"]): (row["value"], row["reason"]) for row in rows}
    assert found["deepeval", "answer_relevancy"] == found["deepeval", "faithfulness"] == (1, None)
    assert found["deepeval", "contextual_recall"] == (0, None)
    assert found["ragas", "faithfulness"] == (None, "the answer makes no statement")
    assert found["ragas", "contextual_recall"] == (None, "the reference answer makes no statement")


def test_only_precision_depends_on_the_order_of_the_context() -> None:
    first = values(measure([ITEM], Judge())[0])
    other = values(measure([replace(ITEM, contexts=ITEM.contexts[::-1])], Judge())[0])
    assert {key for key in first if first[key] != other[key]} == set()
    useful_first = replace(ITEM, contexts=("quay built", "north paid", "sun", "moon"))
    best = values(measure([useful_first], Judge())[0])
    assert {key[1] for key in first if first[key] != best[key]} == {"contextual_precision"}
    assert best["deepeval", "contextual_precision"] == 1


def test_items_know_nothing_of_each_other() -> None:
    others = [replace(item, id=case) for case, (item, *_) in REASONS.items()]
    together, _ = measure([*others, ITEM], Judge(lost="lost"), families=FAMILIES, embed=compass)
    backwards, _ = measure([ITEM, *others[::-1]], Judge(lost="lost"), families=FAMILIES, embed=compass)
    assert sorted(map(repr, together)) == sorted(map(repr, backwards))


def lexical(**changed: Any) -> dict[str, Any]:
    rows = lexical_measures([replace(ITEM, **changed)])
    assert {row["family"] for row in rows} == {"lexical"}
    assert not {row["metric"] for row in rows} & set(METRICS)
    return {
        row["metric"]: (row["value"], row["numerator"], row["denominator"], row["reason"]) for row in rows
    }


def test_lexical_measures_by_hand() -> None:
    found = lexical(
        answer="The harbour was built by Mira.",
        reference="Mira built the harbours in 1998.",
        contexts=("Harbour of Velm", "building began in 1998"),
    )
    # Six words each, of which one stands in both in the same order: "mira", "built" or "the".
    assert found["rouge_l_to_reference"] == (pytest.approx(2 / 12), 2, 12, None)
    # Stems: mira, build, harbour, 1998; the context has all but the first.
    assert found["reference_words_in_context"] == (0.75, 3, 4, None)


@pytest.mark.parametrize(
    ("changed", "rouge", "words"),
    [
        ({"refused": True}, "the answer is a refusal", None),
        ({"reference": None}, "there is no reference answer", "there is no reference answer"),
        ({"contexts": ()}, None, "there is no context"),
        ({"answer": "!?"}, "the answer has no words of Latin letters or digits", None),
        ({"reference": "the"}, None, "the reference answer has no words that carry meaning"),
        (
            {"reference": "…"},
            "the reference answer has no words of Latin letters or digits",
            "the reference answer has no words that carry meaning",
        ),
    ],
)
def test_lexical_measures_say_why_they_are_not_defined(
    changed: dict[str, Any], rouge: str | None, words: str | None
) -> None:
    found = lexical(**changed)
    for metric, reason in (("rouge_l_to_reference", rouge), ("reference_words_in_context", words)):
        assert found[metric][3] == reason
        assert (found[metric][0] is None) == (reason is not None)


@given(st.text(max_size=40), st.text(max_size=40), st.lists(st.text(max_size=20), max_size=3))
def test_lexical_measures_lie_between_0_and_1(answer: str, reference: str, contexts: list[str]) -> None:
    found = lexical(answer=answer, reference=reference, contexts=tuple(contexts))
    for value, *_, reason in found.values():
        assert (value is None) == (reason is not None)
        assert value is None or 0 <= value <= 1


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=12))
def test_an_answer_that_is_the_reference_has_the_whole_of_it(letters: list[str]) -> None:
    assert lexical(answer=" ".join(letters), reference=" ".join(letters))["rouge_l_to_reference"][0] == 1

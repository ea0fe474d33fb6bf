from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.inference.headline import headline
from graphrag_dagster.apps.evaluation.inference.measure_names import (
    measure,
    money,
    p_value,
    percent,
    plain,
    reads,
    uses_graph,
    with_sign,
)
from graphrag_dagster.apps.evaluation.inference.paired_tests import pairwise
from graphrag_dagster.apps.evaluation.inference.verdict import (
    best_with_graph,
    contrasts,
    main_measure,
    verdicts,
)
from graphrag_dagster.apps.evaluation.tasks import CRITERIA
from graphrag_dagster.kernel.tables.declared_tables import all_tables

CONDITIONS = ("C0", "C2", "TS", "SS")


def against(
    name: str,
    a: str,
    b: str,
    difference: float,
    p_holm: float = 0.0004,
    interval: tuple[float, float] | None = None,
    mean_a: float | None = None,
    *,
    p: float | None = None,
    ranks: float | None = None,
    zeros: int = 3,
) -> dict[str, object]:
    """A row of evaluation.significance."""
    low, high = interval or (None, None)
    base = 50 + difference / 2 if name in CRITERIA else 30.0 if mean_a is None else mean_a
    return {
        "measure": name,
        "condition_a": a,
        "condition_b": b,
        "questions": 125,
        "zeros": zeros,
        "mean_a": base,
        "mean_b": base - difference,
        "difference": difference,
        "ci_low": low,
        "ci_high": high,
        "z": -4.0,
        "p": p_holm / 3 if p is None else p,
        "p_holm": p_holm,
        "significant": p_holm < 0.05,
        "rank_biserial": ranks,
    }


def frame(*rows: dict[str, object]) -> pl.DataFrame:
    schema = {"ci_low": pl.Float64, "ci_high": pl.Float64, "rank_biserial": pl.Float64}
    return pl.DataFrame(list(rows), schema_overrides=schema)


def said(*rows: dict[str, object], conditions: Sequence[str] = CONDITIONS) -> list[str]:
    return verdicts(frame(*rows), conditions)["statement"].to_list()


def test_rows_are_those_of_the_declared_table() -> None:
    made = verdicts(frame(against("claims", "C2", "SS", 6.1)), CONDITIONS)
    table = next(one for one in all_tables() if one.full_name == "evaluation.verdicts")
    declared = {column.name: column.polars_type() for column in table.columns if column.name != "corpus"}
    assert dict(made.schema) == declared
    assert made.row(0)[:6] == ("claims", "C2", "SS", "better", 6.1, 0.0004)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            against("claims", "C2", "SS", 6.1, interval=(4.0, 8.1)),
            "C2 states 6.1 more claims per answer than SS (95 % bootstrap interval 4.0 to 8.1; Wilcoxon p < .001, Holm-corrected p < .001).",
        ),
        (
            # The pair the other way round says the same.
            against("claims", "SS", "C2", -6.1, interval=(-8.1, -4.0)),
            "C2 states 6.1 more claims per answer than SS (95 % bootstrap interval 4.0 to 8.1; Wilcoxon p < .001, Holm-corrected p < .001).",
        ),
        (
            against("claims", "C2", "SS", -6.1, interval=(-8.1, -4.0)),
            "C2 states 6.1 fewer claims per answer than SS (95 % bootstrap interval 4.0 to 8.1; Wilcoxon p < .001, Holm-corrected p < .001).",
        ),
        (
            against("claims-lex", "C2", "SS", 6.1),
            "C2 states 6.1 more sentences that state something (claims-lex) per answer than SS (Wilcoxon p < .001, Holm-corrected p < .001).",
        ),
        (
            against("clusters 0.7", "C2", "SS", 2.5, 0.034),
            "C2 has 2.5 more clusters of claims at distance 0.7 per answer than SS (Wilcoxon p = .011, Holm-corrected p = .034).",
        ),
        (
            against("claims", "C2", "SS", 0.3, 0.41, (-0.2, 0.8)),
            "No difference between C2 and SS in claims per answer was found: 0.30 more for C2 "
            "(95 % bootstrap interval −0.20 to 0.80; Wilcoxon p = .137, Holm-corrected p = .410).",
        ),
        (
            against("comprehensiveness", "C2", "SS", 44.0, interval=(32.0, 54.0)),
            "C2 wins 72 % of the comparisons with SS on comprehensiveness (95 % bootstrap interval 66 % to 77 %; Wilcoxon p < .001, Holm-corrected p < .001).",
        ),
        (
            against("directness", "SS", "C2", 60.0, interval=(50.0, 70.0)),
            "C2 wins 20 % of the comparisons with SS on directness (95 % bootstrap interval 15 % to 25 %; Wilcoxon p < .001, Holm-corrected p < .001).",
        ),
        (
            against("diversity", "C2", "SS", 4.0, 1.0),
            "C2 wins 52 % of the comparisons with SS on diversity (Wilcoxon p = .333, Holm-corrected p = 1): no difference was found.",
        ),
        (
            against("deepeval answer_relevancy", "C2", "SS", -0.052, 0.0499996),
            "The mean deepeval answer relevancy of C2 is 0.05 lower than that of SS (Wilcoxon p = .017, Holm-corrected p < .05).",
        ),
        (
            against("context tokens", "C2", "SS", 65480.3),
            "C2 reads 65,480 more tokens of context per answer than SS (Wilcoxon p < .001, Holm-corrected p < .001).",
        ),
        (
            against("something new", "C2", "SS", 1.0),
            "The mean something new of C2 is 1.0 higher than that of SS (Wilcoxon p < .001, Holm-corrected p < .001).",
        ),
    ],
)
def test_statements(row: dict[str, object], sentence: str) -> None:
    assert said(row) == [sentence]


@pytest.mark.parametrize(
    ("name", "difference", "p", "outcome"),
    [
        ("claims", 1.0, 0.0499, "better"),
        ("claims", 1.0, 0.05, "no difference"),
        ("claims", -1.0, 0.01, "worse"),
        ("claims", 0.0, 0.01, "mixed"),
        ("unsupported statements", -1.0, 0.01, "better"),
        ("refusals", 0.2, 0.01, "worse"),
        ("context tokens", 900.0, 0.01, "worse"),
        ("words", 90.0, 0.01, "better"),
        ("directness", -20.0, 0.01, "worse"),
    ],
)
def test_outcomes(name: str, difference: float, p: float, outcome: str) -> None:
    made = verdicts(frame(against(name, "C0", "SS", difference, p)), CONDITIONS)
    assert made["outcome"].to_list() == [outcome]
    assert made["difference"].to_list() == [difference]


@pytest.mark.parametrize(
    ("row", "outcome", "sentence"),
    [
        (
            against("claims", "C2", "SS", 1.2, 0.9, (0.3, 2.1), p=0.06),
            "no difference",
            "No difference between C2 and SS in claims per answer was found: 1.2 more for C2 (95 % bootstrap "
            "interval 0.30 to 2.1; Wilcoxon p = .060, Holm-corrected p = .900). The interval leaves out 0 since "
            "it is of the mean, which a few large differences move; the verdict follows the test, which is of "
            "ranks.",
        ),
        (
            against("diversity", "SS", "C2", -8.0, 0.3, (-15.0, -1.0), p=0.02),
            "no difference",
            "C2 wins 54 % of the comparisons with SS on diversity (95 % bootstrap interval 50.5 % to 57.5 %; Wilcoxon "
            "p = .020, Holm-corrected p = .300): no difference was found. The interval leaves out 50 % since it "
            "is not corrected for the number of pairs; the verdict follows the corrected test.",
        ),
        (
            against("words", "TS", "SS", -11.1, 0.0004, (-24.6, 3.4), ranks=-0.4),
            "worse",
            "TS writes 11.1 fewer words per answer than SS (95 % bootstrap interval −3.4 to 24.6; Wilcoxon "
            "p < .001, Holm-corrected p < .001). The interval holds 0 since it is of the mean, which a few large "
            "differences move; the verdict follows the test, which is of ranks.",
        ),
        (
            against("words", "SS", "C2", -12.2, 0.03, (-31.0, 4.0), ranks=0.5),
            "mixed",
            "Mixed between C2 and SS in words per answer: 12.2 more for C2 (95 % bootstrap interval −4.0 to 31.0; "
            "Wilcoxon p = .010, Holm-corrected p = .030). By ranks, which the test goes by, SS is ahead; the mean "
            "follows a few large differences, so neither is called better.",
        ),
        (
            against("claims", "C2", "SS", 0.0, 1.0, zeros=125),
            "no difference",
            "C2 and SS have the same claims per answer on every question.",
        ),
        (
            against("diversity", "C2", "SS", 0.0, 1.0, zeros=125),
            "no difference",
            "C2 and SS are even on diversity on all of 125 questions.",
        ),
        (
            against("claims", "C2", "SS", 0.0, 1.0, (-1.0, 1.0), ranks=0.0),
            "no difference",
            "No difference between C2 and SS in claims per answer was found: the means of C2 and SS are equal "
            "(95 % bootstrap interval −1.0 to 1.0; Wilcoxon p = .333, Holm-corrected p = 1).",
        ),
    ],
)
def test_what_disagrees_is_said_and_why(row: dict[str, object], outcome: str, sentence: str) -> None:
    made = verdicts(frame(row), CONDITIONS)
    assert made["outcome"].to_list() == [outcome]
    assert made["statement"].to_list() == [sentence]


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=40), st.integers(1, 12))
def test_what_is_called_better_is_so_by_mean_and_by_ranks(differences: list[int], scale: int) -> None:
    values = np.array([scale * one**3 for one in differences], dtype=float)
    (test,) = pairwise({"C1": values, "SS": np.zeros(len(values))}, ("C1", "SS"), resamples=50)
    row = against(
        "claims", "C1", "SS", test.difference or 0.0, test.p_holm, p=test.p, ranks=test.rank_biserial
    )
    (one,) = contrasts(frame(row), ("C1", "SS"), "SS")
    if one.outcome == "better":
        assert test.mean_a is not None
        assert test.mean_a > 0
        assert test.rank_biserial > 0
    if len(differences) < 6:
        assert one.outcome == "no difference"


def test_rows_are_in_order_and_only_those_against_the_baseline() -> None:
    rows = [
        against("words", "C2", "SS", 1.0),
        against("claims", "SS", "TS", 1.0),
        against("claims", "C0", "C2", 1.0),
        against("diversity", "C2", "SS", 1.0),
        against("clusters 0.5 inclusive", "C0", "SS", 1.0),
        against("clusters 0.5", "C0", "SS", 1.0),
        against("claims", "C0", "SS", 1.0),
        against("comprehensiveness", "C2", "SS", 1.0),
        against("claims", "drift", "SS", 1.0),
    ]
    expected = [
        ("comprehensiveness", "C2"),
        ("diversity", "C2"),
        ("claims", "C0"),
        ("claims", "TS"),
        ("clusters 0.5", "C0"),
        ("clusters 0.5 inclusive", "C0"),
        ("words", "C2"),
    ]
    for order in (rows, rows[::-1]):
        made = verdicts(frame(*order), CONDITIONS)
        assert made.select("measure", "condition").rows() == expected


def test_other_baselines_and_none() -> None:
    rows = frame(against("claims", "C2", "basic", 1.0), against("claims", "C2", "SS", 2.0))
    assert verdicts(rows, ("C2", "basic"), "basic")["difference"].to_list() == [1.0]
    assert verdicts(rows, CONDITIONS, "local").is_empty()
    assert verdicts(rows.clear(), CONDITIONS).is_empty()


@given(
    st.lists(st.integers(0, 40), min_size=6, max_size=6), st.lists(st.integers(0, 40), min_size=6, max_size=6)
)
def test_direction_of_the_pair_does_not_matter(first: list[int], second: list[int]) -> None:
    def of(order: tuple[str, str]) -> pl.DataFrame:
        (test,) = pairwise({"C1": np.array(first), "SS": np.array(second)}, order, resamples=50)
        return frame(
            against(
                "claims",
                *order,
                test.difference or 0.0,
                test.p_holm,
                (test.low or 0.0, test.high or 0.0),
                test.mean_a,
            )
        )

    (one,), (other,) = (contrasts(of(order), ("C1", "SS"), "SS") for order in (("C1", "SS"), ("SS", "C1")))
    assert one.condition == other.condition == "C1"
    assert one.difference == pytest.approx(other.difference)
    assert one.mean == pytest.approx(sum(first) / 6)
    assert one.interval is not None
    assert one.interval[0] <= one.interval[1]
    assert one.outcome == other.outcome


def spoken(*rows: dict[str, object], questions: int = 125, judged: bool = True) -> str:
    return headline(verdicts(frame(*rows), CONDITIONS), questions=questions, judged=judged)


COMPREHENSIVE = against("comprehensiveness", "C2", "SS", 44.0)
DIVERSE = against("diversity", "C2", "SS", 30.0)
INDIRECT = against("directness", "C2", "SS", -60.0)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            [COMPREHENSIVE, DIVERSE],
            "Yes: on this corpus the judge prefers C2 to SS on comprehensiveness (C2 wins 72 %) and diversity "
            "(C2 wins 65 %).",
        ),
        (
            [COMPREHENSIVE, INDIRECT],
            "Yes, at the price of directness: on this corpus the judge prefers C2 to SS on comprehensiveness "
            "(C2 wins 72 %), but prefers SS to C2 on directness (SS wins 80 %).",
        ),
        (
            [COMPREHENSIVE, against("diversity", "SS", "C2", 30.0)],
            "In part: on this corpus the judge prefers C2 to SS on comprehensiveness (C2 wins 72 %), but prefers "
            "SS to C2 on diversity (SS wins 65 %).",
        ),
        (
            [against("comprehensiveness", "C2", "SS", -44.0), against("directness", "C2", "SS", 10.0)],
            "No: on this corpus the judge prefers C2 to SS on directness (C2 wins 55 %), but prefers SS to C2 on "
            "comprehensiveness (SS wins 72 %).",
        ),
        ([INDIRECT], "No: on this corpus the judge prefers SS to C2 on directness (SS wins 80 %)."),
        (
            [against("directness", "C2", "SS", 10.0)],
            "In part: on this corpus the judge prefers C2 to SS on directness (C2 wins 55 %).",
        ),
        (
            [against("comprehensiveness", "C2", "SS", 8.0, 0.2)],
            "No difference was found: the judge prefers neither C2 nor SS on any criterion, which does not prove "
            "that there is none.",
        ),
    ],
)
def test_headline_of_judged_answers(rows: list[dict[str, object]], text: str) -> None:
    assert spoken(*rows) == text
    assert spoken(*rows[::-1]) == text


def test_headline_of_what_ranks_and_means_see_differently() -> None:
    mixed = against("comprehensiveness", "C2", "SS", 8.0, 0.01, ranks=-0.3)
    assert spoken(mixed) == (
        "No clear difference was found: on comprehensiveness ranks and means point in different directions, and on "
        "no other criterion does the judge prefer C2 or SS."
    )
    assert spoken(mixed, DIVERSE).startswith("Yes: on this corpus the judge prefers C2 to SS on diversity")


def test_headline_gives_the_graph_no_credit_for_what_others_do_too() -> None:
    text = spoken(COMPREHENSIVE, against("comprehensiveness", "TS", "SS", 40.0))
    assert text.endswith(
        "TS, which reads source texts without a graph, is preferred to SS too, so not all of this is the graph's "
        "merit."
    )
    assert "TS" not in spoken(COMPREHENSIVE, against("comprehensiveness", "TS", "SS", 40.0, 0.3))


def test_headline_without_a_judge_says_that_nothing_is_known() -> None:
    text = spoken(against("claims-lex", "C2", "SS", 6.1), against("words", "C2", "SS", 80.0), judged=False)
    assert text == (
        "Unknown: no model has judged these answers, and counts do not show which answers are better. "
        "C2 states 6.1 more sentences that state something (claims-lex) per answer than SS (Wilcoxon p < .001, Holm-corrected "
        "p < .001). "
        "Its answers are also 80.0 words longer than those of SS."
    )
    assert "Yes" not in spoken(COMPREHENSIVE, judged=False)


def test_headline_says_when_there_are_few_questions_or_nothing() -> None:
    assert spoken(COMPREHENSIVE, questions=19).endswith(
        "Only 19 questions were compared: too few to rely on."
    )
    assert spoken(COMPREHENSIVE, questions=1).endswith("Only 1 question was compared: too few to rely on.")
    assert "Only" not in spoken(COMPREHENSIVE, questions=20)
    nothing = headline(None, questions=20, judged=True)
    assert nothing.startswith(
        "No verdict is possible: no search method that uses the graph was tested against SS."
    )
    assert spoken(against("claims", "TS", "SS", 2.0)) == nothing
    assert headline(None, questions=0, judged=False, baseline="basic").count("basic") == 1


def judging(*winners: str | None, firsts: Sequence[str] = ("C2", "SS")) -> pl.DataFrame:
    """Judgements on C2 and SS by every criterion; ``unusable`` and ``same`` stand for what has no winner."""
    rows = [
        {
            "condition_a": "C2",
            "condition_b": "SS",
            "criterion": criterion,
            "first": firsts[at % len(firsts)],
            "winner": None if winner in ("unusable", "same") else winner,
            "problem": "the reply is empty" if winner == "unusable" else None,
            "model": None if winner == "same" else "judge",
        }
        for criterion in CRITERIA
        for at, winner in enumerate(winners)
    ]
    types = {"winner": pl.String, "problem": pl.String, "model": pl.String}
    return pl.DataFrame(rows, schema_overrides=types)


EVEN = tuple(against(one, "C2", "SS", 2.0, 0.7) for one in CRITERIA)
ALTERNATING = ("C2", "SS")


@pytest.mark.parametrize(
    ("judgements", "why"),
    [
        (
            judging(*["unusable"] * 55, *["C2", "SS"] * 10),
            "220 of 300 verdicts had no usable reply of the judge.",
        ),
        (judging(*["unusable"] * 75), "300 of 300 verdicts had no usable reply of the judge."),
        (judging(*[None] * 75), "the judge called 300 of 300 comparisons a tie."),
        (judging(*[None] * 74, "C2"), "the judge called 296 of 300 comparisons a tie."),
        (
            judging(*ALTERNATING * 37, firsts=ALTERNATING),
            "the answer shown first won 100 % of 296 decided verdicts, so the judge goes by the place, not by the "
            "answer.",
        ),
        (
            judging(*ALTERNATING * 37, firsts=("SS", "C2")),
            "the answer shown second won 100 % of 296 decided verdicts, so the judge goes by the place, not by "
            "the answer.",
        ),
    ],
)
def test_verdicts_of_no_use_bear_no_conclusion(judgements: pl.DataFrame, why: str) -> None:
    rows = verdicts(frame(*EVEN), CONDITIONS, judgements=judgements)
    assert set(rows["outcome"]) == {"unknown"}
    assert all(text.startswith("Nothing can be said of C2 and SS on") for text in rows["statement"])
    told = headline(rows, questions=15, judged=True, judgements=judgements)
    assert told == f"Nothing can be said on whether the graph helps: {why}"


@pytest.mark.parametrize(
    "judgements",
    [
        judging(*["unusable"] * 5, *["C2", "SS", "SS", "C2"] * 5),
        judging(*["same"] * 75),
        judging(*[None] * 20, *["C2", "SS", "SS", "C2"] * 5),
        judging("C2", "SS", "C2"),
    ],
)
def test_some_lost_or_even_verdicts_leave_the_conclusion(judgements: pl.DataFrame) -> None:
    rows = verdicts(frame(*EVEN), CONDITIONS, judgements=judgements)
    assert set(rows["outcome"]) == {"no difference"}
    told = headline(rows, questions=25, judged=True, judgements=judgements)
    assert told.startswith("No difference was found")
    lost = judgements["problem"].is_not_null().sum()
    assert ("20 of 100 verdicts had no usable reply of the judge and count as ties." in told) == bool(lost)


def test_one_criterion_of_no_use_is_named() -> None:
    judgements = judging(*["C2", "C2", "C2", "SS"] * 10).with_columns(
        problem=pl.when(pl.col("criterion") == "directness").then(pl.lit("empty")),
        winner=pl.when(pl.col("criterion") != "directness").then("winner"),
    )
    rows = verdicts(frame(COMPREHENSIVE, INDIRECT), CONDITIONS, judgements=judgements)
    told = headline(rows, questions=25, judged=True, judgements=judgements)
    assert told == (
        "Yes: on this corpus the judge prefers C2 to SS on comprehensiveness (C2 wins 72 %). On directness nothing "
        "can be said: the judge's verdicts are of no use there. 40 of 160 verdicts had no usable reply of the judge "
        "and count as ties."
    )


@pytest.mark.parametrize(
    ("questions", "pairs", "unknown"), [(1, 1, True), (5, 1, True), (6, 1, False), (8, 15, True)]
)
def test_too_few_questions_for_any_test(questions: int, pairs: int, unknown: bool) -> None:
    row = {**against("claims", "C2", "SS", 2.0, 1.0, zeros=0), "questions": questions}
    others = [{**row, "condition_a": f"X{number}"} for number in range(pairs - 1)]
    made = verdicts(frame(row, *others), CONDITIONS)
    assert (made["outcome"][0] == "unknown") == unknown
    assert ("too few for a test to find any difference" in made["statement"][0]) == unknown


def test_best_way_with_the_graph_is_chosen_by_the_main_measure() -> None:
    rows = verdicts(
        frame(
            against("claims", "C0", "SS", 9.0),
            against("comprehensiveness", "C0", "SS", 10.0),
            COMPREHENSIVE,
            against("comprehensiveness", "TS", "SS", 80.0),
        ),
        CONDITIONS,
    )
    assert main_measure(rows) == "comprehensiveness"
    assert best_with_graph(rows) == "C2"
    assert best_with_graph(rows.filter(measure="claims")) == "C0"
    assert main_measure(rows.clear()) is None
    equal = verdicts(
        frame(against("claims", "C2", "SS", 1.0), against("claims", "C0", "SS", 1.0)), CONDITIONS
    )
    assert best_with_graph(equal) == best_with_graph(equal[::-1]) == "C0"


@pytest.mark.parametrize("name", ["claims", "claims-lex", "clusters 0.5", "clusters-lex 0.5", "x-lex"])
def test_proxies_never_bear_the_name_of_the_measure(name: str) -> None:
    spoken = measure(name)
    assert spoken.proxy == ("-lex" in name)
    assert ("-lex" in spoken.label) == spoken.proxy


def test_ways_of_answering() -> None:
    graph = ["C0", "C3", "C7", "global", "dynamic", "local", "drift", "auto"]
    assert [one for one in (*graph, "TS", "SS", "basic") if uses_graph(one)] == graph
    assert reads("C0") != reads("C1") != reads("TS")


def test_numbers() -> None:
    assert [plain(one) for one in (0.999, 99.96, 1000000, -0.001, float("nan"))] == [
        "1.0",
        "100",
        "1,000,000",
        "0.00",
        "–",
    ]
    assert [with_sign(one) for one in (0.001, -3.14159, None)] == ["0.00", "−3.1", "–"]
    assert [p_value(one) for one in (0.00099, 0.001, 0.9994, 0.9996, None)] == [
        "p < .001",
        "p = .001",
        "p = .999",
        "p = 1",
        "–",
    ]
    assert [money(one) for one in (0.000012, 0.5, 0.999, 1234.5)] == [
        "$0.000012",
        "$0.50",
        "$1.00",
        "$1,234.50",
    ]
    assert percent(-3.14) == "−3.1 %"

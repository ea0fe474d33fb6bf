"""What a plan foretells: never less at most than is expected, whatever the corpus."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.stages.evaluation_plan import EvaluationSize, plan_evaluation
from graphrag_dagster.apps.planning.indexing_estimates import plan_batches, plan_merging
from graphrag_dagster.apps.planning.indexing_plan import plan_reports, share_of_levels
from graphrag_dagster.kernel.models.call_estimates import MethodSize, Range, approximately, exactly
from graphrag_dagster.systems.coterag.coterag_estimates import plan_summaries
from graphrag_dagster.systems.graphrag.llm.extraction_lengths import plan_extraction

NUMBERS = st.floats(0, 1e6)
RANGES = st.builds(Range, NUMBERS, NUMBERS, NUMBERS)
COUNTS = st.lists(st.integers(0, 5000), max_size=20)
SEEN = st.none() | st.floats(1, 5000)


def in_order(*ranges: Range) -> bool:
    return all(0 <= one.low <= one.expected <= one.high for one in ranges)


@given(RANGES, RANGES, NUMBERS)
def test_a_range_is_in_order_whatever_is_done_with_it(one: Range, other: Range, number: float) -> None:
    assert in_order(one, other, one + other, one * other, one * number, one.at_most(other))
    assert in_order(exactly(number), approximately(number, known=True), approximately(number, known=False))


def test_what_is_expected_stays_and_the_ends_give_way() -> None:
    assert Range(5, 3, 1) == Range(3, 3, 3)
    assert Range(1, 3, 2) == Range(1, 3, 3)


@given(COUNTS, st.integers(0, 4), st.booleans(), SEEN)
def test_extraction_is_planned_in_order(sizes: list[int], rounds: int, first: bool, seen: Any) -> None:
    made = plan_extraction(sizes, sizes, rounds=rounds, check_first=first, turn=50, seen=seen)
    assert in_order(*made)
    assert made[0].low >= len(sizes)


@given(RANGES, st.integers(1, 3000), st.integers(1, 10_000), RANGES, SEEN)
def test_reports_are_planned_in_order(
    communities: Range, prompt: int, context: int, elements: Range, seen: Any
) -> None:
    calls, inputs, outputs = plan_reports(communities, prompt, context, elements, seen)
    assert in_order(calls, inputs, outputs)
    assert inputs.high <= communities.high * (prompt + context) + 1e-3
    # Where only C0 is written, an element stands in one report.
    _, once, _ = plan_reports(communities, prompt, context, elements, seen, deepest=0)
    assert once.high <= communities.high * prompt + elements.high + 1e-3
    assert plan_reports(communities, prompt, context, elements, seen, deepest=9)[1] == inputs


def test_the_deeper_reports_are_written_the_more_there_are() -> None:
    shares = [share_of_levels(deepest) for deepest in (0, 1, 2, 3, None)]
    assert in_order(*shares)
    assert [one.expected for one in shares] == sorted(one.expected for one in shares)
    assert shares[3] == shares[4] == exactly(1)
    assert all(0 < one.low <= one.high <= 1 for one in shares)


@given(RANGES, st.integers(1, 3000), st.integers(1, 10_000), RANGES)
def test_summaries_are_planned_in_order(
    communities: Range, prompt: int, context: int, elements: Range
) -> None:
    calls, inputs = plan_summaries(communities, prompt, context, elements)
    assert in_order(calls, inputs)
    assert communities.high * prompt <= inputs.high <= communities.high * (prompt + context) + 1e-3


@given(COUNTS, NUMBERS, RANGES, st.integers(0, 500), SEEN)
def test_rulings_that_share_calls_are_planned_in_order(
    requests: list[int], asked: float, more: Range, shown: int, seen: Any
) -> None:
    each = {"in_a_call": 12, "tokens": 8, "reply": 16, "prompt": 300}
    made = plan_batches(requests, asked, more, **each, shown=shown, seen=seen)
    assert in_order(*made)
    assert made[0].low >= len(requests)


@given(COUNTS, st.integers(0, 500), st.integers(1, 5000), SEEN)
def test_merging_is_planned_in_order(mentions: list[int], joined: int, most: int, seen: Any) -> None:
    made = plan_merging(mentions, joined_up_to=joined, max_input_tokens=most, prompt=300, seen=seen)
    assert in_order(*made)
    if all(count < 2 for count in mentions):
        assert made[0] == made[1] == exactly(0)


@given(
    st.dictionaries(st.sampled_from("abc"), st.builds(MethodSize, RANGES, RANGES)),
    st.tuples(*(st.integers(0, 50) for _ in range(9))),
    SEEN,
    SEEN,
)
def test_an_evaluation_is_planned_in_order(
    ways: dict[str, MethodSize], numbers: tuple[int, ...], sentences: Any, tokens: Any
) -> None:
    questions, personas, tasks, sampled, criteria, replicates, reference, families, reasons = numbers
    size = EvaluationSize(
        questions=questions,
        written=True,
        personas=personas,
        tasks=tasks,
        ways=ways,
        sampled=sampled,
        criteria=criteria,
        replicates=replicates,
        with_reference=reference,
        families=families,
        reasons=reasons,
        documents=questions,
        document_tokens=tokens or 0.0,
        writer="m",
        testset_writer="m",
        answerer="m",
        judge="m",
        sentences=sentences,
        answer_tokens=tokens,
    )
    for one in plan_evaluation(size):
        assert in_order(one.calls, one.input_tokens, one.output_tokens, one.tokens)


@pytest.mark.parametrize(("described", "calls", "sent"), [(0.0, 1 + 2 + 6, 4500), (12_000.0, 10, 17_000)])
def test_a_description_is_planned_where_there_is_none(described: float, calls: int, sent: int) -> None:
    size = EvaluationSize(
        questions=30,
        written=True,
        personas=2,
        tasks=3,
        ways={"SS": MethodSize(exactly(0), exactly(0))},
        sampled=30,
        criteria=4,
        replicates=5,
        with_reference=0,
        families=0,
        reasons=0,
        documents=0,
        document_tokens=0.0,
        writer="m",
        testset_writer=None,
        answerer="m",
        judge=None,
        described=described,
    )
    [one] = plan_evaluation(size)
    assert (one.calls.low, one.calls.expected) == (calls, calls)
    assert one.calls.high == calls + 3 * 9
    assert one.input_tokens.expected == sent

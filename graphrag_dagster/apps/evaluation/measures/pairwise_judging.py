"""The comparisons of a judge: the pairs of answers, their order, and the scores of its verdicts.

Every pair of conditions is compared on every question by every criterion in several replicates (paper §4.1).
Judges have a position bias: each replicate swaps the order of the answers, and the share
of wins of the answer shown first is reported with the results.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal

import polars as pl

from graphrag_dagster.apps.evaluation.tables import JUDGEMENTS, POSITION_BIAS
from graphrag_dagster.apps.evaluation.tasks import CRITERIA, AnswerJudge, AnswerPair, Criterion, Verdict
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.text.statement_reading import without_citations

#: Name of the row of :func:`position_bias` that takes all criteria together.
ALL = "all"
#: What an interval of 95 % leaves out at either end.
_TAIL = 0.025
_KEY = ("question_id", "condition_a", "condition_b", "criterion", "replicate")
_VERDICT = ("winner", "score_a", "reason", "problem", "repaired", "model")


def comparisons(
    question_ids: Sequence[str],
    conditions: Sequence[str],
    criteria: Sequence[Criterion] = CRITERIA,
    replicates: int = 5,
) -> pl.DataFrame:
    """Plan the judgements of all pairs of conditions: 37,500 for six conditions and 125 questions.

    Of a pair with the names x < y, y is shown first in replicate r where r + h is odd, h being the parity of
    a hash of the question and the two names: an odd number of replicates is balanced over the questions.
    Neither the criterion nor the order of ``conditions`` has a part in it, so that prompts share what can be
    shared, and stay the same when conditions are added or named in another order.

    Args:
        question_ids: distinct.
        conditions: distinct; ``condition_a`` is the one that stands before the other here.
        criteria: distinct.
        replicates: judgements of each pair, question and criterion, numbered from 0.

    Returns:
        ``judgement_id``, ``question_id``, ``condition_a``, ``condition_b``, ``criterion``, ``replicate`` and
        ``first``, the condition whose answer is shown first; in the order of the arguments.

    Raises:
        ValueError: something is named twice, or there are fewer than two conditions.
    """
    for kind, names in (("question", question_ids), ("condition", conditions), ("criterion", criteria)):
        if twice := sorted(name for name, count in Counter(names).items() if count > 1):
            raise ValueError(f"each {kind} must be named once; {', '.join(twice)} is there more than once")
    if len(conditions) < 2:
        raise ValueError(f"at least two conditions are compared, not {len(conditions)}")
    pairs = list(combinations(conditions, 2))
    cells = [
        (question, a, b, int(stable_id(question, *sorted((a, b))), 16) % 2)
        for question in question_ids
        for a, b in pairs
    ]
    types = {**JUDGEMENTS.types("question_id", "condition_a", "condition_b"), "parity": pl.Int32()}
    turned = (pl.col("replicate") + pl.col("parity")) % 2 == 1
    plan = (
        pl.DataFrame(cells, schema=types, orient="row")
        .with_columns(criterion=pl.lit(list(criteria), pl.List(pl.String)))
        .explode("criterion")
        .with_columns(replicate=pl.lit(list(range(replicates)), pl.List(pl.Int32)))
        .explode("replicate")
        .with_columns(
            first=pl.when(turned)
            .then(pl.max_horizontal("condition_a", "condition_b"))
            .otherwise(pl.min_horizontal("condition_a", "condition_b"))
        )
    )
    ids = pl.Series("judgement_id", [stable_id(*row) for row in plan.select(_KEY).iter_rows()], pl.String)
    return plan.select(ids, *_KEY, "first")


def sample_questions(question_ids: Iterable[str], n: int) -> list[str]:
    """Return ``n`` of the questions, or all where there are fewer, drawn by a hash of their ids.

    The order of ``question_ids`` has no part in it, and a smaller sample is the beginning of a larger one:
    enlarged, it keeps the judgements that are there.
    """
    return sorted(set(question_ids), key=lambda one: (stable_id("sample", one), one))[: max(n, 0)]


def answer_pairs(
    plan: pl.DataFrame, questions: Mapping[str, str], answers: Mapping[tuple[str, str], str]
) -> list[AnswerPair]:
    """Return the comparisons of a plan's rows, in their order.

    Args:
        plan: rows of :func:`comparisons`.
        questions: text by ``question_id``.
        answers: text by ``question_id`` and condition.

    Raises:
        QuestionError: an answer is missing.
    """
    made = []
    for question_id, a, b, criterion, replicate, first in plan.select(*_KEY, "first").iter_rows():
        for condition in (a, b):
            if (question_id, condition) not in answers:
                raise QuestionError(
                    f"question {question_id} has no answer by {condition}; answer every question under all "
                    "compared conditions, then judge"
                )
        second = b if first == a else a
        shown = answers[question_id, first], answers[question_id, second]
        made.append(AnswerPair(questions[question_id], *shown, criterion, replicate))
    return made


def judgement_rows(plan: pl.DataFrame, verdicts: Iterable[Verdict], model: str) -> pl.DataFrame:
    """Return the rows of ``evaluation.judgements``: the plan with what became of each comparison.

    ``winner`` is the condition that won, null for a tie; ``score_a`` is 100 where ``condition_a`` won, 0
    where it lost, 50 for a tie (paper Appendix G); ``model`` is null where the answers were identical, which
    needs none.

    Args:
        plan: rows of :func:`comparisons`.
        verdicts: one per row, in their order.
        model: the judge's name.

    Raises:
        ValueError: there are more or fewer verdicts than rows.
    """
    rows = []
    for (a, b, first), verdict in zip(
        plan.select("condition_a", "condition_b", "first").iter_rows(), verdicts, strict=True
    ):
        winner = (None, first, b if first == a else a)[verdict.winner]
        used = model if verdict.usage.calls else None
        score = 50.0 if winner is None else 100.0 if winner == a else 0.0
        rows.append((winner, score, verdict.reason, verdict.problem, verdict.usage.repaired, used))
    return plan.hstack(pl.DataFrame(rows, schema=JUDGEMENTS.types(*_VERDICT), orient="row"))


def position_bias(judgements: pl.DataFrame) -> pl.DataFrame:
    """Return how often the answer that was shown first won, by criterion and over all.

    The interval is Clopper and Pearson's of 95 %, ``p`` that of the exact two-sided binomial test against one
    half: the interval leaves out one half just where ``p`` is below .05. Both take verdicts as independent.
    Verdicts on one comparison are not, but its replicates are shown both ways, which keeps a judge without a
    favourite place nearer to one half than the test allows for: it does not find a bias too often. With one
    or three replicates that is so by criterion only, not over all, since the criteria share the order of the
    answers.

    Args:
        judgements: rows of :func:`judgement_rows`.

    Returns:
        Rows of ``evaluation.position_bias``, by name of the criterion, ``all`` last: ``criterion``,
        ``judgements``, ``ties``, ``unusable``, ``first_wins``, ``share`` of the verdicts that are no ties,
        0–1, its ``ci_low`` and ``ci_high``, and ``p``; the last four are null where all are ties.
    """
    counts = (
        pl.len().cast(pl.Int32).alias("judgements"),
        pl.col("winner").is_null().sum().cast(pl.Int32).alias("ties"),
        pl.col("problem").is_not_null().sum().cast(pl.Int32).alias("unusable"),
        (pl.col("winner") == pl.col("first")).sum().cast(pl.Int32).alias("first_wins"),
    )
    by_criterion = judgements.group_by("criterion").agg(*counts).sort("criterion")
    overall = judgements.select(pl.lit(ALL).alias("criterion"), *counts)
    table = pl.concat([by_criterion, overall])
    numbers = table.select("first_wins", pl.col("judgements") - pl.col("ties")).iter_rows()
    shares = pl.DataFrame(
        [_share(wins, decided) for wins, decided in numbers],
        schema=POSITION_BIAS.types("share", "ci_low", "ci_high", "p"),
        orient="row",
    )
    return table.hstack(shares)


def _share(wins: int, decided: int) -> tuple[float | None, float | None, float | None, float | None]:
    """The share, the bounds of its interval, and p against one half."""
    from scipy.special import bdtr, betaincinv

    if not decided:
        return None, None, None, None
    low = float(betaincinv(wins, decided - wins + 1, _TAIL)) if wins else 0.0
    high = float(betaincinv(wins + 1, decided - wins, 1 - _TAIL)) if wins < decided else 1.0
    p = min(1.0, 2 * float(bdtr(min(wins, decided - wins), decided, 0.5)))
    return wins / decided, low, high, p


def judge_answers(
    answers: pl.DataFrame,
    judge: AnswerJudge,
    *,
    conditions: Sequence[str],
    criteria: Sequence[Criterion],
    replicates: int,
    model: str,
    citations: Literal["hidden", "shown"] = "hidden",
) -> pl.DataFrame:
    """Return the rows of ``evaluation.judgements`` for all pairs of answers to the same question.

    Args:
        answers: ``question_id``, ``question``, ``position``, ``method`` and ``text``.
        judge: compares.
        conditions: the methods, in the order of the settings; those without answers are left out.
        criteria: by what answers are compared.
        replicates: verdicts on each pair and criterion.
        model: the judge's name.
        citations: whether the judge sees citation marks. How many there are depends on what a method cites,
            reports or text units, and not on whether the words cited support the answer; hence hidden.

    Raises:
        ValueError: the answers are of fewer than two methods.
        EndpointError: the judge's endpoint cannot be used at all.
    """
    present = [condition for condition in conditions if condition in set(answers["method"])]
    ordered = answers.sort("position").unique("question_id", maintain_order=True)
    plan = comparisons(ordered["question_id"].to_list(), present, criteria, replicates)
    texts = {
        (question, method): text if citations == "shown" else without_citations(text)
        for question, method, text in answers.select("question_id", "method", "text").iter_rows()
    }
    questions = dict(ordered.select("question_id", "question").iter_rows())
    return judgement_rows(plan, judge.judge(answer_pairs(plan, questions, texts)), model)

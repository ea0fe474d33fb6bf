"""Means, tests and agreement from judgements and counts (spec_graphrag §9 and §10)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any, Literal, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.apps.evaluation.inference.paired_tests import (
    PairTest,
    pairwise,
    pairwise_scores,
    shapiro_wilk,
)
from graphrag_dagster.kernel.common.bootstrap_intervals import mean_interval

#: Which of a pair of conditions (a, b) won, wherever its answer stood in the prompt.
Vote = Literal["a", "b", "tie"]
_VOTES = ("a", "b", "tie")


@dataclass(frozen=True, slots=True)
class JudgeAlignment:
    """Agreement of a judge's labels with differences of claims.

    ``comparisons`` = ``judge_ties`` + ``agree`` + ``disagree``. ``claim_ties`` are those of ``disagree`` in
    which the measure of claims is equal for both. ``share`` is the agreement among comparisons that the judge
    did not leave tied, 0–1, or None where there is none.
    """

    comparisons: int
    judge_ties: int
    agree: int
    disagree: int
    claim_ties: int
    share: float | None


def alignment(labels: Iterable[Vote], differences: Iterable[float]) -> JudgeAlignment:
    """Compare a judge's labels with the claim-based measure of the same comparisons (paper §5.2).

    A judge's tie is left out, and a tie of the measure counts as disagreement (spec_graphrag §10).

    Args:
        labels: majority label of each comparison of conditions a and b.
        differences: the measure of a's answer minus that of b's, in the same order.

    Raises:
        ValueError: the two differ in length, a label is unknown, or a difference is not a number.
    """
    found: Counter[tuple[Vote, Vote]] = Counter(
        (label, _direction(difference)) for label, difference in zip(labels, differences, strict=True)
    )
    unknown = sorted(map(str, {label for label, _ in found} - set(_VOTES)))
    if unknown:
        raise ValueError(f"labels must be {', '.join(_VOTES)}; got {unknown}")
    judge_ties = sum(count for (label, _), count in found.items() if label == "tie")
    claim_ties = found["a", "tie"] + found["b", "tie"]
    agree = found["a", "a"] + found["b", "b"]
    decided = found.total() - judge_ties
    return JudgeAlignment(
        comparisons=found.total(),
        judge_ties=judge_ties,
        agree=agree,
        disagree=decided - agree,
        claim_ties=claim_ties,
        share=agree / decided if decided else None,
    )


def _direction(difference: float) -> Vote:
    if isnan(difference):
        raise ValueError("a difference of claims is not a number")
    if difference == 0:
        return "tie"
    return "a" if difference > 0 else "b"


Rows = list[dict[str, Any]]
Values = NDArray[np.float64]
_SIGNIFICANT = 0.05
#: What is counted of the claims, and the criterion it stands for.
_COUNTERPARTS = {"claims": "comprehensiveness", "clusters": "diversity"}


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Parameters of intervals: number of resamples and seed."""

    resamples: int = 2000
    seed: int = 0


def significance(
    comparisons: pl.DataFrame, measures: pl.DataFrame, conditions: Sequence[str], how: Bootstrap
) -> Rows:
    """Return the rows of ``evaluation.significance``: every pair by every criterion and measure.

    Holm's correction takes the pairs of one criterion or measure as its family (spec_graphrag §9). A measure
    is tested on the questions for which all conditions have a value.

    Args:
        comparisons: rows of ``evaluation.comparisons``.
        measures: rows of ``evaluation.answer_measures``.
        conditions: in the order of the settings.
        how: the intervals.
    """
    rows: Rows = []
    for criterion, scores in _scores(comparisons, conditions):
        tests = pairwise_scores(scores, resamples=how.resamples, seed=how.seed)
        # A difference in points is twice that of a win rate from one half.
        rows += [_tested(criterion, test) for test in tests if test.n]
    for measure, values in _values(measures, conditions):
        present = [condition for condition in conditions if condition in values]
        if len(present) > 1 and len(values[present[0]]):
            tests = pairwise(values, present, resamples=how.resamples, seed=how.seed)
            rows += [_tested(measure, test) for test in tests]
    return rows


def _tested(measure: str, test: PairTest) -> dict[str, Any]:
    row = asdict(test)
    return {
        "measure": measure,
        "questions": row.pop("n"),
        "ci_low": row.pop("low"),
        "ci_high": row.pop("high"),
        **row,
        "significant": test.p_holm < _SIGNIFICANT,
    }


def condition_means(
    comparisons: pl.DataFrame, measures: pl.DataFrame, conditions: Sequence[str], how: Bootstrap
) -> Rows:
    """Return the rows of ``evaluation.condition_means``.

    The value of a condition by a criterion is, for each question, its mean score over all opponents.

    Args: see :func:`significance`.
    """
    rows: Rows = []
    for criterion, scores in _mean_scores(comparisons, conditions):
        rows += [_mean(criterion, condition, values, how) for condition, values in scores.items()]
    for measure, counted in measures.group_by("measure", maintain_order=True):
        for condition in conditions:
            values = counted.filter(pl.col("condition") == condition).sort("question_id")["value"]
            if len(values):
                rows.append(_mean(str(measure[0]), condition, values.to_numpy(), how))
    return rows


def _mean(measure: str, condition: str, values: Values, how: Bootstrap) -> dict[str, Any]:
    interval = mean_interval(values, resamples=how.resamples, seed=how.seed)
    normality = shapiro_wilk(values)
    return {
        "measure": measure,
        "condition": condition,
        "questions": len(values),
        "mean": interval.mean if interval else None,
        "ci_low": interval.low if interval else None,
        "ci_high": interval.high if interval else None,
        "shapiro_w": normality.w,
        "shapiro_p": normality.p,
        "shapiro_reason": normality.reason,
    }


def alignments(comparisons: pl.DataFrame, measures: pl.DataFrame) -> Rows:
    """Return the rows of ``evaluation.alignment``: judge against claims (spec_graphrag §10).

    Comprehensiveness is compared with the number of claims, diversity with that of clusters.

    Args:
        comparisons: rows of ``evaluation.comparisons``.
        measures: rows of ``evaluation.answer_measures``.
    """
    rows: Rows = []
    for measure in measures["measure"].unique().sort():
        criterion = _COUNTERPARTS.get(measure.split(" ")[0].removesuffix("-lex"))
        if criterion is None or measure.endswith("inclusive"):
            continue
        judged = comparisons.filter(pl.col("criterion") == criterion)
        if judged.is_empty():
            continue
        labels, differences = _votes(judged, measures.filter(pl.col("measure") == measure))
        row = asdict(alignment(labels, differences))
        rows.append({"criterion": criterion, "measure": measure, "agreement": row.pop("share"), **row})
    return rows


def _votes(judged: pl.DataFrame, counted: pl.DataFrame) -> tuple[list[Vote], list[float]]:
    """The majority's label of each pair of answers, and by how much the count of the first is higher."""
    counts = counted.select("question_id", "condition", "value")
    pairs = judged.join(
        counts.rename({"condition": "condition_a", "value": "value_a"}), on=["question_id", "condition_a"]
    ).join(counts.rename({"condition": "condition_b", "value": "value_b"}), on=["question_id", "condition_b"])
    won = pl.when(pl.col("label") == pl.col("condition_a")).then(pl.lit("a")).otherwise(pl.lit("b"))
    labels = pl.when(pl.col("label").is_null()).then(pl.lit("tie")).otherwise(won)
    chosen = pairs.select(labels.alias("label"), difference=pl.col("value_a") - pl.col("value_b"))
    return cast("list[Vote]", chosen["label"].to_list()), chosen["difference"].to_list()


def _scores(
    comparisons: pl.DataFrame, conditions: Sequence[str]
) -> Iterator[tuple[str, Mapping[tuple[str, str], Values]]]:
    """The scores of each pair by question, for each criterion."""
    for (criterion,), judged in comparisons.sort("question_id").group_by("criterion", maintain_order=True):
        pairs = {
            (str(a), str(b)): rows["score_a"].to_numpy()
            for (a, b), rows in judged.group_by("condition_a", "condition_b", maintain_order=True)
            if a in conditions and b in conditions
        }
        yield str(criterion), pairs


def _mean_scores(
    comparisons: pl.DataFrame, conditions: Sequence[str]
) -> Iterator[tuple[str, dict[str, Values]]]:
    own = ["question_id", "criterion", "score"]
    both_ways = pl.concat(
        [
            comparisons.with_columns(score=pl.col("score_a")).select(*own, condition="condition_a"),
            comparisons.with_columns(score=100 - pl.col("score_a")).select(*own, condition="condition_b"),
        ]
    )
    means = both_ways.group_by("criterion", "condition", "question_id").agg(pl.col("score").mean())
    for (criterion,), rows in means.sort("criterion", "question_id").group_by(
        "criterion", maintain_order=True
    ):
        found = {
            condition: rows.filter(pl.col("condition") == condition)["score"].to_numpy()
            for condition in conditions
        }
        yield str(criterion), {condition: values for condition, values in found.items() if len(values)}


def _values(measures: pl.DataFrame, conditions: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Values]]]:
    """The values of each condition by question, aligned, for each measure."""
    for (measure,), rows in measures.sort("measure").group_by("measure", maintain_order=True):
        wide = rows.pivot(on="condition", index="question_id", values="value").drop_nulls()
        wide = wide.sort("question_id")
        yield (
            str(measure),
            {condition: wide[condition].to_numpy() for condition in conditions if condition in wide},
        )

"""Means, tests and agreement from judgements and counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

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

    Holm's correction takes the pairs of one criterion or measure as its family (GraphRAG paper, Table 6). A
    measure is tested on the questions for which all conditions have a value.

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
        rows += [_test_measure(criterion, test) for test in tests if test.n]
    for measure, values in _values(measures, conditions):
        present = [condition for condition in conditions if condition in values]
        if len(present) > 1 and len(values[present[0]]):
            tests = pairwise(values, present, resamples=how.resamples, seed=how.seed)
            rows += [_test_measure(measure, test) for test in tests]
    return rows


def _test_measure(measure: str, test: PairTest) -> dict[str, Any]:
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
    """Return the rows of ``evaluation.alignment``: judge against claims.

    Comprehensiveness is compared with the number of claims, diversity with that of clusters. A judge's tie is
    left out, and a tie of the measure counts as disagreement.

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
        agreed = _agreed(judged, measures.filter(pl.col("measure") == measure))
        rows.append({"criterion": criterion, "measure": measure, **agreed})
    return rows


def _agreed(judged: pl.DataFrame, counted: pl.DataFrame) -> dict[str, float | None]:
    """How often the majority's label is the answer with the higher count, among those that have a label."""
    counts = counted.select("question_id", "condition", "value")
    pairs = judged.join(
        counts.rename({"condition": "condition_a", "value": "value_a"}), on=["question_id", "condition_a"]
    ).join(counts.rename({"condition": "condition_b", "value": "value_b"}), on=["question_id", "condition_b"])
    difference = pl.col("value_a") - pl.col("value_b")
    ahead = pl.when(difference > 0).then("condition_a").when(difference < 0).then("condition_b")
    total, ties, agree, claim_ties = pairs.select(
        pl.len(),
        ties=pl.col("label").null_count(),
        agree=(pl.col("label") == ahead).sum(),
        claim_ties=(pl.col("label").is_not_null() & (difference == 0)).sum(),
    ).row(0)
    return {
        "comparisons": total,
        "judge_ties": ties,
        "agree": agree,
        "disagree": total - ties - agree,
        "claim_ties": claim_ties,
        "agreement": agree / (total - ties) if total > ties else None,
    }


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

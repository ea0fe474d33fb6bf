"""The tests of an evaluation, each turned so that it compares a way of answering with the baseline."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.core.evaluation.report.measures import measure
from graphrag_dagster.core.evaluation.report.numbers import ALPHA

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Contrast:
    """A test of a way of answering against the baseline.

    ``mean``, ``difference`` (mean minus the baseline's) and its ``interval`` are in the unit of the measure.
    Of a criterion ``mean`` is the win rate over the baseline, 0–100, and ``difference`` ``2 * mean - 100``.
    """

    measure: str
    condition: str
    questions: int
    mean: float
    difference: float
    interval: Interval | None
    p_holm: float

    @property
    def outcome(self) -> str:
        """``better``, ``worse`` or ``no difference``; where neither way is better, ``better`` means more.

        The test is one of ranks, the direction that of the mean.
        """
        sign = measure(self.measure).sign or 1
        if self.p_holm >= ALPHA or self.difference == 0:
            return "no difference"
        return "better" if sign * self.difference > 0 else "worse"

    @property
    def win_rate_interval(self) -> Interval | None:
        """The interval of a criterion's win rate, 0–100."""
        return self.interval and (50 + self.interval[0] / 2, 50 + self.interval[1] / 2)


def contrasts(significance: pl.DataFrame, conditions: Sequence[str], baseline: str) -> list[Contrast]:
    """Return the tests of the conditions against the baseline, by measure, then as ``conditions`` has them.

    Args:
        significance: rows of ``evaluation.significance``, each pair in either direction; a pair without a
            difference, for want of questions, is passed over.
        conditions: whose tests; the baseline among them is passed over.
        baseline: with which they are compared.
    """
    found = []
    for row in significance.iter_rows(named=True):
        pair = (row["condition_a"], row["condition_b"])
        if baseline not in pair or row["difference"] is None:
            continue
        turned = pair[0] == baseline
        condition = pair[1] if turned else pair[0]
        if condition == baseline or condition not in conditions:
            continue
        found.append(
            Contrast(
                measure=row["measure"],
                condition=condition,
                questions=row["questions"],
                mean=row["mean_b"] if turned else row["mean_a"],
                difference=-row["difference"] if turned else row["difference"],
                interval=_interval(row["ci_low"], row["ci_high"], turned),
                p_holm=row["p_holm"],
            )
        )
    return sorted(found, key=lambda one: (measure(one.measure).order, conditions.index(one.condition)))


def _interval(low: float | None, high: float | None, turned: bool) -> Interval | None:
    if low is None or high is None:
        return None
    return (-high, -low) if turned else (low, high)

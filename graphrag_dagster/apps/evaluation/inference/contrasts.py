"""The tests of an evaluation, each oriented as a search method against the baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from graphrag_dagster.apps.evaluation.inference.measures import Measure, measure
from graphrag_dagster.apps.evaluation.inference.numbers import ALPHA, p_value, percent, plain
from graphrag_dagster.kernel.common.printable import counted

Interval = tuple[float, float]
Outcome = Literal["better", "worse", "mixed", "no difference"]
Disagreement = Literal["correction", "ranks"]


@dataclass(frozen=True, slots=True)
class Contrast:
    """A test of a search method against the baseline.

    ``mean``, ``difference`` (mean minus the baseline's) and its ``interval`` are in the unit of the measure.
    Of a criterion ``mean`` is the win rate over the baseline, 0–100, and ``difference`` ``2 * mean - 100``.
    ``interval`` is the bootstrap's, of the mean and not corrected; ``p`` is Wilcoxon's, of ranks, ``p_holm``
    the same corrected by Holm. ``ranks`` is the direction of the test, -1 to 1, None where it is not known;
    on ``equal`` of the ``questions`` both ways have the same value.
    """

    measure: str
    condition: str
    questions: int
    equal: int
    mean: float
    difference: float
    interval: Interval | None
    p: float
    p_holm: float
    ranks: float | None

    @property
    def outcome(self) -> Outcome:
        """Result of the corrected test; if neither direction is better, ``better`` means more.

        ``mixed``: it finds a difference, but ranks and means do not point in the same direction, as where
        most questions speak for one way and a few, by much, for the other.
        """
        if self.p_holm >= ALPHA:
            return "no difference"
        if opposed(self.difference, self.ranks):
            return "mixed"
        sign = measure(self.measure).sign or 1
        return "better" if sign * self.difference > 0 else "worse"

    @property
    def disagreement(self) -> Disagreement | None:
        """Why the interval leaves out 0 and the test finds nothing, or the reverse; None where they agree.

        ``correction``: without it the test would find the difference as well. ``ranks``: a mean follows a few
        large differences, ranks do not.
        """
        if self.interval is None:
            return None
        leaves_out_0 = self.interval[0] > 0 or self.interval[1] < 0
        if leaves_out_0 == (self.p_holm < ALPHA):
            return None
        return "correction" if self.p < ALPHA <= self.p_holm else "ranks"

    @property
    def win_rate_interval(self) -> Interval | None:
        """The interval of a criterion's win rate, 0–100."""
        return self.interval and (50 + self.interval[0] / 2, 50 + self.interval[1] / 2)


def opposed(difference: float, ranks: float | None) -> bool:
    """Whether ranks, where their direction is known, do not point where the difference of means does."""
    return difference * (difference if ranks is None else ranks) <= 0


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
                equal=row["zeros"],
                mean=row["mean_b"] if turned else row["mean_a"],
                difference=_turned(row["difference"], turned) or 0.0,
                interval=_interval(row["ci_low"], row["ci_high"], turned),
                p=row["p"],
                p_holm=row["p_holm"],
                ranks=_turned(row["rank_biserial"], turned),
            )
        )
    return sorted(found, key=lambda one: (measure(one.measure).order, conditions.index(one.condition)))


def _turned(value: float | None, turned: bool) -> float | None:
    return -value if turned and value is not None else value


def _interval(low: float | None, high: float | None, turned: bool) -> Interval | None:
    if low is None or high is None:
        return None
    return (-high, -low) if turned else (low, high)


def sentence(contrast: Contrast, baseline: str) -> str:
    """Return a test in words: the difference as stated, its interval, p, and what they disagree on."""
    spoken = measure(contrast.measure)
    judged = spoken.kind == "judged"
    said = _judged(contrast, baseline) if judged else _counted(contrast, spoken, baseline)
    why = _why_mixed(contrast, baseline) if contrast.outcome == "mixed" else _disagreement(contrast, judged)
    return f"{said} {why}" if why else said


def tested(contrast: Contrast) -> str:
    """Return the p values, each under its test's name."""
    return f"Wilcoxon {p_value(contrast.p)}, Holm-corrected {p_value(contrast.p_holm)}"


def _counted(contrast: Contrast, spoken: Measure, baseline: str) -> str:
    condition, outcome = contrast.condition, contrast.outcome
    size, direction, tail = plain(abs(contrast.difference)), _more(contrast, spoken), _tail(contrast)
    if contrast.equal == contrast.questions:
        return f"{condition} and {baseline} have the same {spoken.label} on every question."
    if contrast.difference == 0:
        found = f"the means of {condition} and {baseline} are equal ({tail})."
    else:
        found = f"{size} {direction} for {condition} ({tail})."
    if outcome == "no difference":
        return f"No difference between {condition} and {baseline} in {spoken.label} was found: {found}"
    if outcome == "mixed":
        return f"Mixed between {condition} and {baseline} in {spoken.label}: {found}"
    if spoken.noun:
        return (
            f"{condition} {spoken.verb} {size} {direction} {spoken.noun} per answer than {baseline} ({tail})."
        )
    return f"The mean {spoken.label} of {condition} is {size} {direction} than that of {baseline} ({tail})."


def _judged(contrast: Contrast, baseline: str) -> str:
    if contrast.equal == contrast.questions:
        among = counted(contrast.questions, "question")
        return f"{contrast.condition} and {baseline} are even on {contrast.measure} on all of {among}."
    bounds = ""
    if interval := contrast.win_rate_interval:
        # Where it all but touches 50 %, whole numbers would hide on which side it lies.
        low, high = (percent(bound, 1 if contrast.disagreement else 0) for bound in interval)
        bounds = f"95 % bootstrap interval {low} to {high}; "
    outcome = contrast.outcome
    tail = f": {'no difference was found' if outcome == 'no difference' else 'mixed'}"
    return (
        f"{contrast.condition} wins {percent(contrast.mean, 0)} of the comparisons with {baseline} on "
        f"{contrast.measure} ({bounds}{tested(contrast)}){'' if outcome in ('better', 'worse') else tail}."
    )


def _why_mixed(contrast: Contrast, baseline: str) -> str:
    ahead = contrast.condition if (contrast.ranks or 0.0) > 0 else baseline
    return (
        f"By ranks, which the test goes by, {ahead} is ahead; the mean follows a few large differences, so "
        "neither is called better."
    )


def _disagreement(contrast: Contrast, judged: bool) -> str:
    even = "50 %" if judged else "0"
    if contrast.disagreement == "correction":
        return (
            f"The interval leaves out {even} since it is not corrected for the number of pairs; the verdict "
            "follows the corrected test."
        )
    if contrast.disagreement == "ranks":
        does = "holds" if contrast.outcome != "no difference" else "leaves out"
        return (
            f"The interval {does} {even} since it is of the mean, which a few large differences move; the "
            "verdict follows the test, which is of ranks."
        )
    return ""


def _more(contrast: Contrast, spoken: Measure) -> str:
    words = ("more", "fewer") if spoken.noun else ("higher", "lower")
    return words[contrast.difference < 0]


def _tail(contrast: Contrast) -> str:
    if contrast.interval is None:
        return tested(contrast)
    low, high = contrast.interval
    if contrast.difference < 0:
        low, high = -high, -low
    return f"95 % bootstrap interval {plain(low)} to {plain(high)}; {tested(contrast)}"

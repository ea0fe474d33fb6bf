"""The verdict on whether the graph beats plain retrieval, with the tests it rests on (paper Figure 2)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, isclose
from typing import Literal

import polars as pl

from graphrag_dagster.apps.evaluation.inference.judge_reliability import doubts
from graphrag_dagster.apps.evaluation.inference.measure_names import (
    ALPHA,
    Measure,
    measure,
    p_value,
    percent,
    plain,
    uses_graph,
)
from graphrag_dagster.apps.evaluation.inference.paired_tests import EXACT
from graphrag_dagster.apps.evaluation.tables import VERDICTS
from graphrag_dagster.kernel.catalogue.search_methods import BASELINE
from graphrag_dagster.kernel.common.printable import plural

Interval = tuple[float, float]
Outcome = Literal["better", "worse", "mixed", "no difference", "unknown"]
Disagreement = Literal["correction", "ranks"]


@dataclass(frozen=True, slots=True)
class Contrast:
    """A test of a search method against the baseline.

    ``mean``, ``difference`` (mean minus the baseline's) and its ``interval`` are in the unit of the measure.
    Of a criterion ``mean`` is the win rate over the baseline, 0–100, and ``difference`` ``2 * mean - 100``.
    ``interval`` is the bootstrap's, of the mean and not corrected; ``p`` is Wilcoxon's, of ranks, ``p_holm``
    the same corrected by Holm. ``ranks`` is the direction of the test, -1 to 1, None where it is not known;
    on ``equal`` of the ``questions`` both ways have the same value. ``doubt``: why nothing can be concluded.
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
    doubt: str | None = None

    @property
    def outcome(self) -> Outcome:
        """Result of the corrected test; if neither direction is better, ``better`` means more.

        ``mixed``: it finds a difference, but ranks and means do not point in the same direction, as where
        most questions favour one condition slightly and a few favour the other by much. ``unknown``: the
        judge's verdicts are of no use, or no difference could have been found, however large.
        """
        if self.doubt:
            return "unknown"
        if self.p_holm >= ALPHA:
            return "no difference"
        if are_opposed(self.difference, self.ranks):
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


def are_opposed(difference: float, ranks: float | None) -> bool:
    """Whether ranks, where their direction is known, do not point where the difference of means does."""
    return difference * (difference if ranks is None else ranks) <= 0


def contrasts(
    significance: pl.DataFrame,
    conditions: Sequence[str],
    baseline: str,
    judgements: pl.DataFrame | None = None,
) -> list[Contrast]:
    """Return the tests of the conditions against the baseline, by measure, then as ``conditions`` has them.

    Args:
        significance: rows of ``evaluation.significance``, each pair in either direction; a pair without a
            difference, for want of questions, is passed over.
        conditions: whose tests; the baseline among them is passed over.
        baseline: with which they are compared.
        judgements: rows of ``evaluation.judgements``, which tell whether the judge was of use.
    """
    found, of_judge = [], doubts(judgements)
    family = Counter(significance["measure"])
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
                difference=_oriented(row["difference"], turned) or 0.0,
                interval=_interval(row["ci_low"], row["ci_high"], turned),
                p=row["p"],
                p_holm=row["p_holm"],
                ranks=_oriented(row["rank_biserial"], turned),
                doubt=of_judge.get((row["measure"], frozenset(pair)))
                or _too_few(row["questions"], family[row["measure"]]),
            )
        )
    return sorted(found, key=lambda one: (measure(one.measure).order, conditions.index(one.condition)))


def _too_few(questions: int, pairs: int) -> str | None:
    """Why no difference could be found: even if all questions favour one side, p is not below .05."""
    if questions > EXACT or pairs * 2.0 ** (1 - questions) < ALPHA:
        return None
    return f"{plural(questions, 'question is', 'questions are')} too few for a test to find any difference"


def _oriented(value: float | None, turned: bool) -> float | None:
    return -value if turned and value is not None else value


def _interval(low: float | None, high: float | None, turned: bool) -> Interval | None:
    if low is None or high is None:
        return None
    return (-high, -low) if turned else (low, high)


def sentence(contrast: Contrast, baseline: str) -> str:
    """Return a test in words: the difference as stated, its interval, p, and what they disagree on."""
    spoken = measure(contrast.measure)
    judged = spoken.kind == "judged"
    if contrast.doubt and (judged or contrast.equal < contrast.questions):
        what = f"of {contrast.condition} and {baseline} {'on' if judged else 'in'} {spoken.label}"
        return f"Nothing can be said {what}: {contrast.doubt}."
    said = _judged_verdict(contrast, baseline) if judged else _counted_verdict(contrast, spoken, baseline)
    why = _why_mixed(contrast, baseline) if contrast.outcome == "mixed" else _disagreement(contrast, judged)
    return f"{said} {why}" if why else said


def describe_tests(contrast: Contrast) -> str:
    """Return the p values, each under its test's name."""
    return f"Wilcoxon {p_value(contrast.p)}, Holm-corrected {p_value(contrast.p_holm)}"


def _counted_verdict(contrast: Contrast, spoken: Measure, baseline: str) -> str:
    condition, outcome = contrast.condition, contrast.outcome
    size, direction, tail = plain(abs(contrast.difference)), _more_or_less(contrast, spoken), _tail(contrast)
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


def _judged_verdict(contrast: Contrast, baseline: str) -> str:
    if contrast.equal == contrast.questions:
        among = plural(contrast.questions, "question")
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
        f"{contrast.measure} ({bounds}{describe_tests(contrast)})"
        f"{'' if outcome in ('better', 'worse') else tail}."
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


def _more_or_less(contrast: Contrast, spoken: Measure) -> str:
    words = ("more", "fewer") if spoken.noun else ("higher", "lower")
    return words[contrast.difference < 0]


def _tail(contrast: Contrast) -> str:
    if contrast.interval is None:
        return describe_tests(contrast)
    low, high = contrast.interval
    if contrast.difference < 0:
        low, high = -high, -low
    return f"95 % bootstrap interval {plain(low)} to {plain(high)}; {describe_tests(contrast)}"


Row = dict[str, str | float]


def verdicts(
    significance: pl.DataFrame,
    conditions: Sequence[str],
    baseline: str = BASELINE,
    judgements: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the rows of ``evaluation.verdicts``: every measure and condition against the baseline.

    A measure of which neither more nor less is better (words, sentences) is ``better`` where it is more.

    Args:
        significance: rows of ``evaluation.significance``.
        conditions: in the order of the evaluation; the rows follow it within a measure.
        baseline: with which the others are compared; without tests of it there are no rows.
        judgements: rows of ``evaluation.judgements``; verdicts of a judge that was of no use are ``unknown``.
    """
    return VERDICTS.rows(
        {
            "measure": one.measure,
            "condition": one.condition,
            "baseline": baseline,
            "outcome": one.outcome,
            "difference": one.difference,
            "p_holm": one.p_holm,
            "statement": sentence(one, baseline),
        }
        for one in contrasts(significance, conditions, baseline, judgements)
    )


def main_measure(rows: pl.DataFrame) -> str | None:
    """Return the measure that the verdict rests on: the first criterion, else claims, else the first."""
    names = sorted({str(name) for name in rows["measure"]}, key=lambda name: measure(name).order)
    return names[0] if names else None


def best_with_graph(rows: pl.DataFrame) -> str | None:
    """Return the search method with the graph that stands best against the baseline by the main measure.

    Of equal ones it is the first by name; None where no such method was compared.
    """
    name = main_measure(rows)
    if name is None:
        return None
    sign = measure(name).sign or 1
    ranked = [
        (-sign * row["difference"], row["condition"])
        for row in rows.filter(pl.col("measure") == name).iter_rows(named=True)
        if uses_graph(row["condition"])
    ]
    return min(ranked)[1] if ranked else None


def overall_winners(win_rates: pl.DataFrame, criterion: str, conditions: Sequence[str]) -> list[str]:
    """Return the conditions with the highest mean win rate over their opponents, in the order given.

    The paper marks an overall winner for each data set and criterion and does not say how it is found. Here
    it is the row with the highest mean, without the cell of a condition against itself.

    Args:
        win_rates: criterion, condition, opponent, win_rate (0–100).
        criterion: by which they are compared.
        conditions: among which; a win rate over any other is left out.

    Returns:
        Several where means are equal; none where all are, since then nobody wins.
    """
    rates: dict[str, list[float]] = {}
    for condition, opponent, rate in (
        win_rates.filter(pl.col("criterion") == criterion, pl.col("win_rate").is_not_null())
        .select("condition", "opponent", "win_rate")
        .iter_rows()
    ):
        if condition != opponent and condition in conditions and opponent in conditions:
            rates.setdefault(condition, []).append(rate)
    means = {one: fsum(rates[one]) / len(rates[one]) for one in conditions if one in rates}
    winners = [one for one, mean in means.items() if isclose(mean, max(means.values()), abs_tol=1e-9)]
    return winners if len(winners) < len(means) else []

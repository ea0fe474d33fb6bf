"""Three questions with two answers each, selected by a rule rather than by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from graphrag_dagster.apps.evaluation.inference.measure_names import measure, percent, plain
from graphrag_dagster.apps.evaluation.inference.verdict import best_with_graph, main_measure
from graphrag_dagster.apps.evaluation.report.table_views import ReportData, render_markdown, rows_of
from graphrag_dagster.apps.evaluation.tasks import CRITERIA
from graphrag_dagster.kernel.common.printable import plural


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two answers; ``facts`` are what was counted of it."""

    condition: str
    engine: str
    refused: bool
    text: Markup
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """The judge's verdict on one criterion; ``shown`` says which answer was number 1."""

    criterion: str
    result: str
    shown: str
    text: str


@dataclass(frozen=True, slots=True)
class ReportExample:
    """A question, why it is here, and its answers with and without the graph."""

    role: str
    question: str
    difference: str
    sides: tuple[Side, Side]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Examples:
    """The examples and the rule they were chosen by; ``missing`` says why there are none."""

    examples: tuple[ReportExample, ...] = ()
    rule: str = ""
    missing: str = ""


def examples(data: ReportData) -> Examples:
    """Choose and lay out the examples: the best method with the graph beside the baseline.

    The questions with the largest, the median (of an even number the lower) and the smallest difference by
    the main measure of the verdict, of equal ones that which stands first in the list of questions.
    """
    best = None if data.verdicts is None else best_with_graph(data.verdicts)
    if data.verdicts is None or best is None or data.answers is None:
        return Examples(missing="no search method with the graph was tested against the baseline")
    answers = {
        condition: {
            row["question_id"]: row for row in rows_of(data.answers.filter(pl.col("method") == condition))
        }
        for condition in (best, data.baseline)
    }
    ranking = _ranking(data, main_measure(data.verdicts) or "words", best)
    differences = ranking.differences
    places = {
        question: row["position"]
        for question, row in answers[best].items()
        if question in answers[data.baseline]
    }
    ranked = sorted(
        (places.keys() & differences.keys()), key=lambda one: (-differences[one], places[one], one)
    )
    if not ranked:
        return Examples(missing=f"no question was answered both by {best} and by {data.baseline}")
    made = tuple(
        _example(data, role, answers, ranked[at], ranking.caption(ranked[at], best, data.baseline), best)
        for role, at in _choose_places([differences[one] for one in ranked], best).items()
    )
    rule = f"The rule: of all questions, ordered by {ranking.by}, those with the largest, the median and the "
    return Examples(made, rule + f"smallest difference between {best} and {data.baseline}.")


@dataclass(frozen=True, slots=True)
class _Ranking:
    """The best method's value minus the baseline's by question, and what it is the value of."""

    differences: dict[str, float]
    by: str
    judged: bool = False

    def caption(self, question: str, best: str, baseline: str) -> str:
        difference = self.differences[question]
        if self.judged:
            return f"{percent(50 + difference / 2, 0)} for {best} by {self.by}"
        if difference == 0:
            return f"no difference in {self.by}"
        return f"{best if difference > 0 else baseline} is ahead by {plain(abs(difference))} in {self.by}"


def _choose_places(differences: list[float], best: str) -> dict[str, int]:
    """Role → place among the differences, the largest first; fewer than three have fewer roles."""
    roles = {f"Where {best} is furthest ahead" if differences[0] > 0 else f"Where {best} does best": 0}
    if len(differences) > 2:
        roles["The question in the middle"] = len(differences) // 2
    if len(differences) > 1:
        last = "furthest behind" if differences[-1] < 0 else "least ahead"
        roles[f"Where {best} is {last}"] = len(differences) - 1
    return roles


def _ranking(data: ReportData, name: str, best: str) -> _Ranking:
    if name in CRITERIA and data.comparisons is not None:
        scores = {}
        for row in rows_of(data.comparisons.filter(pl.col("criterion") == name)):
            if {row["condition_a"], row["condition_b"]} == {best, data.baseline}:
                sign = 1 if row["condition_a"] == best else -1
                scores[row["question_id"]] = sign * (2 * row["score_a"] - 100)
        return _Ranking(scores, f"the judge's score for {name}", judged=True)
    counts: dict[tuple[str, str], float] = {}
    if data.answer_measures is not None:
        kept = data.answer_measures.filter(pl.col("measure") == name)
        counts = {(row["question_id"], row["condition"]): row["value"] for row in rows_of(kept)}
    if not counts:
        name = "words"
        counts = {key: float(len(text.split())) for key, text in _texts(data).items()}
    sign = measure(name).sign or 1
    both = [question for question, condition in counts if condition == best]
    differences = {
        question: sign * (counts[question, best] - counts[question, data.baseline])
        for question in both
        if (question, data.baseline) in counts
    }
    return _Ranking(differences, measure(name).label)


def _texts(data: ReportData) -> dict[tuple[str, str], str]:
    return {(row["question_id"], row["method"]): row["text"] for row in rows_of(data.answers)}


def _example(
    data: ReportData,
    role: str,
    answers: Mapping[str, Mapping[str, dict[str, Any]]],
    question: str,
    difference: str,
    best: str,
) -> ReportExample:
    first, second = (_side(data, answers[condition][question]) for condition in (best, data.baseline))
    text = str(answers[best][question]["question"])
    return ReportExample(role, text, difference, (first, second), _reasons(data, question, best))


def _side(data: ReportData, row: dict[str, Any]) -> Side:
    counts = (
        []
        if data.answer_measures is None
        else rows_of(data.answer_measures.filter(pl.col("answer_id") == row["answer_id"]))
    )
    spoken = sorted(((measure(one["measure"]), one["value"]) for one in counts), key=lambda one: one[0].order)
    facts = tuple(
        f"{value:,.0f} {one.noun}" for one, value in spoken if one.name in {"claims", "claims-lex", "words"}
    )
    return Side(row["method"], row["engine"], bool(row["refused"]), render_markdown(row["text"]), facts)


def _reasons(data: ReportData, question: str, best: str) -> tuple[Reason, ...]:
    """For each criterion the result of its replicates, and the first reason that goes with it."""
    if data.comparisons is None or data.judgements is None:
        return ()
    pair = [best, data.baseline]
    about = (
        (pl.col("question_id") == question)
        & pl.col("condition_a").is_in(pair)
        & pl.col("condition_b").is_in(pair)
    )
    given = rows_of(data.judgements.filter(about).sort("replicate", "judgement_id"))
    found = {row["criterion"]: row for row in rows_of(data.comparisons.filter(about))}
    made = []
    for name in (one for one in CRITERIA if one in found):
        row = found[name]
        own = [one for one in given if one["criterion"] == name]
        fitting = [one for one in own if one["winner"] == row["label"] and not one["problem"]] or own
        if fitting:
            wins = {row["condition_a"]: row["wins_a"], row["condition_b"]: row["wins_b"]}
            ties = f", {plural(row['ties'], 'tie')}" if row["ties"] else ""
            result = f"{best} {wins[best]} : {wins[data.baseline]} {data.baseline}{ties}"
            reason = fitting[0]
            text = reason["reason"] or reason["problem"] or "no reason given"
            made.append(Reason(name, result, f"answer 1 was {reason['first']}", text))
    return tuple(made)

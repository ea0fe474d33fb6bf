"""The verdict on whether the graph beats plain retrieval on a corpus, in words.

Who wins most by a criterion, whatever is significant (paper Figure 2).
"""

from collections.abc import Iterable, Sequence
from math import fsum, isclose

import polars as pl

from graphrag_dagster.apps.evaluation.inference.contrasts import contrasts, sentence
from graphrag_dagster.apps.evaluation.inference.measures import CONTROL, measure, uses_graph
from graphrag_dagster.apps.evaluation.inference.numbers import listed, percent, plain
from graphrag_dagster.apps.evaluation.tables.evaluation import VERDICTS
from graphrag_dagster.kernel.catalogue.methods import BASELINE
from graphrag_dagster.kernel.common.printable import counted

#: Fewer questions than these are too few to rely on.
ENOUGH_QUESTIONS = 20
Row = dict[str, str | float]


def verdicts(significance: pl.DataFrame, conditions: Sequence[str], baseline: str = BASELINE) -> pl.DataFrame:
    """Return the rows of ``evaluation.verdicts``: every measure and condition against the baseline.

    A measure of which neither more nor less is better (words, sentences) is ``better`` where it is more.

    Args:
        significance: rows of ``evaluation.significance``.
        conditions: in the order of the evaluation; the rows follow it within a measure.
        baseline: with which the others are compared; without tests of it there are no rows.
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
        for one in contrasts(significance, conditions, baseline)
    )


def main_measure(rows: pl.DataFrame) -> str | None:
    """Return the measure that the verdict rests on: the first criterion, else claims, else the first."""
    names = sorted({str(name) for name in rows["measure"]}, key=lambda name: measure(name).order)
    return names[0] if names else None


def best_with_graph(rows: pl.DataFrame) -> str | None:
    """Return the search method with the graph that stands best against the baseline by the main measure.

    Of equal ones it is the first by name; None where no such way was compared.
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


def headline(rows: pl.DataFrame | None, *, questions: int, judged: bool, baseline: str = BASELINE) -> str:
    """Answer in one or two sentences whether the graph helps on this corpus, and say what that rests on.

    Args:
        rows: those of :func:`verdicts`.
        questions: how many questions were compared.
        judged: a model has judged the answers.
        baseline: with which the search methods are compared.
    """
    best = None if rows is None else best_with_graph(rows)
    if rows is None or best is None or questions == 0:
        return (
            f"No verdict is possible: no search method that uses the graph was tested against {baseline}. "
            "Answer the questions with both, and evaluate again."
        )
    own = [row for row in rows.iter_rows(named=True) if row["condition"] == best]
    own.sort(key=lambda row: measure(row["measure"]).order)
    criteria = [row for row in own if measure(row["measure"]).kind == "judged"]
    if judged and criteria:
        answer = _preferred(criteria, rows, best, baseline)
    else:
        answer = _only_counted([row for row in own if row not in criteria], baseline)
    if questions < ENOUGH_QUESTIONS:
        answer += (
            f" Only {counted(questions, 'question was', 'questions were')} compared: too few to rely on."
        )
    return answer


def _preferred(criteria: Sequence[Row], rows: pl.DataFrame, best: str, baseline: str) -> str:
    """The headline where a model has judged."""
    better = [row for row in criteria if row["outcome"] == "better"]
    worse = [row for row in criteria if row["outcome"] == "worse"]
    mixed = [str(row["measure"]) for row in criteria if row["outcome"] == "mixed"]
    if mixed and not better and not worse:
        return (
            f"No clear difference was found: on {listed(mixed)} ranks and means point in different "
            f"directions, and on no other criterion does the judge prefer {best} or {baseline}."
        )
    if not better and not worse:
        return (
            f"No difference was found: the judge prefers neither {best} nor {baseline} on any criterion, "
            "which does not prove that there is none."
        )
    gains = [row for row in better if row["measure"] != CONTROL]
    losses = [row for row in worse if row["measure"] != CONTROL]
    lead = "Yes" if gains and not losses else "In part" if gains or (better and not losses) else "No"
    if lead == "Yes" and worse:
        lead = f"Yes, at the price of {CONTROL}"
    said = []
    if better:
        said.append(f"prefers {best} to {baseline} on {_rates(better, best)}")
    if worse:
        said.append(f"prefers {baseline} to {best} on {_rates(worse, baseline, turned=True)}")
    text = f"{lead}: on this corpus the judge {', but '.join(said)}."
    return text + (_without_graph(rows, gains, baseline) if gains else "")


def _rates(rows: Iterable[Row], winner: str, *, turned: bool = False) -> str:
    shares = [(row["measure"], 50 + (-1 if turned else 1) * float(row["difference"]) / 2) for row in rows]
    return listed([f"{name} ({winner} wins {percent(share, 0)})" for name, share in shares])


def _without_graph(rows: pl.DataFrame, gains: Sequence[Row], baseline: str) -> str:
    """Conditions that gain as much without the graph, so that the graph does not get the credit for it."""
    names = [str(row["measure"]) for row in gains]
    others = rows.filter(pl.col("measure").is_in(names), pl.col("outcome") == "better")
    found = sorted({str(one) for one in others["condition"] if not uses_graph(str(one))})
    if not found:
        return ""
    who, are = ("which reads", "is") if len(found) == 1 else ("which read", "are")
    return (
        f" {listed(found)}, {who} source texts without a graph, {are} preferred to {baseline} too, "
        "so not all of this is the graph's merit."
    )


def _only_counted(own: Sequence[Row], baseline: str) -> str:
    """The headline where answers were counted but not judged."""
    text = "Unknown: no model has judged these answers, and counts do not show which answers are better."
    if not own:
        return text
    text += f" {own[0]['statement']}"
    words = next((row for row in own[1:] if row["measure"] == "words"), None)
    if words and words["outcome"] == "better" == own[0]["outcome"]:
        longer = plain(float(words["difference"]))
        text += f" Its answers are also {longer} words longer than those of {baseline}."
    return text


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

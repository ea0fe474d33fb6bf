"""The headline of an evaluation: whether the graph helps on a corpus, in one or two sentences."""

from collections.abc import Iterable, Sequence

import polars as pl

from graphrag_dagster.apps.evaluation.inference.judge_reliability import verdict_counts
from graphrag_dagster.apps.evaluation.inference.measure_names import (
    CONTROL,
    join_words,
    measure,
    percent,
    plain,
    uses_graph,
)
from graphrag_dagster.apps.evaluation.inference.verdict import Row, best_with_graph, main_measure
from graphrag_dagster.apps.evaluation.tables import JUDGEMENTS
from graphrag_dagster.kernel.catalogue.search_methods import BASELINE
from graphrag_dagster.kernel.common.printable import plural

#: Fewer questions than these are too few to rely on.
ENOUGH_QUESTIONS = 20


def headline(
    rows: pl.DataFrame | None,
    *,
    questions: int,
    judged: bool,
    baseline: str = BASELINE,
    judgements: pl.DataFrame | None = None,
) -> str:
    """Answer in one or two sentences whether the graph helps on this corpus, and say what that rests on.

    Args:
        rows: those of :func:`verdicts`.
        questions: how many questions were compared.
        judged: a model has judged the answers.
        baseline: with which the search methods are compared.
        judgements: rows of ``evaluation.judgements``, of which those without a usable reply are counted.
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
        answer = _judged(criteria, rows, best, baseline, judgements)
    else:
        answer = _only_counted([row for row in own if row not in criteria], baseline)
    if questions < ENOUGH_QUESTIONS and not answer.startswith(_NOTHING):
        answer += f" Only {plural(questions, 'question was', 'questions were')} compared: too few to rely on."
    return answer


def headline_of(
    rows: pl.DataFrame, significance: pl.DataFrame, judgements: pl.DataFrame, baseline: str
) -> str:
    """Return the headline of the tables ``verdicts``, ``significance`` and ``judgements``."""
    main = main_measure(rows)
    compared = significance.filter(pl.col("measure") == main)["questions"].max() if main else 0
    return headline(
        rows,
        questions=int(str(compared or 0)),
        judged=not judgements.is_empty(),
        baseline=baseline,
        judgements=judgements,
    )


#: How a headline begins where the verdicts bear no conclusion.
_NOTHING = "Nothing can be said on whether the graph helps"


def _judged(
    criteria: Sequence[Row], rows: pl.DataFrame, best: str, baseline: str, judgements: pl.DataFrame | None
) -> str:
    """The headline where a model has judged, with how many of its verdicts were of no use."""
    known = [row for row in criteria if row["outcome"] != "unknown"]
    unknown = [row for row in criteria if row["outcome"] == "unknown"]
    judgements = JUDGEMENTS.empty() if judgements is None else judgements
    counts = verdict_counts(judgements)
    if known:
        answer = _preferred(known, rows, best, baseline)
    else:
        reason = counts.doubt or str(unknown[0]["statement"]).partition(": ")[2]
        answer = f"{_NOTHING}: {reason.removesuffix('.')}."
    if known and unknown:
        names = join_words([str(row["measure"]) for row in unknown])
        answer += f" On {names} nothing can be said: the judge's verdicts are of no use there."
    if counts.unusable and "no usable reply" not in answer:
        of = plural(counts.verdicts, "verdict")
        answer += f" {counts.unusable:,} of {of} had no usable reply of the judge and count as ties."
    return answer


def _preferred(criteria: Sequence[Row], rows: pl.DataFrame, best: str, baseline: str) -> str:
    """What the judge prefers, by the criteria on which its verdicts are of use."""
    better = [row for row in criteria if row["outcome"] == "better"]
    worse = [row for row in criteria if row["outcome"] == "worse"]
    mixed = [str(row["measure"]) for row in criteria if row["outcome"] == "mixed"]
    if mixed and not better and not worse:
        return (
            f"No clear difference was found: on {join_words(mixed)} ranks and means point in different "
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
    return join_words([f"{name} ({winner} wins {percent(share, 0)})" for name, share in shares])


def _without_graph(rows: pl.DataFrame, gains: Sequence[Row], baseline: str) -> str:
    """Conditions that gain as much without the graph, so that the graph does not get the credit for it."""
    names = [str(row["measure"]) for row in gains]
    others = rows.filter(pl.col("measure").is_in(names), pl.col("outcome") == "better")
    found = sorted({str(one) for one in others["condition"] if not uses_graph(str(one))})
    if not found:
        return ""
    who, are = ("which reads", "is") if len(found) == 1 else ("which read", "are")
    return (
        f" {join_words(found)}, {who} source texts without a graph, {are} preferred to {baseline} too, "
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

"""Measured items of an answer, and the resulting rows.

The formulas of four metrics of answers and their context, in two families (spec_coterag §9).

``deepeval`` is the family as printed in the paper, ``ragas`` the other one that it names. A value that is not
defined is None with a reason, never NaN.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from graphrag_dagster.kernel.tasks.ports import Verdict

Family = Literal["deepeval", "ragas"]


@dataclass(frozen=True, slots=True)
class Score:
    """A value from 0 to 1 with the fraction it is of; None with the reason where it is not defined.

    A denominator of 0 beside a value says that the family counts "nothing of nothing" as that value.
    """

    value: float | None
    numerator: float | None = None
    denominator: float | None = None
    reason: str | None = None


def answer_relevancy(verdicts: Sequence[Verdict]) -> Score:
    """Return the share of an answer's statements that have to do with the question (deepeval).

    Only "no" counts against the answer; without statements the value is 1.

    >>> answer_relevancy(["yes", "idk", "no", "no"]).value
    0.5
    """
    return _share(sum(one != "no" for one in verdicts), len(verdicts), of_none=1.0)


def question_similarity(cosines: Sequence[float], *, noncommittal: bool) -> Score:
    """Return the mean cosine of a question with those that its answer would fit (ragas).

    An answer that evades has 0. The numerator is the sum of the cosines. A mean outside 0…1, as opposed
    directions or rounding give it, counts as the nearer end.

    >>> question_similarity([0.5, 1.0], noncommittal=False).value
    0.75
    """
    if noncommittal:
        return Score(0.0, 0.0, float(len(cosines)))
    if not cosines:
        return Score(None, reason="there is no generated question")
    if not all(map(math.isfinite, cosines)):
        return Score(None, reason="a cosine with a generated question is no number")
    total = math.fsum(cosines)
    return Score(min(max(total / len(cosines), 0.0), 1.0), total, float(len(cosines)))


def faithfulness(
    verdicts: Sequence[Verdict], *, family: Family = "deepeval", idk_is_truthful: bool = True
) -> Score:
    """Return the share of an answer's statements that are true to the context.

    Args:
        verdicts: "no" where the context contradicts, "idk" where it does not tell.
        family: deepeval counts what is not contradicted, and without statements gives 1; ragas counts what is
            supported, and without statements is not defined.
        idk_is_truthful: of deepeval; False counts "idk" as wrong.

    >>> faithfulness(["yes", "idk", "no", "yes"]).value, faithfulness(["idk", "yes"], family="ragas").value
    (0.75, 0.5)
    """
    lenient = family == "deepeval" and idk_is_truthful
    true = sum(one == "yes" or (one == "idk" and lenient) for one in verdicts)
    return _share(true, len(verdicts), of_none=1.0 if family == "deepeval" else None, what="answer")


def contextual_recall(verdicts: Sequence[Verdict], *, family: Family = "deepeval") -> Score:
    """Return the share of a reference answer's statements that the context holds ("yes").

    Without statements deepeval gives 0; for ragas nothing is defined.

    >>> contextual_recall(["yes", "no", "no", "yes"]).value
    0.5
    """
    held = sum(one == "yes" for one in verdicts)
    return _share(held, len(verdicts), of_none=0.0 if family == "deepeval" else None, what="reference answer")


def contextual_precision(verdicts: Sequence[Verdict]) -> Score:
    """Return the average precision of the ranked nodes of a context: (1/R) Σ r_k · R_k / k (both families).

    r_k is 1 where node k is of use ("yes"), R_k their number among the first k, R their number; the numerator
    is the sum, the denominator R. Without any useful node the value is 0.

    >>> contextual_precision(["no", "yes"]).value
    0.5
    """
    found, terms = 0, []
    for rank, one in enumerate(verdicts, start=1):
        if one == "yes":
            found += 1
            terms.append(found / rank)
    return _share(math.fsum(terms), found, of_none=0.0)


def _share(part: float, whole: int, *, of_none: float | None, what: str = "") -> Score:
    if whole:
        return Score(part / whole, float(part), float(whole))
    return Score(of_none, 0.0, 0.0, None if of_none is not None else f"the {what} makes no statement")


@dataclass(frozen=True, slots=True)
class QualityItem:
    """An answer with what it is measured against.

    Args:
        id: of the answer; tells apart the rows.
        question: as asked.
        answer: its text without citation marks, whose words would count.
        reference: the right answer, where there is one.
        contexts: texts of the context nodes, in the order of the context.
        refused: the answer says that it cannot answer.
    """

    id: str
    question: str
    answer: str
    reference: str | None
    contexts: tuple[str, ...]
    refused: bool = False


@dataclass(frozen=True, slots=True)
class QualityRow:
    """One value, 0–1, with its fraction; None with the reason where it is not defined or not known.

    ``repaired``: replies that were repaired for it.
    """

    item_id: str
    family: Literal["deepeval", "ragas", "lexical"]
    metric: str
    value: float | None
    numerator: float | None
    denominator: float | None
    reason: str | None
    repaired: int = 0


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A judge's verdict on one statement or node; ``position`` 0… is its place, ``reason`` None where blank.

    The rows of metric ``answer_relevancy_questions`` are the questions that were generated for the ragas
    family: "yes" where the answer commits itself, with the cosine to the question as the reason.
    """

    item_id: str
    metric: str
    position: int
    statement: str
    verdict: Verdict
    reason: str | None


def row_of(
    item: QualityItem,
    family: Literal["deepeval", "ragas", "lexical"],
    metric: str,
    score: Score,
    repaired: int = 0,
) -> QualityRow:
    """Return a score as a row."""
    return QualityRow(
        item.id, family, metric, score.value, score.numerator, score.denominator, score.reason, repaired
    )


def want_of_answer(item: QualityItem) -> str | None:
    """Return why an answer cannot be measured, None where it can."""
    if item.refused:
        return "the answer is a refusal"
    return None if item.answer.strip() else "there is no answer"


def want_of_reference(item: QualityItem) -> str | None:
    """Return why there is nothing to compare with, None where there is."""
    return None if item.reference and item.reference.strip() else "there is no reference answer"


def want_of_context(item: QualityItem) -> str | None:
    """Return why a context cannot be measured, None where it can."""
    return None if any(text.strip() for text in item.contexts) else "there is no context"

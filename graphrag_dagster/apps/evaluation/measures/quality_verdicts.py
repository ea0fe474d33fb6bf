"""Statements and verdicts of a judge, requested once each, and their scores (CoTeRAG-S, 4.1 to 4.4).

There are two families of formulas: ``deepeval`` as printed in the paper, and ``ragas``, which it names. A
value that is not defined is None with a reason, never NaN.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.apps.evaluation.tasks import (
    GeneratedQuestions,
    ItemVerdict,
    QualityJudge,
    StatementsOf,
    VerdictKind,
    VerdictRequest,
    VerdictsOf,
    VerdictWord,
)
from graphrag_dagster.kernel.common.stable_values import round_for_comparison

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


def answer_relevancy(verdicts: Sequence[VerdictWord]) -> Score:
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
    verdicts: Sequence[VerdictWord], *, family: Family = "deepeval", idk_is_truthful: bool = True
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


def contextual_recall(verdicts: Sequence[VerdictWord], *, family: Family = "deepeval") -> Score:
    """Return the share of a reference answer's statements that the context holds ("yes").

    Without statements deepeval gives 0; for ragas nothing is defined.

    >>> contextual_recall(["yes", "no", "no", "yes"]).value
    0.5
    """
    held = sum(one == "yes" for one in verdicts)
    return _share(held, len(verdicts), of_none=0.0 if family == "deepeval" else None, what="reference answer")


def contextual_precision(verdicts: Sequence[VerdictWord]) -> Score:
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


Rows = list[dict[str, Any]]


def row_of(
    item: QualityItem,
    family: Literal["deepeval", "ragas", "lexical"],
    metric: str,
    score: Score,
    repaired: int = 0,
) -> dict[str, Any]:
    """Return a score as a row of ``evaluation.quality_scores``."""
    return {"answer_id": item.id, "family": family, "metric": metric, **asdict(score), "repaired": repaired}


def missing_answer_input(item: QualityItem) -> str | None:
    """Return why an answer cannot be measured, None where it can."""
    if item.refused:
        return "the answer is a refusal"
    return None if item.answer.strip() else "there is no answer"


def missing_reference_input(item: QualityItem) -> str | None:
    """Return why there is nothing to compare with, None where there is."""
    return None if item.reference and item.reference.strip() else "there is no reference answer"


def missing_context_input(item: QualityItem) -> str | None:
    """Return why a context cannot be measured, None where it can."""
    return None if any(text.strip() for text in item.contexts) else "there is no context"


Metric = Literal["answer_relevancy", "faithfulness", "contextual_recall", "contextual_precision"]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
Asked = TypeVar("Asked", bound=Hashable)
Told = TypeVar("Told", StatementsOf, VerdictsOf, GeneratedQuestions)

#: Part of every reason that a value is missing for want of a usable reply.
NOT_KNOWN = "not known:"

_KINDS: dict[Metric, VerdictKind] = {
    "answer_relevancy": "relevant_to_question",
    "faithfulness": "true_to_context",
    "contextual_recall": "attributable_to_context",
    "contextual_precision": "useful_node",
}


@dataclass(frozen=True, slots=True)
class VerdictBasis:
    """Verdicts on items, or the reason why there are none; ``repaired``: replies repaired for them."""

    items: tuple[str, ...] = ()
    verdicts: tuple[ItemVerdict, ...] = ()
    reason: str | None = None
    repaired: int = 0


@dataclass(frozen=True, slots=True)
class QuestionBasis:
    """Questions that an answer would fit with their cosines to the one asked, or why there are none."""

    questions: tuple[str, ...] = ()
    cosines: tuple[float, ...] = ()
    noncommittal: bool = False
    reason: str | None = None
    repaired: int = 0


def verdict_bases(
    items: Sequence[QualityItem], metrics: Sequence[Metric], judge: QualityJudge
) -> list[dict[Metric, VerdictBasis]]:
    """Return the basis of each metric for each item.

    Raises:
        EndpointError: the judge's endpoint cannot be used at all.
    """
    wants = [{metric: _missing_input(item, metric) for metric in metrics} for item in items]
    texts = [
        _text_to_split(item, metric)
        for item, want in zip(items, wants, strict=True)
        for metric in metrics
        if want[metric] is None and metric != "contextual_precision"
    ]
    split = _ask_once(judge.statements, texts)
    asked = [
        {metric: want[metric] or _request(item, metric, split) for metric in metrics}
        for item, want in zip(items, wants, strict=True)
    ]
    requests = [one for by_metric in asked for one in by_metric.values() if isinstance(one, VerdictRequest)]
    told = _ask_once(judge.verdicts, (one for one in requests if one.items))
    return [
        {metric: _count_repairs(_basis(one, told), item, metric, split) for metric, one in by_metric.items()}
        for item, by_metric in zip(items, asked, strict=True)
    ]


def question_bases(
    items: Sequence[QualityItem], count: int, judge: QualityJudge, embed: Embed | None
) -> list[QuestionBasis]:
    """Return the basis of the relevancy of ragas for each item; all vectors in one call.

    Raises:
        EndpointError: the judge's endpoint cannot be used at all.
    """
    wants = [
        missing_answer_input(item) or (None if embed else "there is no embedder to compare questions with")
        for item in items
    ]
    open_ = [item for item, want in zip(items, wants, strict=True) if want is None]
    made = _ask_once(lambda answers: judge.questions_for(answers, count), (item.answer for item in open_))
    texts = [text for item in open_ for text in (item.question, *made[item.answer].questions)]
    vectors = _unit_vectors(texts, embed) if embed and texts else {}
    return [
        QuestionBasis(reason=want) if want is not None else _question_basis(item, made[item.answer], vectors)
        for item, want in zip(items, wants, strict=True)
    ]


def _missing_input(item: QualityItem, metric: Metric) -> str | None:
    """Return why a metric is not defined for an item."""
    if metric == "answer_relevancy":
        return missing_answer_input(item)
    if metric == "faithfulness":
        return missing_answer_input(item) or missing_context_input(item)
    return missing_reference_input(item) or missing_context_input(item)


def _text_to_split(item: QualityItem, metric: Metric) -> str:
    return item.reference or "" if metric == "contextual_recall" else item.answer


def _request(item: QualityItem, metric: Metric, split: Mapping[str, StatementsOf]) -> VerdictRequest | str:
    """Return what to ask of the judge, or why it cannot be asked."""
    kind, question = _KINDS[metric], item.question
    if metric == "contextual_precision":
        return VerdictRequest(kind, item.contexts, question, reference=item.reference or "")
    statements = split[_text_to_split(item, metric)]
    if statements.problem is not None:
        return f"the statements are {NOT_KNOWN} {statements.problem}"
    if metric == "answer_relevancy":
        return VerdictRequest(kind, statements.items, question)
    return VerdictRequest(kind, statements.items, context=item.contexts)


def _basis(asked: VerdictRequest | str, told: Mapping[VerdictRequest, VerdictsOf]) -> VerdictBasis:
    if isinstance(asked, str):
        return VerdictBasis(reason=asked)
    if not asked.items:
        return VerdictBasis()
    verdicts = told[asked]
    if verdicts.problem is not None:
        return VerdictBasis(reason=f"the verdicts are {NOT_KNOWN} {verdicts.problem}")
    if len(verdicts.items) != len(asked.items):
        raise ValueError(f"a judge gave {len(verdicts.items)} verdicts on {len(asked.items)} items")
    return VerdictBasis(asked.items, verdicts.items, repaired=verdicts.usage.repaired)


def _count_repairs(
    basis: VerdictBasis, item: QualityItem, metric: Metric, split: Mapping[str, StatementsOf]
) -> VerdictBasis:
    """A basis that counts the mended replies of the statements too."""
    statements = None if metric == "contextual_precision" else split.get(_text_to_split(item, metric))
    return replace(basis, repaired=basis.repaired + statements.usage.repaired) if statements else basis


def _question_basis(
    item: QualityItem, made: GeneratedQuestions, vectors: Mapping[str, NDArray[np.float64]]
) -> QuestionBasis:
    if made.problem is not None:
        return QuestionBasis(reason=f"the questions are {NOT_KNOWN} {made.problem}")
    cosines = tuple(
        float(round_for_comparison(vectors[item.question] @ vectors[text])) for text in made.questions
    )
    return QuestionBasis(made.questions, cosines, made.noncommittal, repaired=made.usage.repaired)


def _unit_vectors(texts: Iterable[str], embed: Embed) -> dict[str, NDArray[np.float64]]:
    """Return the vector of each text with length 1; one of zeros, as of a blank text, stays so."""
    distinct = list(dict.fromkeys(texts))
    vectors = np.asarray(embed(distinct), dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return dict(zip(distinct, vectors / np.where(lengths == 0, 1.0, lengths), strict=True))


def _ask_once(ask: Callable[[list[Asked]], list[Told]], wanted: Iterable[Asked]) -> dict[Asked, Told]:
    distinct = list(dict.fromkeys(wanted))
    return dict(zip(distinct, ask(distinct), strict=True)) if distinct else {}

"""The judge's statements and verdicts behind the metrics, requested once however many metrics need them."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.apps.evaluation.measures.quality_items import (
    QualityItem,
    want_of_answer,
    want_of_context,
    want_of_reference,
)
from graphrag_dagster.apps.evaluation.measures.quality_tasks import (
    GeneratedQuestions,
    QualityJudge,
    StatementsOf,
    VerdictKind,
    VerdictRequest,
    VerdictsOf,
)
from graphrag_dagster.kernel.common.stable_scores import comparable
from graphrag_dagster.kernel.tasks.ports import ItemVerdict, Usage

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
class Basis:
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
) -> tuple[list[dict[Metric, Basis]], Usage]:
    """Return the basis of each metric for each item, and what it cost.

    Raises:
        EndpointError: the judge's endpoint cannot be used at all.
    """
    wants = [{metric: _want(item, metric) for metric in metrics} for item in items]
    texts = [
        _taken_apart(item, metric)
        for item, want in zip(items, wants, strict=True)
        for metric in metrics
        if want[metric] is None and metric != "contextual_precision"
    ]
    split = _once(judge.statements, texts)
    asked = [
        {metric: want[metric] or _request(item, metric, split) for metric in metrics}
        for item, want in zip(items, wants, strict=True)
    ]
    requests = [one for by_metric in asked for one in by_metric.values() if isinstance(one, VerdictRequest)]
    told = _once(judge.verdicts, (one for one in requests if one.items))
    bases = [
        {metric: _mended(_basis(one, told), item, metric, split) for metric, one in by_metric.items()}
        for item, by_metric in zip(items, asked, strict=True)
    ]
    return bases, _cost(split) + _cost(told)


def question_bases(
    items: Sequence[QualityItem], count: int, judge: QualityJudge, embed: Embed | None
) -> tuple[list[QuestionBasis], Usage]:
    """Return the basis of the relevancy of ragas for each item, and what it cost; all vectors in one call.

    Raises:
        EndpointError: the judge's endpoint cannot be used at all.
    """
    wants = [
        want_of_answer(item) or (None if embed else "there is no embedder to compare questions with")
        for item in items
    ]
    open_ = [item for item, want in zip(items, wants, strict=True) if want is None]
    made = _once(lambda answers: judge.questions_for(answers, count), (item.answer for item in open_))
    texts = [text for item in open_ for text in (item.question, *made[item.answer].questions)]
    vectors = _unit_vectors(texts, embed) if embed and texts else {}
    bases = [
        QuestionBasis(reason=want) if want is not None else _question_basis(item, made[item.answer], vectors)
        for item, want in zip(items, wants, strict=True)
    ]
    return bases, _cost(made)


def _want(item: QualityItem, metric: Metric) -> str | None:
    """Return why a metric is not defined for an item."""
    if metric == "answer_relevancy":
        return want_of_answer(item)
    if metric == "faithfulness":
        return want_of_answer(item) or want_of_context(item)
    return want_of_reference(item) or want_of_context(item)


def _taken_apart(item: QualityItem, metric: Metric) -> str:
    return item.reference or "" if metric == "contextual_recall" else item.answer


def _request(item: QualityItem, metric: Metric, split: Mapping[str, StatementsOf]) -> VerdictRequest | str:
    """Return what to ask of the judge, or why it cannot be asked."""
    kind, question = _KINDS[metric], item.question
    if metric == "contextual_precision":
        return VerdictRequest(kind, item.contexts, question, reference=item.reference or "")
    statements = split[_taken_apart(item, metric)]
    if statements.problem is not None:
        return f"the statements are {NOT_KNOWN} {statements.problem}"
    if metric == "answer_relevancy":
        return VerdictRequest(kind, statements.items, question)
    return VerdictRequest(kind, statements.items, context=item.contexts)


def _basis(asked: VerdictRequest | str, told: Mapping[VerdictRequest, VerdictsOf]) -> Basis:
    if isinstance(asked, str):
        return Basis(reason=asked)
    if not asked.items:
        return Basis()
    verdicts = told[asked]
    if verdicts.problem is not None:
        return Basis(reason=f"the verdicts are {NOT_KNOWN} {verdicts.problem}")
    if len(verdicts.items) != len(asked.items):
        raise ValueError(f"a judge gave {len(verdicts.items)} verdicts on {len(asked.items)} items")
    return Basis(asked.items, verdicts.items, repaired=verdicts.usage.repaired)


def _mended(basis: Basis, item: QualityItem, metric: Metric, split: Mapping[str, StatementsOf]) -> Basis:
    """A basis that counts the mended replies of the statements too."""
    statements = None if metric == "contextual_precision" else split.get(_taken_apart(item, metric))
    return replace(basis, repaired=basis.repaired + statements.usage.repaired) if statements else basis


def _question_basis(
    item: QualityItem, made: GeneratedQuestions, vectors: Mapping[str, NDArray[np.float64]]
) -> QuestionBasis:
    if made.problem is not None:
        return QuestionBasis(reason=f"the questions are {NOT_KNOWN} {made.problem}")
    cosines = tuple(float(comparable(vectors[item.question] @ vectors[text])) for text in made.questions)
    return QuestionBasis(made.questions, cosines, made.noncommittal, repaired=made.usage.repaired)


def _unit_vectors(texts: Iterable[str], embed: Embed) -> dict[str, NDArray[np.float64]]:
    """Return the vector of each text with length 1; one of zeros, as of a blank text, stays so."""
    distinct = list(dict.fromkeys(texts))
    vectors = np.asarray(embed(distinct), dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return dict(zip(distinct, vectors / np.where(lengths == 0, 1.0, lengths), strict=True))


def _once(ask: Callable[[list[Asked]], list[Told]], wanted: Iterable[Asked]) -> dict[Asked, Told]:
    distinct = list(dict.fromkeys(wanted))
    return dict(zip(distinct, ask(distinct), strict=True)) if distinct else {}


def _cost(told: Mapping[Asked, Told]) -> Usage:
    return sum((one.usage for one in told.values()), Usage())

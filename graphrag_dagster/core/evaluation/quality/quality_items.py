"""What is measured of an answer, and the rows that come out."""

from dataclasses import dataclass
from typing import Literal

from graphrag_dagster.core.evaluation.quality.quality_formulas import Score
from graphrag_dagster.core.language.quality import Verdict


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

    ``repaired``: replies that were mended for it.
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
    """What a judge said of one statement or node; ``position`` 0… is its place, ``reason`` None where blank.

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

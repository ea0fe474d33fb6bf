"""Rule-based implementations of the evaluation's tasks, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_dagster.systems.graphrag.settings import ExtractionSettings

if TYPE_CHECKING:
    from graphrag_dagster.apps.evaluation.tasks import ClaimDecomposer, QuestionWriter
    from graphrag_dagster.kernel.tasks.session import Session


def question_writer(session: Session) -> QuestionWriter:
    """Writer of questions."""
    from graphrag_dagster.apps.evaluation.questions.extractive import ExtractiveQuestionWriter

    return ExtractiveQuestionWriter(session.themes)


def claim_decomposer(session: Session) -> ClaimDecomposer:
    """Splits answers into claims."""
    from graphrag_dagster.apps.evaluation.measures.extractive_claims import ExtractiveClaimDecomposer

    return ExtractiveClaimDecomposer(session.settings.section(ExtractionSettings).pipeline)

"""Who does the tasks of CoTeRAG-S by rules, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_dagster.systems.coterag.settings import CoteragSettings

if TYPE_CHECKING:
    from graphrag_dagster.kernel.tasks.session import Session
    from graphrag_dagster.systems.coterag.tasks import (
        AnswerValidator,
        CommunitySummariser,
        EvidenceAnswerer,
        EvidenceRouter,
    )


def community_summariser(session: Session) -> CommunitySummariser:
    """Who summarises communities."""
    from graphrag_dagster.systems.coterag.extractive.summarising import ExtractiveCommunitySummariser

    own = session.settings.section(CoteragSettings)
    return ExtractiveCommunitySummariser(own.summary_words, own.exact_names)


def evidence_router(_session: Session) -> EvidenceRouter:
    """Who says whether a question needs the documents."""
    from graphrag_dagster.systems.coterag.extractive.answering import ExtractiveEvidenceRouter

    return ExtractiveEvidenceRouter()


def evidence_answerer(session: Session) -> EvidenceAnswerer:
    """Who answers from a context, and says where it is not enough."""
    from graphrag_dagster.kernel.models.local.embedders import shared_static
    from graphrag_dagster.systems.coterag.extractive.answering import ExtractiveEvidenceAnswerer

    own = session.settings.section(CoteragSettings)
    return ExtractiveEvidenceAnswerer(shared_static(), own.coverage_unit, own.thresholds.coverage)


def answer_validator(session: Session) -> AnswerValidator:
    """Who checks answers against their context."""
    from graphrag_dagster.systems.coterag.extractive.answering import ExtractiveAnswerValidator

    own = session.settings.section(CoteragSettings)
    return ExtractiveAnswerValidator(own.coverage_unit, own.thresholds.coverage)

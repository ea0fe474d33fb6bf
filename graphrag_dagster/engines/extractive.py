"""The engine ``extractive``: what is found, chosen and quoted by rule, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_dagster.errors import EngineError

if TYPE_CHECKING:
    from graphrag_dagster.core.language.answering import Explorer, ReportRater
    from graphrag_dagster.core.language.coterag import (
        AnswerValidator,
        CommunitySummariser,
        EvidenceAnswerer,
        EvidenceRouter,
    )
    from graphrag_dagster.core.language.evaluating import ClaimDecomposer, QuestionWriter
    from graphrag_dagster.core.language.path_selection import PathAnswerer, PathSelector
    from graphrag_dagster.core.language.tasks import (
        Answerer,
        ClaimExtractor,
        DescriptionMerger,
        GraphExtractor,
        ReportWriter,
    )
    from graphrag_dagster.engines.session import Session


def graph_extractor(session: Session) -> GraphExtractor:
    """Who finds entities and relationships; there is nothing to glean."""
    from graphrag_dagster.core.language.extractive.graph_extractor import ExtractiveGraphExtractor

    own = session.settings.extraction
    return ExtractiveGraphExtractor(own.pipeline, own.processes, own.languages, noun_phrases=own.noun_phrases)


def claim_extractor(session: Session) -> ClaimExtractor:
    """Who finds claims."""
    from graphrag_dagster.core.language.extractive.claims import ExtractiveClaimExtractor

    own = session.settings.extraction
    return ExtractiveClaimExtractor(own.pipeline, own.processes, own.languages)


def description_merger(session: Session) -> DescriptionMerger:
    """Who joins descriptions."""
    from graphrag_dagster.core.language.extractive.descriptions import ExtractiveDescriptionMerger

    return ExtractiveDescriptionMerger(session.settings.graph.max_description_words)


def report_writer(_session: Session) -> ReportWriter:
    """Who writes community reports."""
    from graphrag_dagster.core.language.extractive.report_writer import ExtractiveReportWriter

    return ExtractiveReportWriter()


def answerer(session: Session) -> Answerer:
    """Who answers questions.

    Raises:
        EngineError: the settings or the form ask for what only a model can give.
    """
    from graphrag_dagster.core.language.embedders import shared_static
    from graphrag_dagster.core.language.extractive.answerer import ExtractiveAnswerer

    if session.settings.search.unit == "points":
        raise EngineError(
            "search.unit is 'points', which only a model can give; set search.unit: answer, or "
            "search.engine: llm"
        )
    return ExtractiveAnswerer(shared_static(), session.answer_form)


def rater(_session: Session) -> ReportRater:
    """Who rates reports by their relevance."""
    from graphrag_dagster.core.language.embedders import shared_static
    from graphrag_dagster.core.language.extractive.exploring import ExtractiveReportRater

    return ExtractiveReportRater(shared_static())


def explorer(_session: Session) -> Explorer:
    """Who asks on from what was found."""
    from graphrag_dagster.core.language.embedders import shared_static
    from graphrag_dagster.core.language.extractive.exploring import ExtractiveExplorer

    return ExtractiveExplorer(shared_static())


def community_summariser(session: Session) -> CommunitySummariser:
    """Who summarises communities."""
    from graphrag_dagster.core.language.extractive.coterag.summarising import (
        ExtractiveCommunitySummariser,
    )

    own = session.settings.coterag
    return ExtractiveCommunitySummariser(own.summary_words, own.exact_names)


def evidence_router(_session: Session) -> EvidenceRouter:
    """Who says whether a question needs the documents."""
    from graphrag_dagster.core.language.extractive.coterag.answering import ExtractiveEvidenceRouter

    return ExtractiveEvidenceRouter()


def evidence_answerer(session: Session) -> EvidenceAnswerer:
    """Who answers from a context, and says where it is not enough."""
    from graphrag_dagster.core.language.embedders import shared_static
    from graphrag_dagster.core.language.extractive.coterag.answering import ExtractiveEvidenceAnswerer

    own = session.settings.coterag
    return ExtractiveEvidenceAnswerer(shared_static(), own.coverage_unit, own.thresholds.coverage)


def answer_validator(session: Session) -> AnswerValidator:
    """Who checks answers against their context."""
    from graphrag_dagster.core.language.extractive.coterag.answering import ExtractiveAnswerValidator

    own = session.settings.coterag
    return ExtractiveAnswerValidator(own.coverage_unit, own.thresholds.coverage)


def path_selector(_session: Session) -> PathSelector:
    """Who selects nodes, relations, triples and paths."""
    from graphrag_dagster.core.language.extractive.paths.selector import ExtractivePathSelector

    return ExtractivePathSelector()


def path_answerer(_session: Session) -> PathAnswerer:
    """Who answers from paths."""
    from graphrag_dagster.core.language.extractive.paths.selector import ExtractivePathAnswerer

    return ExtractivePathAnswerer()


def question_writer(session: Session) -> QuestionWriter:
    """Who writes questions."""
    from graphrag_dagster.core.language.extractive.questioning import ExtractiveQuestionWriter

    return ExtractiveQuestionWriter(session.themes)


def claim_decomposer(session: Session) -> ClaimDecomposer:
    """Who takes answers apart into claims."""
    from graphrag_dagster.core.language.extractive.answer_claims import ExtractiveClaimDecomposer

    return ExtractiveClaimDecomposer(session.settings.extraction.pipeline)

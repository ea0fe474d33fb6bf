"""Rule-based implementations of GraphRAG's tasks, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.catalogue.registry import embedders
from graphrag_dagster.systems.graphrag.settings import ExtractionSettings, GraphSettings

if TYPE_CHECKING:
    from graphrag_dagster.kernel.tasks.answering_ports import FollowUpExplorer, ReportRater
    from graphrag_dagster.kernel.tasks.task_ports import (
        Answerer,
        ClaimExtractor,
        DescriptionMerger,
        GraphExtractor,
        ReportWriter,
    )
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider


def graph_extractor(session: TaskProvider) -> GraphExtractor:
    """Extractor of entities and relationships; it has no gleanings."""
    from graphrag_dagster.engines.extractive.graph_extractor import ExtractiveGraphExtractor

    own = session.settings.section(ExtractionSettings)
    return ExtractiveGraphExtractor(own.pipeline, own.processes, own.languages, noun_phrases=own.noun_phrases)


def claim_extractor(session: TaskProvider) -> ClaimExtractor:
    """Extractor of claims."""
    from graphrag_dagster.engines.extractive.claim_extraction import ExtractiveClaimExtractor

    own = session.settings.section(ExtractionSettings)
    return ExtractiveClaimExtractor(own.pipeline, own.processes, own.languages)


def description_merger(session: TaskProvider) -> DescriptionMerger:
    """Merger of descriptions."""
    from graphrag_dagster.engines.extractive.description_merging import ExtractiveDescriptionMerger

    return ExtractiveDescriptionMerger(session.settings.section(GraphSettings).max_description_words)


def report_writer(_session: TaskProvider) -> ReportWriter:
    """Writer of community reports."""
    from graphrag_dagster.engines.extractive.extractive_report_writer import ExtractiveReportWriter

    return ExtractiveReportWriter()


def answerer(session: TaskProvider) -> Answerer:
    """Answerer of questions.

    Raises:
        EngineError: the settings or the form ask for what only a model can give.
    """
    from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer
    from graphrag_dagster.kernel.models.local_embedders import shared_static
    from graphrag_dagster.kernel.retrieval.packaged_reranker import PackagedReranker

    if session.settings.search.unit == "points":
        raise EngineError(
            "search.unit is 'points', which needs a model; set search.unit: answer, or search.engine: llm"
        )
    reranker = session.reranker()
    cross_encoder = reranker.encoder if isinstance(reranker, PackagedReranker) else None
    kind = embedders().get(session.settings.embeddings.embedder)
    multilingual = session.embedder() if kind and kind.languages == "many" else None
    return ExtractiveAnswerer(shared_static(), session.answer_form, cross_encoder, multilingual)


def rater(_session: TaskProvider) -> ReportRater:
    """Rater of reports by relevance."""
    from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveReportRater
    from graphrag_dagster.kernel.models.local_embedders import shared_static

    return ExtractiveReportRater(shared_static())


def explorer(_session: TaskProvider) -> FollowUpExplorer:
    """Explorer that asks follow-up questions."""
    from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveExplorer
    from graphrag_dagster.kernel.models.local_embedders import shared_static

    return ExtractiveExplorer(shared_static())

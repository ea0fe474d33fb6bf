"""Which engine does which language task, as a corpus's settings choose."""

from typing import TYPE_CHECKING, Any

from dagster import ConfigurableResource

from graphrag_dagster import prompts
from graphrag_dagster.core.errors import EngineError
from graphrag_dagster.core.language.tasks import (
    Answerer,
    ClaimExtractor,
    DescriptionMerger,
    Embedder,
    GraphExtractor,
    ReportWriter,
)
from graphrag_dagster.settings import CorpusSettings

if TYPE_CHECKING:
    from graphrag_dagster.resources.endpoint import OpenAIChatModel


class Language(ConfigurableResource[None]):
    """Makes the engines of the language tasks. Nothing is loaded or called before a task runs."""

    def graph_extractor(self, settings: CorpusSettings) -> GraphExtractor:
        """Who finds entities and relationships.

        Raises:
            SettingsError: the model settings cannot be used.
        """
        own = settings.extraction
        if settings.engine_of("extraction") == "llm":
            from graphrag_dagster.core.language.llm.extraction import LlmGraphExtractor

            return LlmGraphExtractor(
                _model(settings),
                prompts,
                entity_types=own.entity_types,
                gleaning_rounds=own.gleaning.rounds,
                gleaning_order=own.gleaning.order,
                **_reply_options(settings),
            )
        from graphrag_dagster.core.language.extractive.graph_extractor import ExtractiveGraphExtractor

        return ExtractiveGraphExtractor(own.pipeline, own.processes)

    def claim_extractor(self, settings: CorpusSettings) -> ClaimExtractor | None:
        """Who finds claims; None where they are not enabled."""
        if not settings.claims.enabled:
            return None
        if settings.engine_of("claims") == "llm":
            from graphrag_dagster.core.language.llm.claims import LlmClaimExtractor

            return LlmClaimExtractor(
                _model(settings),
                prompts,
                claim_description=settings.claims.description,
                gleaning_rounds=settings.extraction.gleaning.rounds,
                gleaning_order=settings.extraction.gleaning.order,
                **_reply_options(settings),
            )
        from graphrag_dagster.core.language.extractive.claims import ExtractiveClaimExtractor

        return ExtractiveClaimExtractor(settings.extraction.pipeline, settings.extraction.processes)

    def description_merger(self, settings: CorpusSettings) -> DescriptionMerger:
        """Who joins descriptions."""
        if settings.engine_of("graph") == "llm":
            from graphrag_dagster.core.language.llm.descriptions import LlmDescriptionMerger

            return LlmDescriptionMerger(
                _model(settings), prompts, max_input_tokens=settings.graph.max_input_tokens
            )
        from graphrag_dagster.core.language.extractive.descriptions import ExtractiveDescriptionMerger

        return ExtractiveDescriptionMerger(settings.graph.max_description_words)

    def report_writer(self, settings: CorpusSettings) -> ReportWriter:
        """Who writes community reports."""
        from graphrag_dagster.core.language.extractive.reports import ExtractiveReportWriter

        extractive = ExtractiveReportWriter()
        if settings.engine_of("reports") == "extractive":
            return extractive
        from graphrag_dagster.core.language.llm.reports import LlmReportWriter

        return LlmReportWriter(
            _model(settings),
            prompts,
            fallback=extractive,
            max_output_tokens=settings.reports.max_output_tokens,
        )

    def answerer(self, settings: CorpusSettings) -> Answerer:
        """Who answers questions."""
        if settings.engine_of("search") == "llm":
            from graphrag_dagster.core.language.llm.answers import LlmAnswerer

            return LlmAnswerer(
                _model(settings), prompts, unit=settings.search.unit, replies=settings.model.replies
            )
        from graphrag_dagster.core.language.embedders import StaticEmbedder
        from graphrag_dagster.core.language.extractive.answers import ExtractiveAnswerer

        if settings.search.unit == "points":
            raise EngineError(
                "search.unit is 'points', which only a model can give; set search.unit: answer, or "
                "search.engine: llm"
            )
        return ExtractiveAnswerer(StaticEmbedder())

    def embedder(self, settings: CorpusSettings) -> Embedder:
        """Who turns texts into vectors."""
        from graphrag_dagster.core.language.embedders import SentenceTransformerEmbedder, StaticEmbedder

        own = settings.embeddings
        if own.embedder == "static":
            return StaticEmbedder()
        if own.embedder == "sentence-transformers":
            return SentenceTransformerEmbedder(own.model)
        from graphrag_dagster.resources.endpoint import OpenAIEmbedder

        if not own.model:
            raise EngineError("embeddings.embedder is endpoint: name its model in embeddings.model")
        return OpenAIEmbedder(own.model, settings.model)


def _model(settings: CorpusSettings) -> "OpenAIChatModel":
    from graphrag_dagster.resources.endpoint import OpenAIChatModel

    return OpenAIChatModel(settings.model)


def _reply_options(settings: CorpusSettings) -> dict[str, Any]:
    return {
        "replies": settings.model.replies,
        "logit_bias": settings.model.logit_bias,
        "max_output_tokens": settings.model.max_output_tokens,
    }

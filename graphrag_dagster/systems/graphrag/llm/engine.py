"""Implementations of GraphRAG's tasks by a language model."""

from typing import Any

from graphrag_dagster.engines.extractive.extractive_report_writer import ExtractiveReportWriter
from graphrag_dagster.kernel.catalogue.tasks import Task
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.tasks.answering_ports import SUPPORT_JUDGE
from graphrag_dagster.kernel.tasks.support_by_words import JudgeByWords
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.graphrag import tasks
from graphrag_dagster.systems.graphrag.llm.entity_typing import LlmEntityTyper
from graphrag_dagster.systems.graphrag.llm.followup_questions import LlmExplorer, LlmReportRater
from graphrag_dagster.systems.graphrag.llm.judges import LlmNameJudge, LlmSupportJudge
from graphrag_dagster.systems.graphrag.llm.llm_answerer import LlmAnswerer
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmClaimExtractor, LlmGraphExtractor
from graphrag_dagster.systems.graphrag.llm.llm_router import LlmRouter
from graphrag_dagster.systems.graphrag.llm.query_writing import LlmQueryWriter
from graphrag_dagster.systems.graphrag.llm.summarization import LlmDescriptionMerger, LlmReportWriter
from graphrag_dagster.systems.graphrag.settings import (
    ClaimSettings,
    ExtractionSettings,
    GraphSettings,
    ReportSettings,
)


def graph_extractor(session: TaskProvider) -> LlmGraphExtractor:
    """Extractor of entities and relationships."""
    own = session.settings.section(ExtractionSettings)
    return LlmGraphExtractor(
        session.chat(tasks.GRAPH_EXTRACTOR),
        entity_types=own.entity_types,
        examples=own.examples,
        relation_labels=own.relation_labels,
        **_extraction_options(session, tasks.GRAPH_EXTRACTOR),
    )


def claim_extractor(session: TaskProvider) -> LlmClaimExtractor:
    """Extractor of claims."""
    own = session.settings.section(ClaimSettings)
    return LlmClaimExtractor(
        session.chat(tasks.CLAIM_EXTRACTOR),
        claim_description=own.description,
        examples=own.examples,
        **_extraction_options(session, tasks.CLAIM_EXTRACTOR),
    )


def _extraction_options(session: TaskProvider, task: Task[object]) -> dict[str, Any]:
    gleaning = session.settings.section(ExtractionSettings).gleaning
    return {
        "gleaning_rounds": gleaning.rounds,
        "gleaning_order": gleaning.order,
        "replies": session.settings.model.replies,
        "logit_bias": session.settings.model.logit_bias,
        "max_output_tokens": session.reply_limit(task),
    }


def entity_typer(session: TaskProvider) -> LlmEntityTyper:
    """Typer of names, with the labels of the entity model."""
    labels = session.settings.section(ExtractionSettings).gliner.labels
    limit = session.reply_limit(tasks.ENTITY_TYPER)
    return LlmEntityTyper(session.chat(tasks.ENTITY_TYPER), labels=labels, max_tokens=limit)


def name_judge(session: TaskProvider) -> LlmNameJudge:
    """Judge of whether names are one entity."""
    limit = session.reply_limit(tasks.NAME_JUDGE)
    return LlmNameJudge(session.chat(tasks.NAME_JUDGE), max_tokens=limit)


def description_merger(session: TaskProvider) -> LlmDescriptionMerger:
    """Merger of descriptions."""
    own = session.settings.section(GraphSettings)
    return LlmDescriptionMerger(
        session.chat(tasks.DESCRIPTION_MERGER),
        merge_above_tokens=own.joined_up_to,
        max_input_tokens=own.max_input_tokens,
        max_output_tokens=session.reply_limit(tasks.DESCRIPTION_MERGER),
    )


def report_writer(session: TaskProvider) -> LlmReportWriter:
    """Writer of community reports; a report that the model cannot write is made of quotations and marked."""
    return LlmReportWriter(
        session.chat(tasks.REPORT_WRITER),
        fallback=ExtractiveReportWriter(),
        profile=session.settings.section(ReportSettings).profile,
        max_output_tokens=session.reply_limit(tasks.REPORT_WRITER),
    )


def answerer(session: TaskProvider) -> LlmAnswerer:
    """Answerer of questions."""
    limit = session.reply_limit(tasks.ANSWERER)
    return LlmAnswerer(
        session.chat(tasks.ANSWERER),
        unit=session.settings.search.unit,
        replies=session.settings.model.replies,
        max_map_tokens=limit // 2,
        max_reduce_tokens=limit,
        form=session.answer_form,
        listen=session.listen,
    )


def rater(session: TaskProvider) -> LlmReportRater:
    """Rater of reports by relevance; it uses the role ``judge``, which may be a cheap model."""
    return LlmReportRater(session.chat(tasks.RATER))


def support_judge(session: TaskProvider) -> LlmSupportJudge:
    """Judge of whether words support statements; without a usable reply it judges by words."""
    limit = session.reply_limit(SUPPORT_JUDGE)
    fallback = JudgeByWords(shared_static())
    return LlmSupportJudge(session.chat(SUPPORT_JUDGE), fallback=fallback, max_tokens=limit)


def explorer(session: TaskProvider) -> LlmExplorer:
    """Explorer that asks follow-up questions."""
    limit = session.reply_limit(tasks.EXPLORER)
    return LlmExplorer(session.chat(tasks.EXPLORER), max_tokens=limit // 2)


def query_writer(session: TaskProvider) -> LlmQueryWriter:
    """Writer of queries over the tables of an index."""
    limit = session.reply_limit(tasks.QUERY_WRITER)
    return LlmQueryWriter(session.chat(tasks.QUERY_WRITER), max_tokens=limit // 2)


def router(session: TaskProvider) -> LlmRouter:
    """Router that chooses the search method; it uses the role ``route``, which may be a cheap model."""
    limit = session.reply_limit(tasks.ROUTER)
    return LlmRouter(session.chat(tasks.ROUTER), max_tokens=limit)

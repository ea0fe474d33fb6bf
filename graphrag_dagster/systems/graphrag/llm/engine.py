"""Implementations of GraphRAG's tasks by a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrag_dagster.kernel.tasks.answering_ports import SUPPORT_JUDGE
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.systems.graphrag import tasks
from graphrag_dagster.systems.graphrag.settings import (
    ClaimSettings,
    ExtractionSettings,
    GraphSettings,
    ReportSettings,
)

if TYPE_CHECKING:
    from graphrag_dagster.kernel.catalogue.tasks import Task
    from graphrag_dagster.kernel.tasks.answering_ports import (
        FollowUpExplorer,
        QueryWriter,
        ReportRater,
        Router,
        SupportJudge,
    )
    from graphrag_dagster.kernel.tasks.name_judging_ports import EntityTyper, NameJudge
    from graphrag_dagster.kernel.tasks.task_ports import (
        Answerer,
        ClaimExtractor,
        DescriptionMerger,
        GraphExtractor,
        ReportWriter,
    )
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider


def graph_extractor(session: TaskProvider) -> GraphExtractor:
    """Extractor of entities and relationships."""
    from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor

    own = session.settings.section(ExtractionSettings)
    return LlmGraphExtractor(
        session.chat(tasks.GRAPH_EXTRACTOR),
        prompts,
        entity_types=own.entity_types,
        examples=own.examples,
        relation_labels=own.relation_labels,
        gleaning_rounds=own.gleaning.rounds,
        gleaning_order=own.gleaning.order,
        **_reply_options(session, tasks.GRAPH_EXTRACTOR),
    )


def claim_extractor(session: TaskProvider) -> ClaimExtractor:
    """Extractor of claims."""
    from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmClaimExtractor

    own, gleaning = (
        session.settings.section(ClaimSettings),
        session.settings.section(ExtractionSettings).gleaning,
    )
    return LlmClaimExtractor(
        session.chat(tasks.CLAIM_EXTRACTOR),
        prompts,
        claim_description=own.description,
        examples=own.examples,
        gleaning_rounds=gleaning.rounds,
        gleaning_order=gleaning.order,
        **_reply_options(session, tasks.CLAIM_EXTRACTOR),
    )


def entity_typer(session: TaskProvider) -> EntityTyper:
    """Typer of names, with the labels of the entity model."""
    from graphrag_dagster.systems.graphrag.llm.entity_typing import LlmEntityTyper

    return LlmEntityTyper(
        session.chat(tasks.ENTITY_TYPER),
        prompts,
        labels=session.settings.section(ExtractionSettings).gliner.labels,
        max_tokens=session.reply_limit(tasks.ENTITY_TYPER),
    )


def name_judge(session: TaskProvider) -> NameJudge:
    """Judge of whether names are one entity."""
    from graphrag_dagster.systems.graphrag.llm.judges import LlmNameJudge

    limit = session.reply_limit(tasks.NAME_JUDGE)
    return LlmNameJudge(session.chat(tasks.NAME_JUDGE), prompts, max_tokens=limit)


def description_merger(session: TaskProvider) -> DescriptionMerger:
    """Merger of descriptions."""
    from graphrag_dagster.systems.graphrag.llm.summarization import LlmDescriptionMerger

    own = session.settings.section(GraphSettings)
    return LlmDescriptionMerger(
        session.chat(tasks.DESCRIPTION_MERGER),
        prompts,
        merge_above_tokens=own.joined_up_to,
        max_input_tokens=own.max_input_tokens,
        max_output_tokens=session.reply_limit(tasks.DESCRIPTION_MERGER),
    )


def report_writer(session: TaskProvider) -> ReportWriter:
    """Writer of community reports; a report that the model cannot write is made of quotations and marked."""
    from graphrag_dagster.engines.extractive.extractive_report_writer import ExtractiveReportWriter
    from graphrag_dagster.systems.graphrag.llm.summarization import LlmReportWriter

    return LlmReportWriter(
        session.chat(tasks.REPORT_WRITER),
        prompts,
        fallback=ExtractiveReportWriter(),
        profile=session.settings.section(ReportSettings).profile,
        max_output_tokens=session.reply_limit(tasks.REPORT_WRITER),
    )


def answerer(session: TaskProvider) -> Answerer:
    """Answerer of questions."""
    from graphrag_dagster.systems.graphrag.llm.llm_answerer import LlmAnswerer

    limit = session.reply_limit(tasks.ANSWERER)
    return LlmAnswerer(
        session.chat(tasks.ANSWERER),
        prompts,
        unit=session.settings.search.unit,
        replies=session.settings.model.replies,
        max_map_tokens=limit // 2,
        max_reduce_tokens=limit,
        form=session.answer_form,
        listen=session.listen,
    )


def rater(session: TaskProvider) -> ReportRater:
    """Rater of reports by relevance; it uses the role ``judge``, which may be a cheap model."""
    from graphrag_dagster.systems.graphrag.llm.followup_questions import LlmReportRater

    return LlmReportRater(session.chat(tasks.RATER), prompts)


def support_judge(session: TaskProvider) -> SupportJudge:
    """Judge of whether words support statements; without a usable reply it judges by words."""
    from graphrag_dagster.kernel.models.local_embedders import shared_static
    from graphrag_dagster.kernel.tasks.support_by_words import JudgeByWords
    from graphrag_dagster.systems.graphrag.llm.judges import LlmSupportJudge

    limit = session.reply_limit(SUPPORT_JUDGE)
    chat, fallback = session.chat(SUPPORT_JUDGE), JudgeByWords(shared_static())
    return LlmSupportJudge(chat, prompts, fallback=fallback, max_tokens=limit)


def explorer(session: TaskProvider) -> FollowUpExplorer:
    """Explorer that asks follow-up questions."""
    from graphrag_dagster.systems.graphrag.llm.followup_questions import LlmExplorer

    limit = session.reply_limit(tasks.EXPLORER)
    return LlmExplorer(session.chat(tasks.EXPLORER), prompts, max_tokens=limit // 2)


def query_writer(session: TaskProvider) -> QueryWriter:
    """Writer of queries over the tables of an index."""
    from graphrag_dagster.systems.graphrag.llm.query_writing import LlmQueryWriter

    limit = session.reply_limit(tasks.QUERY_WRITER)
    return LlmQueryWriter(session.chat(tasks.QUERY_WRITER), prompts, max_tokens=limit // 2)


def router(session: TaskProvider) -> Router:
    """Router that chooses the search method; it uses the role ``route``, which may be a cheap model."""
    from graphrag_dagster.systems.graphrag.llm.llm_router import LlmRouter

    limit = session.reply_limit(tasks.ROUTER)
    return LlmRouter(session.chat(tasks.ROUTER), prompts, max_tokens=limit)


def _reply_options(session: TaskProvider, task: Task[object]) -> dict[str, Any]:
    return {
        "replies": session.settings.model.replies,
        "logit_bias": session.settings.model.logit_bias,
        "max_output_tokens": session.reply_limit(task),
    }

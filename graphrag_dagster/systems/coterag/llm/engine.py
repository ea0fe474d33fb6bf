"""Implementations of CoTeRAG-S's tasks by a language model."""

from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.coterag import tasks
from graphrag_dagster.systems.coterag.extractive import ExtractiveCommunitySummariser
from graphrag_dagster.systems.coterag.llm.community_summaries import LlmCommunitySummariser
from graphrag_dagster.systems.coterag.llm.evidence_answering import (
    LlmAnswerValidator,
    LlmEvidenceAnswerer,
    LlmEvidenceRouter,
)
from graphrag_dagster.systems.coterag.settings import CoteragSettings
from graphrag_dagster.systems.graphrag.api import LlmContextWriter


def community_summariser(session: TaskProvider) -> LlmCommunitySummariser:
    """Who summarises communities; what the model cannot is made of quotations, and says so."""
    own = session.settings.section(CoteragSettings)
    return LlmCommunitySummariser(
        session.chat(tasks.COMMUNITY_SUMMARISER),
        fallback=ExtractiveCommunitySummariser(own.summary_words, own.exact_names),
        context_tokens=own.summary_tokens,
        exact_names=own.exact_names,
        max_output_tokens=session.reply_limit(tasks.COMMUNITY_SUMMARISER),
    )


def evidence_router(session: TaskProvider) -> LlmEvidenceRouter:
    """Who says whether a question needs the documents; a model of the role ``route``."""
    limit = session.reply_limit(tasks.EVIDENCE_ROUTER)
    return LlmEvidenceRouter(session.chat(tasks.EVIDENCE_ROUTER), max_tokens=limit)


def evidence_answerer(session: TaskProvider) -> LlmEvidenceAnswerer:
    """Who answers from a context, and says where it is not enough."""
    limit = session.reply_limit(tasks.EVIDENCE_ANSWERER)
    chat = session.chat(tasks.EVIDENCE_ANSWERER)
    return LlmEvidenceAnswerer(
        chat,
        max_tokens=limit,
        overview=session.settings.section(CoteragSettings).overview,
        listen=session.listen,
    )


def answer_validator(session: TaskProvider) -> LlmAnswerValidator:
    """Who checks answers against their context; a model of the role ``validate``."""
    limit = session.reply_limit(tasks.ANSWER_VALIDATOR)
    return LlmAnswerValidator(session.chat(tasks.ANSWER_VALIDATOR), max_tokens=limit)


def context_writer(session: TaskProvider) -> LlmContextWriter:
    """Who writes down what is known of a question, without documents."""
    limit = session.reply_limit(tasks.CONTEXT_WRITER)
    return LlmContextWriter(session.chat(tasks.CONTEXT_WRITER), max_tokens=limit // 2)

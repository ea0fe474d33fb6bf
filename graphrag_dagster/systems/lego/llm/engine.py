"""Implementations of LEGO-GraphRAG's tasks by a language model."""

from graphrag_dagster.kernel.models.chat.yes_no import forced_tokens
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.lego import tasks
from graphrag_dagster.systems.lego.llm.path_judging import LlmPathJudge
from graphrag_dagster.systems.lego.llm.path_selection import LlmPathAnswerer, LlmPathSelector
from graphrag_dagster.systems.lego.settings import PathSettings


def path_selector(session: TaskProvider) -> LlmPathSelector:
    """Who selects nodes, relations, triples and paths; a model of the role ``select``."""
    own, chat = session.settings.section(PathSettings), session.chat(tasks.PATH_SELECTOR)
    forced = forced_tokens(chat.name) if session.settings.model.logit_bias else ()
    return LlmPathSelector(
        chat,
        parsing=own.parsing,
        context_tokens=own.context_tokens,
        max_tokens=session.reply_limit(tasks.PATH_SELECTOR),
        forced=forced,
    )


def path_answerer(session: TaskProvider) -> LlmPathAnswerer:
    """Who answers from paths."""
    own = session.settings.section(PathSettings)
    return LlmPathAnswerer(
        session.chat(tasks.PATH_ANSWERER),
        form=own.answer_form,
        context_tokens=own.context_tokens,
        max_tokens=session.reply_limit(tasks.PATH_ANSWERER),
        listen=session.listen,
    )


def path_judge(session: TaskProvider) -> LlmPathJudge:
    """Who says whether answers from paths are correct."""
    return LlmPathJudge(
        session.chat(tasks.PATH_JUDGE),
        max_tokens=session.reply_limit(tasks.PATH_JUDGE),
        temperature=session.settings.model.verdict_temperature,
    )

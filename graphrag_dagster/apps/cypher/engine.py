"""Implementations of the tasks of graph queries by a language model."""

from graphrag_dagster.apps.cypher import tasks
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.graphrag.llm.llm_router import LlmRouter
from graphrag_dagster.systems.graphrag.llm.query_writing import LlmQueryWriter


def cypher_writer(session: TaskProvider) -> LlmQueryWriter:
    """Who writes queries over the graph of an index."""
    limit = session.reply_limit(tasks.CYPHER_WRITER)
    chat = session.chat(tasks.CYPHER_WRITER)
    return LlmQueryWriter(chat, language="cypher", max_tokens=limit // 2)


def graph_router(session: TaskProvider) -> LlmRouter:
    """Who chooses what of the graph is looked up; a model of the role ``route``."""
    limit = session.reply_limit(tasks.GRAPH_ROUTER)
    return LlmRouter(session.chat(tasks.GRAPH_ROUTER), chooses="graph_route", max_tokens=limit)

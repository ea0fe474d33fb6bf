"""Queries over the tables of an index by a model."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from graphrag_dagster.core.language.chat.asking import UnusableReply, ask
from graphrag_dagster.core.language.chat.data import enclose
from graphrag_dagster.core.language.chat.loop import run_one
from graphrag_dagster.core.language.chat.port import ChatModel, ChatRequest, Message
from graphrag_dagster.core.language.chat.prompt import PromptSource
from graphrag_dagster.core.language.chat.replies import NotUsable, read_typed
from graphrag_dagster.core.language.querying import FailedQuery, WrittenQuery
from graphrag_dagster.core.language.tasks import Engine

_LONGEST_ERROR = 600
_NONE = "the model says that the tables do not hold what is asked"


class QueryShape(BaseModel):
    """A query as the endpoint is asked for it."""

    model_config = ConfigDict(extra="forbid")

    reading: str
    sql: str


class _Query(BaseModel):
    """A query as it is read, whatever its keys are called."""

    reading: str
    sql: str

    @model_validator(mode="before")
    @classmethod
    def _named_alike(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        lower = {str(key).strip().lower(): item for key, item in value.items()}
        return {"sql": lower.get("sql", lower.get("query")) or "", "reading": lower.get("reading") or ""}


class LlmQueryWriter:
    """Asks a model for a query.

    Args:
        model: answers.
        prompts: ``write_sql_system``, ``write_sql_user``, ``write_sql_again`` and ``retry``.
        max_tokens: longest reply.
    """

    engine: Engine = "llm"

    def __init__(self, model: ChatModel, prompts: PromptSource, *, max_tokens: int = 1000) -> None:
        self._model = model
        self._system = prompts.load("write_sql_system")
        self._user = prompts.load("write_sql_user")
        self._again = prompts.load("write_sql_again")
        self._retry = prompts.load("retry")
        self._max_tokens = max_tokens

    def write(self, question: str, tables: str, types: str, failed: Sequence[FailedQuery]) -> WrittenQuery:
        """Return a query that answers a question; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        system = self._system.render(tables=tables)
        user = self._user.render(types=enclose("entity_types", types), question=enclose("question", question))
        for one in failed:
            told = f"{one.sql}\n\n{one.error[:_LONGEST_ERROR]}"
            user = f"{user}\n\n{self._again.render(failed=enclose('material', told))}"
        messages = (Message("system", system), Message("user", user))
        request = ChatRequest("write_sql", messages, self._max_tokens, QueryShape)
        try:
            asked = run_one(ask(self._model, request, _read, self._retry))
        except UnusableReply as lost:
            return WrittenQuery("", "", lost.reason, lost.usage)
        sql = asked.value.sql.strip().rstrip(";").strip()
        return WrittenQuery(sql, " ".join(asked.value.reading.split()), None if sql else _NONE, asked.usage)


def _read(text: str) -> tuple[_Query, bool]:
    """Return the query of a reply.

    Raises:
        NotUsable: it has none, and no word on what it reads the question as.
    """
    reply, repaired = read_typed(text, _Query)
    if reply.sql.strip() and not reply.reading.strip():
        raise NotUsable('it has no "reading" that says what the query asks')
    return reply, repaired

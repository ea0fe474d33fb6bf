"""Queries over the tables of an index by a model."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, model_validator

from graphrag_dagster.core.language.chat.asker import Asker
from graphrag_dagster.core.language.chat.asking import UnusableReply, ask
from graphrag_dagster.core.language.chat.data import enclose
from graphrag_dagster.core.language.chat.loop import run_one
from graphrag_dagster.core.language.chat.port import ChatModel
from graphrag_dagster.core.language.chat.prompt import PromptSource
from graphrag_dagster.core.language.chat.replies import NotUsable, first_of, read_typed, spelt_alike
from graphrag_dagster.core.language.chat.schemas import Shape
from graphrag_dagster.core.language.querying import FailedQuery, WrittenQuery

_LONGEST_ERROR = 600
_NAMES = {"sql": ("sql", "query"), "reading": ("reading", "meaning")}
_NONE = "the model says that the tables do not hold what is asked"


class QueryShape(Shape):
    """A query as the endpoint is asked for it."""

    reading: str
    sql: str


class _Query(BaseModel):
    """A query as it is read, whatever its keys are called."""

    reading: str
    sql: str

    @model_validator(mode="before")
    @classmethod
    def _named_alike(cls, value: Any) -> Any:
        alike = spelt_alike(value)
        if not alike:
            return value
        return {name: first_of(alike, names) or "" for name, names in _NAMES.items()}


class LlmQueryWriter(Asker):
    """Asks a model for a query.

    Args:
        model: answers.
        prompts: ``write_sql_system``, ``write_sql_user``, ``write_sql_again`` and ``retry``.
        max_tokens: longest reply.
    """

    def __init__(self, model: ChatModel, prompts: PromptSource, *, max_tokens: int = 1000) -> None:
        super().__init__(model, prompts, max_tokens)
        self._system = prompts.load("write_sql_system")
        self._user = prompts.load("write_sql_user")
        self._again = prompts.load("write_sql_again")

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
        request = self._asking("write_sql", system, user, QueryShape)
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

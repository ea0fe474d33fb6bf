"""Queries over the tables or the graph of an index, and contexts without documents, by a model."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, is_placeholder, read_typed
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape, or_named
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.tasks.answering_ports import FailedQuery, WrittenContext, WrittenQuery
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.answer_form import KNOWLEDGE_MARK
from graphrag_dagster.kernel.text.citations import rewrite_citations
from graphrag_dagster.kernel.text.prompt_templates import Turn, enclose, enclosed_conversation

Language: TypeAlias = Literal["sql", "cypher"]

_LONGEST_ERROR = 600


class QueryShape(Shape):
    """A query over tables as the endpoint is asked for it."""

    reading: str = or_named("reading", "meaning", missing=str)
    sql: str = or_named("sql", "cypher", "query", missing=str)


class GraphQueryShape(Shape):
    """A query over a graph as the endpoint is asked for it."""

    reading: str
    cypher: str


class LlmQueryWriter(Asker):
    """Asks a model for a query."""

    def __init__(self, model: ChatModel, *, language: Language = "sql", max_tokens: int = 1000) -> None:
        super().__init__(model, max_tokens)
        self._task = f"write_{language}"
        self._shape: type[Shape] = QueryShape if language == "sql" else GraphQueryShape
        self._holder = "tables do" if language == "sql" else "graph does"
        self._system = prompts.load(f"write_{language}_system")
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
            told = f"{one.text}\n\n{one.error[:_LONGEST_ERROR]}"
            user = f"{user}\n\n{self._again.render(failed=enclose('material', told))}"
        request = self._task_request(self._task, system, user, self._shape)
        try:
            asked = run_one(ask(self._model, request, _read_query, self._retry))
        except UnusableReply as lost:
            return WrittenQuery("", "", lost.reason, lost.usage)
        text, reading = asked.value
        none = None if text else f"the model says that the {self._holder} not contain what is asked"
        return WrittenQuery(text, reading, none, asked.usage)


def _read_query(text: str) -> tuple[tuple[str, str], bool]:
    """Return the query of a reply, and what it reads the question as.

    Raises:
        NotUsable: it has a query, and no word on what it reads the question as.
    """
    reply, repaired = read_typed(text, QueryShape)
    query, reading = reply.sql.strip(), " ".join(reply.reading.split())
    if query and not reading:
        raise NotUsable('it has no "reading" that says what the query asks')
    return (query.rstrip(";").strip(), reading), repaired


#: What a model replies that knows nothing of the matter, as all of its reply.
_NOTHING = "NOTHING"


class LlmContextWriter(Asker):
    """Asks a model for a context of its own knowledge."""

    def __init__(self, model: ChatModel, *, max_tokens: int = 2000) -> None:
        super().__init__(model, max_tokens)
        self._system = prompts.load("own_context_system").render()
        self._user = prompts.load("own_context_user")

    def write(self, question: str, history: Sequence[Turn] = ()) -> WrittenContext:
        """Return a context; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        user = self._user.render(
            conversation=enclosed_conversation(history), question=enclose("question", question)
        )
        request = self._task_request("own_context", self._system, user, None)
        try:
            asked = run_one(ask(self._model, request, _known_information, self._retry))
        except UnusableReply as lost:
            return WrittenContext("", lost.reason, lost.usage)
        return WrittenContext(asked.value, usage=asked.usage)


def _known_information(text: str) -> tuple[str, bool]:
    """Known information, without marks of sources that do not exist; blank if there is none."""
    said = rewrite_citations(text.replace(KNOWLEDGE_MARK, ""), {}).strip()
    if said.strip(" .*`\"'") == _NOTHING:
        return "", False
    if is_placeholder(said) or not any(map(str.isalnum, said)):
        raise NotUsable("the reply holds no words")
    return said, False

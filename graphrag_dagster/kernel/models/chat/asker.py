"""Base of all tasks that ask a model: prompts, the limit of replies, and concurrent calls."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from graphrag_dagster.kernel.models.chat.asking import UnusableReply, ask
from graphrag_dagster.kernel.models.chat.loop import run_in_order
from graphrag_dagster.kernel.models.chat.port import ChatModel, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.prompt import PromptSource
from graphrag_dagster.kernel.tasks.ports import Engine, Items

T = TypeVar("T")
R = TypeVar("R")


class Asker:
    """Asks a model.

    Args:
        model: answers.
        prompts: holds ``retry`` beside those of the task.
        max_tokens: longest reply.
    """

    engine: Engine = "llm"

    def __init__(self, model: ChatModel, prompts: PromptSource, max_tokens: int) -> None:
        self._model = model
        self._retry = prompts.load("retry")
        self._max_tokens = max_tokens

    def _asking(
        self, task: str, system: str, user: str, shape: type[BaseModel] | None, least: int = 0
    ) -> ChatRequest:
        """The request of a task; ``least`` is a length that its reply may have whatever the limit."""
        messages = (Message("system", system), Message("user", user))
        return ChatRequest(task, messages, max(self._max_tokens, least), shape)

    async def _items(
        self, request: ChatRequest, read: Callable[[str], tuple[tuple[T, ...], bool]]
    ) -> Items[T]:
        """Items that a reply lists; nothing if none is usable."""
        try:
            asked = await ask(self._model, request, read, self._retry)
        except UnusableReply as lost:
            return Items((), lost.reason, lost.usage)
        return Items(asked.value, usage=asked.usage)

    def _each(self, work: Callable[[T], Coroutine[Any, Any, R]], items: Sequence[T], stage: str) -> list[R]:
        """The results of a coroutine for every item, in the order of the items."""
        calls = self._model.concurrency
        return list(run_in_order(work, items, name=stage, total=len(items), calls=calls))

"""One word of a model on each of many items, which are numbered and asked about in batches."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from pydantic import BaseModel

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest, Usage
from graphrag_dagster.kernel.models.chat.reply_schemas import read_some_words
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.systems.graphrag.llm.prompt_examples import WorkedExample

T = TypeVar("T")
W = TypeVar("W", bound=str)

#: A batch of no more items is not asked about in two halves.
_SMALLEST = 6


@dataclass(frozen=True, slots=True)
class WordOn(Generic[W]):
    """What a model says of an item, and why; ``word`` None: nothing usable, and ``reason`` is the problem."""

    word: W | None
    reason: str
    repaired: bool = False


class NumberedAsker(Asker, ABC, Generic[T, W]):
    """Asks a model for a word on each of many items.

    Attributes:
        task: of the requests; its prompts are ``<task>_system`` and ``<task>_user``.
        shape: of a reply.
        words: what may be said, in lower case, with what it means.
        otherwise: what any other word means; None: nothing.
        key: what a word is called in the prompt.
        tokens_each: that a reply may have for each item, whatever the limit.
    """

    task: str
    shape: type[BaseModel]
    words: Mapping[str, W]
    otherwise: W | None = None
    key: str = "verdict"
    #: A record with an id, a verdict and a reason of fifteen words takes no more, line breaks included.
    tokens_each: int = 64

    def __init__(self, model: ChatModel, *, max_tokens: int = 2000) -> None:
        super().__init__(model, max_tokens)
        self._system = prompts.load(f"{self.task}_system").render()
        self._user = prompts.load(f"{self.task}_user")
        self._example = WorkedExample.of(self._system)

    @abstractmethod
    def _shown(self, items: Sequence[T]) -> dict[str, str]:
        """The values of the prompt about some items, numbered from 1."""

    def request(self, items: Sequence[T]) -> ChatRequest:
        """Return the request about a batch."""
        user = self._user.render(**self._shown(items))
        least = self.tokens_each * len(items)
        return self._task_request(self.task, self._system, user, self.shape, least)

    def _ask_in_batches(
        self, batches: Iterable[Sequence[T]], stage: str
    ) -> tuple[Iterator[WordOn[W]], Usage]:
        """What is said of the items of all batches, in their order, and the usage."""
        made = self._gather(self._ask_about, list(batches), stage)
        return chain.from_iterable(words for words, _ in made), sum((usage for _, usage in made), Usage())

    async def _ask_about(self, items: Sequence[T]) -> tuple[list[WordOn[W]], Usage]:
        """What is said of each item of a batch, which is asked about in two halves where that may help."""
        request, count = self.request(items), len(items)
        shown = request.messages[-1].content

        def read(text: str) -> tuple[dict[int, tuple[W, str]], bool]:
            return read_some_words(
                text,
                count,
                self.words,
                self.key,
                otherwise=self.otherwise,
                check=lambda reasons: self._example.refuse_copies(reasons, shown),
            )

        try:
            asked = await ask(self._model, request, read, self._retry)
        except UnusableReply as lost:
            if not lost.smaller_may_help or count <= _SMALLEST:
                return [WordOn(None, lost.reason)] * count, lost.usage
            first, used = await self._ask_about(items[: count // 2])
            second, more = await self._ask_about(items[count // 2 :])
            return [*first, *second], lost.usage + used + more
        said = {number: WordOn(*word, asked.repaired) for number, word in asked.value.items()}
        nothing: WordOn[W] = WordOn(None, asked.lacking or "")
        return [said.get(number, nothing) for number in range(1, count + 1)], asked.usage


def batches_that_fit(
    items: Iterable[T], fits: Callable[[Sequence[T]], bool], ends: Callable[[Sequence[T]], bool] | None = None
) -> Iterator[list[T]]:
    """Yield items in batches, each as large as fits; what is too large by itself is a batch of its own.

    Args:
        items: in their order.
        fits: whether so many can be asked about at once.
        ends: whether a batch ends here, though more would fit.
    """
    batch: list[T] = []
    for item in items:
        if batch and not fits([*batch, item]):
            yield batch
            batch = []
        batch.append(item)
        if ends and ends(batch):
            yield batch
            batch = []
    if batch:
        yield batch


def ends_batch(text: str, every: int) -> bool:
    """Whether a batch ends with the item of a text, as one of ``every`` does; told by a hash of the text.

    One item more or less then changes its own batch and perhaps the next, so that nearly all replies are
    found again.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0] % every == 0
